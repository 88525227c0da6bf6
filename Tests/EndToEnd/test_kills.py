"""kill -9 at any moment loses nothing: host, supervisor, or both at once, in the middle of an event storm.

What the node said is known from its own record: the simulated node counts in a mapped file (`sim-counters`, see Sources/FiberSim/Counters.swift)
each event whose callback has returned, with a running CRC-32 of their bytes. A kill between the return of the callback and the counting, or
inside the callback, leaves one event that only the journal can know; therefore the file is read after each kill, and of the events of each
life the first `returned` must be those of the record, byte for byte, and at most one may follow.
"""

import os
import random
import signal
import struct
import threading
import time
import unittest
import zlib

from bus import LONG, PATIENCE, SANITIZED, BusTest, is_alive, wait_for, wait_until_gone

KILLS = 50 if LONG and not SANITIZED else 12
STORM = 4_000 if SANITIZED else 20_000
MAGIC = 0x314D495352424946


class Record:
    """What the simulated node wrote down of its own events."""

    def __init__(self, path):
        content = path.read_bytes()
        magic, self.offered = struct.unpack_from("<QQ", content)
        assert magic == MAGIC, "not the counters of a simulated node"
        slots = [struct.unpack_from("<QQQ", content, offset) for offset in (24, 48)]
        whole = [(returned, crc) for returned, crc, check in slots if check == returned ^ crc ^ MAGIC and returned]
        self.returned, self.crc = max(whole, default=(0, 0))


class KillsTest(BusTest):
    def setUp(self):
        seed = int(os.environ.get("NODEBUS_SEED", random.randrange(1 << 32)))
        print(f"{self.id()}: NODEBUS_SEED={seed}")
        self.random = random.Random(seed)

    def stormy_bus(self):
        bus = self.make_bus(stop_timeout="2s", restart={"first": "150ms", "max": "150ms", "limit": 100_000})
        bus.start()
        return bus

    def storm(self, bus):
        """Begins a storm and waits for a random moment in it: for a number of events that the journal has."""
        head = bus.status()["head"]
        bus.emit(STORM)
        share = self.random.random() * 0.9
        wait_for(lambda: bus.status()["head"] > head + STORM * share, "the storm")

    def check(self, bus, records):
        """The journal holds exactly what the node's own record says, and its sequence has no hole."""
        bus.wait_for_ready()
        bus.call("node.stop")
        records.append(Record(bus.profile / "node" / "sim-counters"))
        self.assertEqual(records[-1].offered - records[-2].offered, records[-1].returned - records[-2].returned,
                         "a stop in order returns every callback")
        events = bus.read_all()
        self.assertEqual([event.seq for event in events], list(range(1, len(events) + 1)))
        last = {}
        for event in events:
            self.assertEqual(event.prev, last.get(event.topic, 0), event)
            last[event.topic] = event.seq
        self.assertEqual(len({event.header["epoch"] for event in events}), 1)
        self.assertNotIn("EventsLost", {event.kind for event in events})

        lives = {}
        for event in events:
            if event.source == "fiber":
                lives.setdefault(event.header["run"], []).append(event.payload_bytes)
        self.assertEqual(len(lives), len(records), "lives of the node")
        crc = returned = 0
        for (run, said), record in zip(sorted(lives.items()), records):
            counted = record.returned - returned
            self.assertIn(len(said) - counted, (0, 1), f"run {run}")
            for payload in said[:counted]:
                crc = zlib.crc32(struct.pack("<I", len(payload)) + payload, crc)
            self.assertEqual(crc, record.crc, f"run {run}: the journal does not hold what the node said")
            returned = record.returned
        self.assertEqual(len(lives[max(lives)]), records[-1].returned - records[-2].returned,
                         "of a life that ended in order, exactly")

    def test_of_the_host(self):
        bus = self.stormy_bus()
        records = []
        for _ in range(KILLS):
            pid = bus.wait_for_ready()["pid"]
            self.storm(bus)
            os.kill(pid, 9)
            wait_until_gone(pid)
            records.append(Record(bus.profile / "node" / "sim-counters"))
            bus.wait_for_ready(other_than=pid)
        self.check(bus, records)
        exits = [event.payload for event in bus.wait_for_kind("NodeExited", KILLS + 1)]
        self.assertEqual(len(exits), KILLS + 1)
        for exit in exits[:-1]:
            self.assertEqual((exit["cause"], exit["signal"]), ("crash", 9))
        self.assertEqual(bus.status()["restarts"], KILLS)
        self.assertEqual(bus.zombies(), [])

    def test_of_the_supervisor(self):
        bus = self.stormy_bus()
        records = []
        for _ in range(KILLS):
            pid = bus.wait_for_ready()["pid"]
            self.storm(bus)
            bus.kill_supervisor()
            wait_until_gone(pid, PATIENCE)
            records.append(Record(bus.profile / "node" / "sim-counters"))
            bus.start()
        self.check(bus, records)

    def test_of_both_at_once(self):
        bus = self.stormy_bus()
        records = []
        for _ in range(KILLS):
            pid = bus.wait_for_ready()["pid"]
            self.storm(bus)
            first, second = self.random.sample([pid, bus.process.pid], 2)
            os.kill(first, 9)
            os.kill(second, 9)
            bus.process.wait()
            wait_until_gone(pid)
            records.append(Record(bus.profile / "node" / "sim-counters"))
            bus.start()
        self.check(bus, records)

    def test_no_host_outlives_its_supervisor_for_longer_than_the_stop_timeout(self):
        bus = self.make_bus(stop_timeout="1s")
        pid = bus.start()["pid"]
        bus.fault("fiber_stop", "hang")
        bus.kill_supervisor()
        began = time.monotonic()
        wait_until_gone(pid, PATIENCE)
        self.assertLess(time.monotonic() - began, 3.0 * (6 if SANITIZED else 1))
        bus.start()
        self.assertEqual(bus.wait_for_kind("NodeExited")[0].payload["cause"], "lost_supervisor")

    def test_a_supervisor_that_comes_back_waits_for_the_orphan_and_ends_it(self):
        bus = self.make_bus(stop_timeout="2s")
        pid = bus.start()["pid"]
        # An orphan that ends neither by itself nor when asked: it is stopped in its tracks, watchdog and all.
        os.kill(pid, signal.SIGSTOP)
        bus.kill_supervisor()
        bus.start()
        self.assertFalse(is_alive(pid))
        self.assertEqual(bus.status()["run"], 2)

    def test_a_live_subscriber_sees_neither_hole_nor_repeat_that_it_cannot_fill(self):
        bus = self.stormy_bus()
        subscription = bus.subscribe("dev/demo/")
        seqs = []
        over = threading.Event()

        def listen():
            while not over.is_set():
                if subscription.socket.poll(50):
                    frames = subscription.socket.recv_multipart()
                    if len(frames) == 3 and not frames[0].endswith(b"/Heartbeat"):
                        seqs.append(int(frames[1].split(b'"seq":')[1].split(b",")[0]))

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        for _ in range(3):
            pid = bus.wait_for_ready()["pid"]
            bus.emit(1000)
            os.kill(pid, 9)
            wait_until_gone(pid)
            bus.wait_for_ready(other_than=pid)
        head = bus.status()["head"]
        wait_for(lambda: seqs and seqs[-1] >= head, "the last event")
        over.set()
        listener.join()
        subscription.close()
        self.assertEqual(seqs, list(range(seqs[0], seqs[-1] + 1)))


