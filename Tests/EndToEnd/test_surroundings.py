"""What the machine around it does: a log that nobody reads, an orphan that does not end, a reboot, a journal that another process holds."""

import fcntl
import os
import signal
import sqlite3
import struct
import unittest
from contextlib import closing

from bus import BusTest, is_alive, wait_for, wait_until_gone

# Where the ring's header has its boot id, and the two counters (Sources/HostLink/RingFile.swift).
RING_BOOT, RING_HEAD, RING_TAIL = 64, 128, 192


class OutputTest(BusTest):
    def orders_are_taken(self, bus):
        bus.wait_for_state("ready")
        for _ in range(12):
            self.assertEqual(bus.call("node.restart")["state"], "ready")
        self.assertEqual(bus.terminate(), 0)

    def test_a_log_whose_reader_is_gone(self):
        bus = self.make_bus()
        reader, writer = os.pipe()
        bus.spawn(output=writer)
        os.close(writer)
        bus.wait_for_state("ready")
        os.close(reader)
        self.orders_are_taken(bus)

    def test_a_log_that_nobody_reads(self):
        bus = self.make_bus()
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 16384)
        bus.spawn(output=writer)
        os.close(writer)
        bus.wait_for_state("ready")
        for _ in range(40):
            bus.call("node.restart")
        self.assertIn(b"ready", os.read(reader, 1 << 20))
        bus.call("node.restart")
        self.assertIn(b"lines were dropped count=", os.read(reader, 1 << 20))
        self.orders_are_taken(bus)

    def test_a_log_on_a_full_disk(self):
        bus = self.make_bus()
        with open("/dev/full", "wb", buffering=0) as full:
            bus.spawn(output=full)
        self.orders_are_taken(bus)

    def test_standard_descriptors_that_are_closed_become_no_file_of_ours(self):
        bus = self.make_bus()
        bus.spawn(through=["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
        bus.wait_for_state("ready")
        for number in range(3):
            self.assertEqual(os.readlink(f"/proc/{bus.process.pid}/fd/{number}"), "/dev/null")
        self.orders_are_taken(bus)


class OrphanTest(BusTest):
    # Supervisor and host hide their descriptors from others of the same user, but not from a root that may trace.
    AS_A_USER = ["setpriv", "--inh-caps=-sys_ptrace", "--bounding-set=-sys_ptrace"] if os.geteuid() == 0 else []

    def test_one_that_does_not_end_is_ended_whoever_we_are(self):
        for name, through in {"as started": [], "without the right to trace": self.AS_A_USER}.items():
            with self.subTest(name):
                bus = self.make_bus(stop_timeout="2s")
                bus.spawn(through=through)
                host = bus.wait_for_state("ready")["pid"]
                bus.fault("fiber_stop", "hang")
                bus.kill_supervisor()
                os.kill(host, signal.SIGSTOP)
                bus.spawn(through=through)
                self.assertNotEqual(bus.wait_for_ready(seconds=30)["pid"], host)
                self.assertFalse(is_alive(host))

    def test_the_supervisor_of_a_root_is_named_whoever_we_are(self):
        bus = self.make_bus()
        bus.spawn(through=self.AS_A_USER)
        bus.wait_for_state("ready")
        holder = bus.process
        bus.spawn(through=self.AS_A_USER)
        second, bus.process = bus.process, holder
        self.assertEqual(second.wait(20), 20)
        self.assertIn(f"process {holder.pid} holds", bus.log())


class RebootTest(BusTest):
    """The boot id in the ring's header is changed, which is what a restart of the machine looks like."""

    def leave_ring(self, bus, place=None, value=0):
        """Kills both ends; `value` at `place` of the ring's header is what came to the disk of it."""
        host = bus.status()["pid"]
        # The host first: one whose supervisor is gone stops its node, which says so.
        os.kill(host, signal.SIGKILL)
        bus.kill_supervisor()
        wait_until_gone(host)
        with open(bus.profile / "events.ring", "r+b") as ring:
            ring.seek(RING_BOOT)
            ring.write(b"another boot".ljust(36, b"\0"))
            if place is not None:
                ring.seek(place)
                ring.write(struct.pack("<Q", value))

    def start(self):
        bus = self.make_bus(peers=())
        bus.start()
        bus.emit(1000)
        # NodeStarting, NetworkStarted, NodeReady and KeyEncrypted besides; after these nobody says anything more.
        wait_for(lambda: bus.status()["head"] == 1004, "the events")
        return bus

    def lost(self, bus):
        return [event.payload["count"] for event in bus.read_kinds("EventsLost")]

    def test_nothing_unread(self):
        bus = self.start()
        self.leave_ring(bus)
        bus.start()
        self.assertEqual(self.lost(bus), [])

    def test_records_that_the_journal_has_are_not_lost(self):
        bus = self.start()
        # As if the tail had never reached the disk.
        self.leave_ring(bus, RING_TAIL, 0)
        bus.start()
        self.assertEqual(self.lost(bus), [])

    def test_records_that_the_journal_lacks_are_counted_and_told_though_the_journal_is_held(self):
        bus = self.make_bus(peers=())
        bus.start()
        # The journal cannot take them, so they are in the ring alone.
        with closing(sqlite3.connect(bus.profile / "journal.sqlite", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            # NetworkStarted too: it may still be on its way when the node is ready.
            wait_for(lambda: bus.counters()["events_returned"] >= 1, "NetworkStarted")
            said = bus.counters()["events_returned"]
            bus.emit(7)
            wait_for(lambda: bus.counters()["events_returned"] >= said + 7, "the events")
            before = bus.counters()["events_returned"]
            self.leave_ring(bus)
            holder.execute("ROLLBACK")
            taken = holder.execute("SELECT ring_n FROM journal").fetchone()[0]
            holder.execute("BEGIN EXCLUSIVE")
            bus.spawn()
            bus.wait_for_state("backing_off", seconds=20)
            holder.execute("ROLLBACK")
        bus.wait_for_ready(seconds=20)
        self.assertEqual(self.lost(bus), [before - taken])

    def test_a_ring_that_makes_no_sense_may_have_held_anything(self):
        bus = self.start()
        self.leave_ring(bus, RING_HEAD, 1 << 63)
        bus.start()
        self.assertEqual(self.lost(bus), [None])


class HeldJournalTest(BusTest):
    def test_a_start_while_another_process_holds_the_journal_is_tried_again(self):
        bus = self.make_bus()
        bus.start()
        self.assertEqual(bus.terminate(), 0)
        with closing(sqlite3.connect(bus.profile / "journal.sqlite", isolation_level=None)) as holder:
            # Against readers too.
            holder.execute("PRAGMA locking_mode = EXCLUSIVE")
            holder.execute("BEGIN EXCLUSIVE")
            bus.spawn()
            bus.wait_for_state("backing_off", seconds=20)
            self.assertIn("another process holds it", bus.log())
        bus.wait_for_ready(seconds=20)

    def test_an_end_that_leaves_something_unjournaled_says_so_and_loses_nothing(self):
        bus = self.make_bus(peers=())
        bus.start()
        with closing(sqlite3.connect(bus.profile / "journal.sqlite", isolation_level=None)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            bus.emit(7)
            self.assertEqual(bus.terminate(), 30, bus.log())
        bus.start()
        self.assertEqual(len(bus.read_kinds("Storm")), 7)


if __name__ == "__main__":
    unittest.main()
