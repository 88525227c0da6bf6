"""Start, stop and restart by command, deadlines with KILL, a clean end at any moment, and what is refused before anything runs."""

import fcntl
import json
import os
import signal
import threading
import time
import unittest

import zmq

from bus import SANITIZED, Bus, BusError, BusTest, is_alive, wait_for

SLOWER = 6 if SANITIZED else 1


class OrdersTest(BusTest):
    def test_stop_start_and_restart_answer_when_it_is_done(self):
        bus = self.make_bus()
        first = bus.start()["pid"]
        stopped = bus.call("node.stop")
        self.assertEqual((stopped["state"], stopped["run"], stopped["changed"]), ("stopped", 1, True))
        self.assertFalse(is_alive(first))
        self.assertEqual((bus.status()["state"], bus.status()["pid"]), ("stopped", None))
        self.assertIs(bus.call("node.stop")["changed"], False)
        self.assert_error(-32001, "node_not_running", bus.call, "fiber.node_info")
        self.assert_error(-32001, "node_not_running", bus.call, "fiber.sim", {"counters": {}})
        self.assertEqual(bus.call("events.read", {"after": 0, "limit": 1})["next"], 1, "the journal can be read")
        started = bus.call("node.start")
        self.assertEqual((started["state"], started["run"], started["changed"]), ("ready", 2, True))
        self.assertIs(bus.call("node.start")["changed"], False)
        again = bus.call("node.restart")
        self.assertEqual((again["state"], again["run"]), ("ready", 3))
        self.assertEqual(bus.status()["restarts"], 0, "what was ordered is no restart")
        exits = [event.payload for event in bus.wait_for_kind("NodeExited", 2)]
        self.assertEqual([(exit["cause"], exit["exit_code"]) for exit in exits], [("commanded", 0)] * 2)
        self.assertEqual(bus.status()["last_exit"]["cause"], "commanded")

    def test_an_end_that_is_ordered_twice_at_once_is_one_and_leaves_the_node_its_time(self):
        bus = self.make_bus(faults=[{"call": "fiber_stop", "nth": 1, "do": "slow:500ms"}])
        bus.start()
        bus.process.send_signal(signal.SIGTERM)
        wait_for(lambda: "shutting down" in bus.log(), "the first signal to be taken")
        bus.process.send_signal(signal.SIGTERM)
        self.assertEqual(bus.wait_for_exit(), 0)
        self.assertRegex(bus.log(), r"NodeExited .*exit_code\\\":0")

    def test_orders_from_all_sides_at_once_leave_one_node(self):
        bus = self.make_bus()
        bus.start()
        sockets = [bus.context.socket(zmq.DEALER) for _ in range(12)]
        methods = ["node.restart", "node.stop", "node.start"] * 4
        for number, (socket, method) in enumerate(zip(sockets, methods)):
            socket.linger = 0
            socket.connect(bus.commands)
            socket.send_multipart([b"", json.dumps({"jsonrpc": "2.0", "id": number, "method": method}).encode()])
        for socket in sockets:
            self.assertTrue(socket.poll(30_000), "an order that was not answered")
            socket.recv_multipart()
            self.assertFalse(socket.poll(0))
            socket.close()
        bus.call("node.start")
        self.assertEqual(len(bus.host_pids()), 1)

    def test_a_crash_is_told_with_its_cause_and_the_node_comes_back(self):
        bus = self.make_bus()
        pid = bus.start()["pid"]
        cases = [("abort", "signal", signal.SIGABRT), ("segv", "signal", signal.SIGSEGV), ("exit", "exit_code", 70)]
        for number, (do, member, value) in enumerate(cases, start=1):
            with self.subTest(do=do):
                bus.fault("fiber_node_info", do)
                # What only reads can be asked again.
                error = self.assert_error(-32001, "node_not_running", bus.call, "fiber.node_info")
                self.assertTrue(error.data["retryable"])
                pid = bus.wait_for_ready(other_than=pid)["pid"]
                exit = bus.wait_for_kind("NodeExited", number)[-1].payload
                self.assertEqual((exit["cause"], exit[member]), ("crash", value))
        self.assertEqual(bus.status()["restarts"], len(cases))
        self.assertEqual(len(bus.read_kinds("NodeRestartScheduled")), len(cases))
        self.assertEqual(bus.zombies(), [])

    def test_a_payment_that_a_crash_interrupts_has_an_unknown_outcome(self):
        bus = self.make_bus()
        pid = bus.start()["pid"]
        bob = bus.wait_for_kind("ChannelReady")[0].payload["pubkey"]
        bus.fault("fiber_send_payment", "abort")
        error = self.assert_error(-32007, "outcome_unknown", bus.call, "fiber.send_payment", {
            "target_pubkey": bob, "amount": "1 CKB", "keysend": True})
        self.assertFalse(error.data["retryable"])
        self.assertIn("fiber.get_payment", error.data["find"])
        bus.wait_for_ready(other_than=pid)

    def test_lifecycle_events_of_a_crash_in_their_order(self):
        bus = self.make_bus()
        pid = bus.start()["pid"]
        os.kill(pid, 9)
        bus.wait_for_ready(other_than=pid)
        bus.wait_for_kind("NodeReady", 2)
        kinds = [event.kind for event in bus.read_all() if event.source == "supervisor"]
        self.assertEqual(kinds, ["NodeStarting", "NodeReady", "KeyEncrypted", "NodeExited", "NodeRestartScheduled",
                                 "NodeStarting", "NodeReady"])


