"""What a newcomer sees: a simulated node whose events are on a plain SUB socket and which answers a plain REQ socket."""

import json
import re
import stat
import unittest

import zmq

from bus import BusTest, wait_for

HEADER_MEMBERS = ["v", "epoch", "seq", "prev", "time", "network", "account", "source", "kind", "run"]
LIFECYCLE = ["NodeStarting", "NodeReady", "NodeStopping", "NodeExited"]


class FirstStepsTest(BusTest):
    def test_native_events_come_on_their_topics(self):
        bus = self.make_bus()
        bus.start()
        # Nothing of ours: a SUB socket as any tutorial has it.
        socket = bus.context.socket(zmq.SUB)
        socket.linger = 0
        socket.connect(bus.events)
        socket.subscribe("dev/demo/")
        socket.subscribe("bus/")
        while socket.recv_multipart()[0] != b"bus/Welcome":
            pass
        bus.call("node.restart")
        wanted = {"NetworkStarted", "PeerConnected", "ChannelCreated", "ChannelReady"}
        seen = {}

        def all_seen():
            if socket.poll(50):
                frames = socket.recv_multipart()
                if len(frames) == 3 and frames[0].startswith(b"dev/demo/fiber/"):
                    seen.setdefault(frames[0].decode(), frames)
            return wanted <= {topic.rpartition("/")[2] for topic in seen}

        wait_for(all_seen, "the node's events")
        socket.close()
        for kind in wanted:
            topic, header, payload = seen[f"dev/demo/fiber/{kind}"]
            self.assertEqual(json.loads(payload)["kind"], kind)
            self.assertEqual(json.loads(header)["kind"], kind)

    def test_a_request_gets_the_node_info(self):
        bus = self.make_bus()
        bus.start()
        with bus.context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(bus.commands)
            socket.send(b'{"jsonrpc":"2.0","id":"first","method":"fiber.node_info","params":{}}')
            reply = json.loads(socket.recv())
        self.assertEqual((reply["jsonrpc"], reply["id"]), ("2.0", "first"))
        self.assertRegex(reply["result"]["pubkey"], "^0[23][0-9a-f]{64}$")
        self.assertIn("sim", reply["result"]["version"].lower())

    def test_a_simulated_node_says_so(self):
        bus = self.make_bus()
        status = bus.start()
        self.assertIs(status["simulated"], True)
        self.assertIn("simulated", bus.log())
        self.assertIn(bus.events, bus.log())
        self.assertIn(bus.commands, bus.log())
        wait_for(lambda: re.search(r"(?im)\bready\b", bus.log()), "the word ready")
        logs = [path for path in (bus.profile / "log").iterdir() if path.stat().st_size]
        self.assertTrue(logs, "the node's own log")
        self.assertTrue(any("simulat" in path.read_text().lower() for path in logs))

    def test_headers_hold_what_they_promise(self):
        bus = self.make_bus()
        status = bus.start()
        bus.wait_for_kind("ChannelReady")
        bus.call("node.restart")
        bus.wait_for_kind("ChannelReady", 2)
        events = bus.read_all()
        self.assertGreater(len(events), 12)
        last = {}
        for expected, event in enumerate(events, start=1):
            header = event.header
            self.assertEqual(list(header), HEADER_MEMBERS, "the members in their order")
            self.assertEqual(header["v"], 1)
            self.assertEqual(header["seq"], expected)
            self.assertEqual(header["prev"], last.get(event.topic, 0))
            last[event.topic] = expected
            self.assertRegex(header["epoch"], "^[0-9a-f]{8}$")
            self.assertEqual(header["epoch"], status["epoch"])
            self.assertRegex(header["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            self.assertEqual((header["network"], header["account"]), ("dev", "demo"))
            self.assertIn(header["source"], ["fiber", "supervisor"])
            self.assertEqual(event.topic, f"dev/demo/{header['source']}/{header['kind']}")
            self.assertIs(type(header["run"]), int)
        runs = [event.header["run"] for event in events]
        self.assertEqual(runs, sorted(runs))
        self.assertEqual(set(runs), {1, 2})

    def test_the_lifecycle_of_a_node_is_told_around_its_events(self):
        bus = self.make_bus()
        bus.start()
        bus.call("node.stop")
        bus.wait_for_kind("NodeExited")
        kinds = [event.kind for event in bus.read_all()]
        self.assertEqual([kind for kind in kinds if kind in LIFECYCLE], LIFECYCLE)
        self.assertLess(kinds.index("NodeStarting"), kinds.index("NetworkStarted"))
        self.assertLess(kinds.index("NodeStopping"), kinds.index("NodeExited"))
        self.assertLess(kinds.index("NetworkStopped"), kinds.index("NodeExited"))

    def test_what_was_published_and_what_is_read_are_the_same_bytes(self):
        bus = self.make_bus()
        bus.start()
        subscription = bus.subscribe("dev/demo/")
        bus.call("node.restart")
        ready = subscription.receive_kind("NodeReady")
        bus.emit(50)
        live = []
        wait_for(lambda: live.append(subscription.receive()) or live[-1].kind == "Storm" and len(
            [event for event in live if event.kind == "Storm"]) == 50, "the emitted events")
        subscription.close()
        read = {event.seq: event for event in bus.read_all(after=ready.seq)}
        for event in live:
            self.assertEqual(event.frames, read[event.seq].frames)

    def test_the_welcome_is_the_first_message_and_has_one_frame(self):
        bus = self.make_bus()
        bus.start()
        subscription = bus.subscribe(wait=False)
        self.assertEqual(subscription.wait_until_subscribed(), [b"bus/Welcome"])
        again = bus.subscribe("dev/demo/fiber/NoSuchKind", wait=False)
        again.socket.subscribe("bus/")
        self.assertEqual(again.receive_frames(), [b"bus/Welcome"])
        again.close()
        subscription.close()

    def test_heartbeats_carry_the_head(self):
        bus = self.make_bus(heartbeat="200ms", peers=())
        bus.start()
        bus.wait_until_quiet()
        subscription = bus.subscribe("dev/demo/supervisor/Heartbeat")
        head = bus.status()["head"]
        beat = subscription.receive(lambda event: event.payload.get("head", -1) >= head, heartbeats=True)
        self.assertEqual(beat.payload["epoch"], bus.status()["epoch"])
        bus.emit(10)
        wait_for(lambda: bus.status()["head"] == head + 10, "the emitted events")
        subscription.receive(lambda event: event.payload["head"] == head + 10, heartbeats=True)
        own = subscription.receive(lambda event: event.topic == "bus/Heartbeat", heartbeats=True)
        self.assertEqual(own.payload["state"], "ready")
        subscription.close()

    def test_the_first_run_makes_an_account_whose_secrets_nobody_else_reads(self):
        bus = self.make_bus()
        bus.start()
        self.assertRegex(bus.log(), r"(?i)demo")
        for directory in [bus.root, bus.root / "dev", bus.profile, bus.profile / "node", bus.profile / "log"]:
            self.assertEqual(stat.S_IMODE(directory.stat().st_mode), 0o700, directory)
        self.assertEqual(stat.S_IMODE((bus.directory / "run").stat().st_mode), 0o700)
        for name in ["e", "c"]:
            self.assertEqual(stat.S_IMODE((bus.directory / "run" / name).stat().st_mode), 0o600)
        key = bus.profile / "node" / "ckb" / "key"
        self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
        self.assertEqual(len(key.read_bytes()), 77, "the node has encrypted its key")
        for path in bus.root.rglob("*"):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)
        accounts = bus.call("account.list")["accounts"]
        self.assertEqual([(entry["network"], entry["account"]) for entry in accounts], [("dev", "demo")])

    def test_no_secret_is_told_anywhere(self):
        bus = self.make_bus()
        status = bus.start()
        passphrases = [path for path in bus.root.rglob("*") if path.is_file() and re.search("pass", path.name)]
        self.assertEqual(len(passphrases), 1, passphrases)
        secret = passphrases[0].read_bytes().strip()
        self.assertGreaterEqual(len(secret), 16)
        for pid in [status["pid"], bus.process.pid]:
            for place in ["cmdline", "environ"]:
                with open(f"/proc/{pid}/{place}", "rb") as file:
                    self.assertNotIn(secret, file.read(), f"{place} of {pid}")
        bus.call("node.stop")
        for path in bus.root.rglob("*"):
            if path.is_file() and path not in passphrases and path.name != "events.ring":
                self.assertNotIn(secret, path.read_bytes(), path)
        self.assertNotIn(secret.decode(errors="replace"), bus.log())

    def test_a_reader_may_be_faster_than_the_first_start(self):
        bus = self.make_bus()
        bus.spawn()
        # From the first moment that somebody answers: the journal may not be there yet.
        page = wait_for(lambda: bus.status_or_none() and bus.read_page(after=0, limit=1), "the first answer")
        self.assertLessEqual(len(page["events"]), 1)
        bus.wait_for_ready()

    def test_a_second_run_takes_up_where_the_first_ended(self):
        bus = self.make_bus()
        first = bus.start()
        pubkey = bus.call("fiber.node_info")["pubkey"]
        self.assertEqual(bus.terminate(), 0)
        second = bus.start()
        self.assertEqual(second["epoch"], first["epoch"])
        self.assertEqual(second["run"], first["run"] + 1)
        self.assertEqual(bus.call("fiber.node_info")["pubkey"], pubkey)
        events = bus.read_all()
        self.assertEqual([event.seq for event in events], list(range(1, len(events) + 1)))


if __name__ == "__main__":
    unittest.main()
