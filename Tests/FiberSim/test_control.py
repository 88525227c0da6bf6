"""`fiber_sim_control`: emissions, counters and their file, faults."""

import ctypes
import json
import os
import random
import signal
import struct
import threading
import time
import zlib

import abi
from abi import CONFIG, SIMULATION, Node
from fresh import FreshCase, fresh

MAGIC = int.from_bytes(b"FIBRSIM1", "little")


def read_counters(directory):
    """offered, returned and hash out of the mapped file, as documented in Counters.swift."""
    with open(os.path.join(directory, "node", "sim-counters"), "rb") as file:
        fields = struct.unpack("<9Q", file.read(72))
    assert fields[0] == MAGIC
    whole = [slot for slot in (fields[3:6], fields[6:9]) if slot[2] == slot[0] ^ slot[1] ^ MAGIC]
    returned, digest = max(whole)[:2] if whole else (0, 0)
    return fields[1], returned, digest


def running_hash(events, crc=0):
    for event in events:
        crc = zlib.crc32(struct.pack("<I", len(event)) + event, crc)
    return crc


class Emissions(FreshCase):
    @fresh
    def test_as_fast_as_it_can(self, library):
        node = self.node(library, config=CONFIG)
        library.control(emit={"count": 20000, "per_second": 0, "bytes": 230, "kind": "PeerConnected"})
        node.wait(lambda events: len(events) == 20001, "20,000 events")
        emitted = node.events[1:]
        self.assertEqual([event["number"] for event in emitted], list(range(1, 20001)))
        self.assertEqual({event["kind"] for event in emitted}, {"PeerConnected"})
        self.assertEqual({len(raw) for raw in node.raw[1:]}, {230})
        self.assertEqual(len(node.threads), 1)
        node.stop()

    @fresh
    def test_sizes_and_kinds(self, library):
        node = self.node(library, config=CONFIG)
        for size in (0, 200, 65536, 3 << 20):
            library.control(emit={"count": 1, "bytes": size, "kind": "A \"kind\" with ünicode"})
        node.wait(lambda events: len(events) == 5, "four events")
        self.assertEqual([len(raw) for raw in node.raw[2:]], [200, 65536, 3 << 20])
        self.assertLess(len(node.raw[1]), 130)
        self.assertEqual({event["kind"] for event in node.events[1:]}, {"A \"kind\" with ünicode"})
        node.stop()

    @fresh
    def test_a_rate(self, library):
        node = self.node(library, config=CONFIG)
        began = time.monotonic()
        library.control(emit={"count": 100, "per_second": 200})
        self.assertLess(time.monotonic() - began, 0.4, "it returns at once")
        node.wait(lambda events: len(events) == 101, "100 events")
        self.assertGreater(time.monotonic() - began, 0.45)
        node.stop()

    @fresh
    def test_the_nodes_own_events_come_between(self, library):
        node = self.node(library)
        library.control(emit={"count": 1000000, "bytes": 100, "kind": "Flood"})
        node.poll(lambda: "ChannelReady" in node.kinds(), bool)
        self.assertLess(node.kinds().count("Flood"), 1000000)
        node.stop()

    @fresh
    def test_refusals(self, library):
        self.assertFails(2, "no node is running", library.control, emit={"count": 1})
        node = self.node(library, config=CONFIG)
        for emission in ({}, {"count": "1"}, {"count": -1}, {"count": 1, "bytes": -1}, {"count": 1, "rate": 1},
                         {"count": 1, "bytes": 1 << 40}, {"count": 1, "kind": 5}, {"count": 1.5}):
            self.assertFails(2, "simulator: ", library.control, emit=emission)
        for _ in range(16):
            library.control(emit={"count": 1000, "per_second": 1})
        self.assertFails(2, "16 emissions are under way", library.control, emit={"count": 1})
        node.stop()
        self.assertFails(2, "no node is running", library.control, emit={"count": 1})