class DeadlinesTest(BusTest):
    def test_a_start_that_hangs_is_killed_and_tried_again(self):
        bus = self.make_bus(faults=[{"call": "fiber_start", "nth": 1, "do": "hang"}],
                            start_timeout=f"{SLOWER}s", restart={"first": "50ms", "max": "50ms"})
        bus.spawn()
        wait_for(lambda: bus.status_or_none() and bus.read_kinds("NodeExited"), "the kill")
        exit = bus.wait_for_kind("NodeExited")[0].payload
        self.assertEqual((exit["cause"], exit["signal"]), ("hang", 9))
        bus.write_node_config(faults=[])
        bus.wait_for_ready()

    def test_a_start_that_fails_is_told_and_tried_again(self):
        bus = self.make_bus(faults=[{"call": "fiber_start", "nth": 1, "do": "status:3"}],
                            restart={"first": "50ms", "max": "50ms", "limit": 1000})
        bus.spawn()
        wait_for(lambda: bus.status_or_none() and len(bus.read_kinds("NodeExited")) >= 2, "two failed starts")
        exit = bus.wait_for_kind("NodeExited")[0].payload
        self.assertEqual(exit["cause"], "crash")
        self.assertIn("status:3", json.dumps(exit))
        bus.write_node_config(faults=[])
        bus.wait_for_ready()

    def test_a_stop_that_hangs_is_killed(self):
        bus = self.make_bus(stop_timeout=f"{500 * SLOWER}ms")
        pid = bus.start()["pid"]
        bus.fault("fiber_stop", "hang")
        began = time.monotonic()
        stopped = bus.call("node.stop")
        self.assertLess(time.monotonic() - began, 5 * SLOWER)
        self.assertEqual(stopped["state"], "stopped")
        self.assertFalse(is_alive(pid))
        # An order wins over what the kernel reports.
        self.assertEqual(bus.wait_for_kind("NodeExited")[0].payload["cause"], "commanded")
        self.assertEqual(bus.call("node.start")["state"], "ready")

    def test_a_call_that_hangs_is_answered_and_then_its_host_is_killed(self):
        bus = self.make_bus(call_timeout=f"{500 * SLOWER}ms", hang_timeout=f"{1500 * SLOWER}ms")
        pid = bus.start()["pid"]
        bus.fault("fiber_list_peers", "hang")
        began = time.monotonic()
        error = self.assert_error(-32002, "timeout", bus.call, "fiber.list_peers")
        self.assertLess(time.monotonic() - began, 1.4 * SLOWER)
        self.assertEqual(error.data["outcome"], "unknown")
        self.assertEqual(bus.call("bus.ping"), {}, "the bus does not wait")
        # The next call stands behind it.
        with self.assertRaises(BusError) as caught:
            bus.call("fiber.node_info")
        self.assertIn(caught.exception.name, ("timeout", "node_not_running"))
        bus.wait_for_ready(other_than=pid)
        self.assertFalse(is_alive(pid))
        told = [event.payload for event in bus.wait_for_kind("NodeUnresponsive", 2)]
        self.assertEqual([entry["killed"] for entry in told], [False, True])
        self.assertEqual({entry["method"] for entry in told}, {"fiber.list_peers"})
        exit = bus.wait_for_kind("NodeExited")[0].payload
        self.assertEqual((exit["cause"], exit["signal"]), ("hang", 9))

    def test_a_request_of_its_own_deadline_beyond_call_timeout_waits(self):
        bus = self.make_bus(call_timeout="500ms")
        bus.start()
        bus.fault("fiber_list_peers", "slow:800ms")
        self.assertIn("peers", bus.call("fiber.list_peers", timeout_ms=10_000 * SLOWER))