class FailedTest(BusTest):
    def test_a_node_that_does_not_start_is_failed_and_tried_again_slowly(self):
        faults = [{"call": "fiber_start", "nth": 1, "do": "abort"}]
        bus = self.make_bus(faults=faults, restart={
            "first": "10ms", "max": "20ms", "limit": 3, "then_every": "1s"})
        bus.start("failed")
        self.assertEqual(bus.call("bus.ping"), {})
        failed = bus.wait_for_kind("NodeFailed")[0].payload
        self.assertGreaterEqual(len(bus.read_kinds("NodeStarting")), 4)
        scheduled = bus.read_kinds("NodeRestartScheduled")
        self.assertEqual([event.payload["attempt"] for event in scheduled[:3]], [1, 2, 3])
        self.assertEqual(failed["retry_ms"], 1000)
        self.assertTrue(failed["message"])
        self.assert_error(-32001, "node_not_running", bus.call, "fiber.node_info")
        # The slow retry goes on, and takes a node that can start by then.
        before = len(bus.read_kinds("NodeStarting"))
        wait_for(lambda: len(bus.read_kinds("NodeStarting")) >= before + 2, "two slow retries")
        bus.write_node_config(faults=[])
        bus.wait_for_state("ready")

    def test_a_node_that_is_never_tried_again_can_be_started_by_hand(self):
        bus = self.make_bus(faults=[{"call": "fiber_start", "nth": 1, "do": "abort"}],
                            restart={"first": "10ms", "limit": 1, "then_every": "0"})
        bus.start("failed")
        self.assertIsNone(bus.wait_for_kind("NodeFailed")[0].payload["retry_ms"])
        bus.write_node_config(faults=[])
        self.assertEqual(bus.call("node.start")["state"], "ready")


if __name__ == "__main__":
    unittest.main()