class CounterTests(FreshCase):
    @fresh
    def test_counts_and_hash_follow_what_was_handed_over(self, library):
        node = self.node(library)
        node.wait_kind("ChannelReady")
        library.control(emit={"count": 1000, "bytes": 111})
        node.wait(lambda events: sum("number" in e for e in events) == 1000, "1,000 events")
        node.stop()
        counters = library.control(counters={})
        self.assertEqual(counters["events_offered"], len(node.raw))
        self.assertEqual(counters["events_returned"], len(node.raw))
        self.assertEqual(counters["hash"], "%08x" % running_hash(node.raw))
        self.assertEqual(read_counters(self.directory), (len(node.raw), len(node.raw), running_hash(node.raw)))
        self.assertEqual(counters["calls"], {"fiber_start": 1, "fiber_stop": 1})

    @fresh
    def test_calls_are_counted_whether_they_succeed_or_not(self, library):
        node = self.node(library)
        for _ in range(3):
            node.text("fiber_node_info")
        library.fiber_node_info(None, None)
        library.fiber_settle_invoice(None, None, None)
        self.assertEqual(
            library.control(counters={})["calls"],
            {"fiber_start": 1, "fiber_node_info": 4, "fiber_settle_invoice": 1})
        node.stop()

    @fresh
    def test_before_a_start_they_are_zero(self, library):
        counters = library.control(counters={})
        self.assertEqual((counters["events_offered"], counters["hash"], counters["calls"]), (0, "00000000", {}))

    def test_over_kills_the_file_agrees_with_a_record_of_what_was_returned(self):
        record = os.path.join(self.directory, "record")
        seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        chance = random.Random(seed)
        rounds, unknown = 20, 0
        for index in range(rounds):
            moment = chance.random() * 0.06

            def body(library):
                file = open(record, "ab", buffering=0)

                def hook(pointer, event):
                    raw = ctypes.string_at(pointer)
                    file.write(struct.pack("<I", len(raw)) + raw)
                self.node(library, config=CONFIG, callback=hook)
                library.control(emit={"count": 1000000, "bytes": 150, "per_second": 20000})
                threading.Event().wait(moment)
                os.kill(os.getpid(), signal.SIGKILL)
            ended = self.child(body)
            self.assertEqual(ended.signal, signal.SIGKILL, ended.output)
            with open(record, "rb") as file:
                text = file.read()
            events = []
            while text:
                size = struct.unpack("<I", text[:4])[0]
                events.append(text[4:4 + size])
                text = text[4 + size:]
            offered, returned, digest = read_counters(self.directory)
            where = "seed %d, round %d" % (seed, index)
            # A kill between the callback and the counter leaves `returned` one short of the record, each time.
            self.assertIn(len(events) - returned - unknown, (0, 1), where)
            self.assertLessEqual(len(events), offered, where)
            self.assertLessEqual(offered, len(events) + index + 1, where)
            if len(events) - returned == unknown and unknown == 0:
                self.assertEqual(digest, running_hash(events), where)
            unknown = len(events) - returned
        numbers = [json.loads(e)["number"] for e in events if b"number" in e]
        self.assertEqual(numbers, sorted(set(numbers)), "a running number is never used twice")

    @fresh
    def test_a_file_that_is_no_counters_is_refused_and_kept(self, library):
        os.makedirs(os.path.join(self.directory, "node"))
        path = os.path.join(self.directory, "node", "sim-counters")
        with open(path, "wb") as file:
            file.write(b"something else, of somebody else")
        self.assertFails(3, "counters of the simulator", Node(library, self.directory).start)
        with open(path, "rb") as file:
            self.assertTrue(file.read().startswith(b"something else"))


class FaultsOfCalls(FreshCase):
    def info_with(self, fault):
        def body(library):
            node = self.node(library)
            library.control(fault=dict(fault, call="fiber_node_info"))
            node.text("fiber_node_info")
            node.stop()
        return body

    @fresh
    def test_every_status(self, library):
        node = self.node(library)
        for status in range(1, 7):
            library.control(fault={"call": "fiber_node_info", "do": "status:%d" % status})
            text = {5: "fiber ffi call panicked", 6: "CKB backend is not ready: {"}.get(status, "simulator: fault")
            self.assertFails(status, text, node.text, "fiber_node_info")
            node.text("fiber_node_info")
        library.control(fault={"call": "fiber_list_peers", "do": "dead-actor"})
        self.assertFails(2, "the actor is likely terminated", node.text, "fiber_list_peers")
        node.stop()

    @fresh
    def test_nth_counts_from_the_arming(self, library):
        node = self.node(library)
        node.text("fiber_node_info")
        library.control(fault={"call": "fiber_node_info", "nth": 3, "do": "status:2"})
        for good in (True, True, False, True):
            if good:
                node.text("fiber_node_info")
            else:
                self.assertFails(2, "fault", node.text, "fiber_node_info")
        node.stop()

    def test_ends_of_the_process(self):
        self.assertEqual(self.child(self.info_with({"do": "abort"})).signal, signal.SIGABRT)
        self.assertEqual(self.child(self.info_with({"do": "segv"})).signal, signal.SIGSEGV)
        self.assertEqual(self.child(self.info_with({"do": "exit"})).exit, 70)

    @fresh
    def test_slow(self, library):
        node = self.node(library)
        library.control(fault={"call": "fiber_node_info", "do": "slow:150ms"})
        began = time.monotonic()
        node.text("fiber_node_info")
        self.assertGreaterEqual(time.monotonic() - began, 0.15)
        node.stop()

    @fresh
    def test_a_hanging_call_does_not_stop_others(self, library):
        node = self.node(library)
        library.control(fault={"call": "fiber_node_info", "do": "hang"})
        thread = threading.Thread(target=node.text, args=["fiber_node_info"], daemon=True)
        thread.start()
        node.poll(lambda: library.control(counters={})["calls"], lambda calls: "fiber_node_info" in calls)
        node.text("fiber_list_peers")
        thread.join(0.1)
        self.assertTrue(thread.is_alive())

    @fresh
    def test_after_the_work(self, library):
        node = self.node(library)
        node.wait_kind("ChannelReady")
        library.control(fault={"call": "fiber_send_payment", "do": "status:5", "when": "after"})
        bob = node.peers()["bob"]["pubkey"]
        self.assertFails(5, "panicked", node.pay, target_pubkey=bob, amount=1, has_amount=1, keysend=1, has_keysend=1)
        self.assertEqual(library.control(counters={})["payments_made"], 1)
        node.stop()

    def test_start_and_stop(self):
        def start(library):
            library.control(fault={"call": "fiber_start", "do": "status:3"})
            node = Node(library, self.directory)
            self.assertFails(3, "simulator: fault", node.start)
            self.assertIsNone(node.handle.value)
            node.start()
            library.control(fault={"call": "fiber_stop", "do": "status:5"})
            self.assertFails(5, "panicked", node.stop)
            self.assertEqual(node.kinds()[-1], "NetworkStopped", "it stops whatever it answers")
        self.succeed(start)
        for call in ("fiber_start", "fiber_stop"):
            for end in ("abort", "hang", "slow:10ms"):
                def body(library):
                    node = Node(library, self.directory, config=SIMULATION.replace(
                        "sim:", "sim:\n  faults: [{call: %s, do: %r}]" % (call, end)))
                    thread = threading.Thread(target=lambda: node.start() and node.stop(), daemon=True)
                    thread.start()
                    thread.join(0.5 if end == "hang" else 20)
                    self.assertEqual(thread.is_alive(), end == "hang")
                    self.assertEqual("NetworkStarted" in node.kinds(), end != "hang" or call == "fiber_stop")
                self.assertEqual(self.child(body).signal, signal.SIGABRT if end == "abort" else None, (call, end))

    @fresh
    def test_refusals(self, library):
        for fault in ({}, {"call": "fiber_stop"}, {"do": "hang"}, {"call": "fiber_dance", "do": "hang"},
                      {"call": "fiber_stop", "do": "dance"}, {"call": "fiber_stop", "do": "status:0"},
                      {"call": "fiber_stop", "do": "status:7"}, {"call": "fiber_stop", "do": "slow:soon"},
                      {"call": "fiber_stop", "do": "not-json"}, {"call": "event", "do": "status:2"},
                      {"call": "event", "do": "hang", "when": "after"}, {"call": "fiber_stop", "do": "hang", "nth": 0},
                      {"call": "fiber_stop", "do": "hang", "when": "never"}, {"call": "event", "do": "dance"}):
            self.assertFails(2, "simulator: ", library.control, fault=fault)
        self.node(library).stop()