class EndTest(BusTest):
    def test_signals_end_it_in_order(self):
        for number in [signal.SIGTERM, signal.SIGINT]:
            with self.subTest(number=number):
                bus = self.make_bus()
                pid = bus.start()["pid"]
                self.assertEqual(bus.terminate(number), 0)
                self.assertFalse(is_alive(pid))
                self.assertEqual(list((bus.directory / "run").iterdir()), [])

    def test_a_signal_at_any_moment_of_the_start_ends_it_in_order(self):
        # From before the first line to after ready, in steps that a start of about 200 ms has.
        for milliseconds in [0, 1, 2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 300]:
            with self.subTest(milliseconds=milliseconds):
                bus = self.make_bus()
                bus.spawn()
                threading.Event().wait(milliseconds / 1000)
                bus.process.terminate()
                code = bus.wait_for_exit()
                # Before main nobody can catch a signal.
                self.assertIn(code, (0, -signal.SIGTERM) if milliseconds <= 20 * SLOWER else (0,))
                wait_for(lambda: not bus.host_pids(), "the end of the host")

    def test_a_signal_during_a_start_that_hangs(self):
        bus = self.make_bus(stop_timeout="500ms")
        # A host whose node may still have to encrypt its key is given more time.
        bus.start()
        bus.terminate()
        bus.write_node_config(faults=[{"call": "fiber_start", "nth": 1, "do": "hang"}])
        bus.start("starting")
        wait_for(lambda: bus.host_pids(), "the host")
        began = time.monotonic()
        self.assertEqual(bus.terminate(), 0)
        self.assertLess(time.monotonic() - began, 5 * SLOWER)
        self.assertEqual(bus.host_pids(), [])

    def test_a_signal_while_a_stop_hangs_does_not_wait_for_ever(self):
        bus = self.make_bus(stop_timeout=f"{SLOWER}s")
        bus.start()
        bus.fault("fiber_stop", "hang")
        self.assertEqual(bus.terminate(), 0)

    def test_shutdown_by_command(self):
        bus = self.make_bus()
        pid = bus.start()["pid"]
        self.assertIn("state", bus.call("bus.shutdown"))
        self.assertEqual(bus.wait_for_exit(), 0)
        self.assertFalse(is_alive(pid))
        bus.start()
        last = [event.kind for event in bus.read_all() if event.header["run"] == 1 and event.source == "supervisor"]
        self.assertEqual(last[-2:], ["NodeStopping", "NodeExited"])

    def test_the_end_is_told_on_the_bus(self):
        bus = self.make_bus()
        bus.start()
        subscription = bus.subscribe("bus/ShuttingDown")
        bus.process.terminate()
        subscription.receive(lambda event: event.topic == "bus/ShuttingDown")
        self.assertEqual(bus.wait_for_exit(), 0)
        subscription.close()