class FaultsOfEvents(FreshCase):
    @fresh
    def test_damage(self, library):
        node = self.node(library, config=CONFIG)
        for name, check in [
                ("not-json", lambda raw: self.assertRaises(ValueError, json.loads, raw)),
                ("no-kind", lambda raw: self.assertNotIn("kind", json.loads(raw))),
                ("bad-utf8", lambda raw: self.assertRaises(UnicodeDecodeError, raw.decode)),
                ("huge", lambda raw: self.assertGreater(len(raw), 8 << 20))]:
            library.control(fault={"call": "event", "nth": 2, "do": name})
            count = len(node.raw)
            library.control(emit={"count": 3})
            node.wait(lambda events: len(events) == count + 3, name)
            for raw in (node.raw[count], node.raw[count + 2]):
                self.assertIn("kind", json.loads(raw))
            check(node.raw[count + 1])
        counters = library.control(counters={})
        node.stop()
        self.assertEqual(library.control(counters={})["hash"], "%08x" % running_hash(node.raw))

    def test_ends_of_the_process(self):
        for end in ("abort", "segv", "exit"):
            def body(library):
                node = self.node(library, config=CONFIG)
                library.control(fault={"call": "event", "do": end})
                library.control(emit={"count": 1})
                node.wait(lambda events: False)
            ended = self.child(body)
            self.assertEqual(
                (ended.exit, ended.signal),
                {"abort": (None, signal.SIGABRT), "segv": (None, signal.SIGSEGV), "exit": (70, None)}[end])

    @fresh
    def test_hang_and_slow(self, library):
        node = self.node(library, config=CONFIG)
        library.control(fault={"call": "event", "do": "slow:100ms"})
        library.control(emit={"count": 1})
        node.wait(lambda events: len(events) == 2)
        library.control(fault={"call": "event", "do": "hang"})
        library.control(emit={"count": 1})
        threading.Event().wait(0.1)
        self.assertEqual(len(node.events), 2)
        node.text("fiber_node_info")

    @fresh
    def test_ten_threads(self, library):
        node = Node(library, self.directory, config=CONFIG)
        inside = threading.Barrier(10)
        node.hook = lambda pointer, event: "number" in event and inside.wait(20)
        node.start()
        library.control(fault={"call": "event", "do": "ten-threads"})
        library.control(emit={"count": 1})
        node.wait(lambda events: len(events) == 11, "ten events at once")
        node.stop()
        self.assertEqual(library.control(counters={})["events_returned"], 12)

    @fresh
    def test_after_stop(self, library):
        node = self.node(library, config=CONFIG)
        library.control(fault={"call": "event", "do": "after-stop"})
        node.stop()
        self.assertEqual(node.kinds()[-1], "NetworkStopped")
        node.wait_kind("DebugEvent")