class RefusedTest(BusTest):
    """What ends before anything runs: an exit code of its family and a line that says what to do."""

    def run_to_end(self, bus):
        bus.spawn()
        return bus.wait_for_exit(), bus.log()

    def test_a_second_supervisor_on_the_same_root(self):
        bus = self.make_bus()
        bus.start()
        other = Bus()
        self.addCleanup(other.close)
        other.config.write_text(other.config.read_text().replace('"data"', json.dumps(str(bus.root))))
        code, log = self.run_to_end(other)
        self.assertIn(code, range(20, 30), log)
        self.assertIn(str(bus.process.pid), log)
        self.assertEqual(bus.call("bus.ping"), {})

    def test_an_endpoint_that_somebody_listens_on(self):
        bus = self.make_bus()
        bus.start()
        other = Bus()
        self.addCleanup(other.close)
        other.config.write_text(other.config.read_text().replace(other.commands, bus.commands))
        code, log = self.run_to_end(other)
        self.assertIn(code, range(10, 20), log)
        self.assertIn(bus.commands.removeprefix("ipc://"), log)
        self.assertEqual(bus.call("bus.ping"), {}, "the first one still has its socket")

    def test_a_socket_that_a_killed_supervisor_left_is_taken(self):
        bus = self.make_bus()
        bus.start()
        bus.kill_supervisor()
        self.assertTrue((bus.directory / "run" / "c").exists())
        bus.start()

    def test_faults_of_the_configuration(self):
        cases = {
            "unknown key": ('"start": "dev/demo"', '"start": "dev/demo", "starts": 1', "starts"),
            "wrong unit": ('"heartbeat": "1s"', '"heartbeat": "1 second"', "heartbeat"),
            "not offered": ('"host": "fiber"', '"host": "any"', "host"),
            "tcp without CURVE": ('"ipc:', '"tcp:', "CURVE"),
            "no such network": ('"start": "dev/demo"', '"start": "main/demo"', "main"),
            "a path out of a name": ('"start": "dev/demo"', '"start": "dev/.."', "start"),
            "not YAML": ('"root"', '[', None),
        }
        for name, (old, new, word) in cases.items():
            with self.subTest(name):
                bus = Bus()
                self.addCleanup(bus.close)
                text = bus.config.read_text()
                self.assertIn(old, text)
                bus.config.write_text(text.replace(old, new, 1))
                code, log = self.run_to_end(bus)
                self.assertIn(code, range(10, 20), log)
                self.assertRegex(log, r"nodebus\.yml:\d+:\d+: ")
                if word:
                    self.assertIn(word, log)
                self.assertFalse(bus.root.exists(), "nothing was made")

    def test_a_configuration_that_is_not_there(self):
        bus = Bus()
        self.addCleanup(bus.close)
        bus.config.unlink()
        code, log = self.run_to_end(bus)
        self.assertIn(code, range(10, 20), log)
        self.assertIn("nodebus.yml", log)

    def test_a_library_that_is_missing_is_named_and_the_bus_stays_up(self):
        bus = self.make_bus(library="./no-such-libfiber.so", restart={"limit": 1, "first": "10ms"})
        # An account of a real network is not made up by us; this one has to exist.
        bus.write_config(library="sim")
        bus.start()
        self.assertEqual(bus.terminate(), 0)
        bus.write_config(library="./no-such-libfiber.so", restart={"limit": 1, "first": "10ms"})
        bus.start("failed")
        failed = bus.wait_for_kind("NodeFailed")[-1].payload
        self.assertIn("no-such-libfiber.so", failed["message"])
        self.assertEqual(bus.call("bus.ping"), {})

    def test_a_library_that_is_no_library_is_named(self):
        bus = self.make_bus()
        bus.start()
        self.assertEqual(bus.terminate(), 0)
        (bus.directory / "text.so").write_text("not a library")
        bus.write_config(library="./text.so", restart={"limit": 1, "first": "10ms"})
        bus.start("failed")
        self.assertIn("text.so", bus.wait_for_kind("NodeFailed")[-1].payload["message"])

    def test_an_account_of_a_real_network_is_not_made_up(self):
        bus = self.make_bus(library="./libfiber_ffi.so")
        bus.spawn()
        wait_for(lambda: bus.process.poll() is not None or (bus.status_or_none() or {}).get("state") == "failed",
                 "the refusal")
        self.assertIn("demo", bus.log())
        self.assertFalse((bus.profile / "node" / "ckb" / "key").exists(), "no key is made for real money")

    def test_an_account_that_a_stranger_holds(self):
        bus = self.make_bus()
        bus.start()
        self.assertEqual(bus.terminate(), 0)
        with open(bus.profile / ".lock", "r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            bus.spawn()
            wait_for(lambda: bus.process.poll() is not None or (bus.status_or_none() or {}).get("state") == "failed",
                     "the refusal", 20)
            code = bus.process.poll()
            self.assertTrue(code is None or code in range(20, 30), bus.log())
            if code is None:
                self.assert_error(-32013, "conflict", bus.call, "node.start")


class LongPollTest(BusTest):
    def test_a_read_waits_for_the_next_event(self):
        bus = self.make_bus()
        bus.start()
        wait_for(lambda: bus.read_kinds("ChannelReady"), "rest")
        head = bus.status()["head"]
        began = time.monotonic()
        page = bus.call("events.read", {"after": head, "wait_ms": 300})
        self.assertEqual((page["events"], page["next"]), ([], head))
        self.assertGreaterEqual(time.monotonic() - began, 0.29)
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(
            bus.call("events.read", {"after": head, "wait_ms": 20_000, "kinds": ["Bell"]})))
        waiter.start()
        bus.emit(3, kind="Whistle")
        bus.emit(1, kind="Bell")
        waiter.join(15)
        self.assertFalse(waiter.is_alive(), "the read was not woken")
        self.assertEqual([event["header"]["kind"] for event in answers[0]["events"]], ["Bell"])

    def test_many_may_wait_and_an_end_lets_them_go(self):
        bus = self.make_bus()
        bus.start()
        wait_for(lambda: bus.read_kinds("ChannelReady"), "rest")
        head = bus.status()["head"]
        dealer = bus.context.socket(zmq.DEALER)
        dealer.linger = 0
        dealer.connect(bus.commands)
        for number in range(20):
            dealer.send_multipart([b"", json.dumps({
                "jsonrpc": "2.0", "id": number, "method": "events.read",
                "params": {"after": head, "wait_ms": 60_000}}).encode()])
        self.assertEqual(bus.call("bus.ping"), {})
        bus.emit(1, kind="Bell")
        ids = set()
        while len(ids) < 20:
            self.assertTrue(dealer.poll(10_000), "a read that was not woken")
            ids.add(json.loads(dealer.recv_multipart()[1])["id"])
        dealer.close()


if __name__ == "__main__":
    unittest.main()
