"""What stands where our files belong and is not ours, or is damaged: said, kept, and never made anew in silence."""

import os
import socket

from bus import BusTest


class FilesTest(BusTest):
    def bus_that_has_run(self):
        """A bus at rest whose account has a history."""
        bus = self.make_bus()
        bus.start()
        bus.terminate()
        bus.log_path.unlink()
        return bus

    def assert_refused(self, bus, path, words):
        """The node is failed, and the log and the status name the file and say what is wrong with it."""
        failure = bus.start("failed")["failure"]
        self.assertEqual(failure["reason"], "storage")
        self.assertIn(str(path), failure["message"])
        self.assertRegex(failure["message"], words)
        self.assertRegex(bus.log(), rf'(?m)^\S+ error accounts: .*because=".*{path.name}: {words}')

    def test_a_damaged_journal_is_said_and_kept(self):
        bus = self.bus_that_has_run()
        journal = bus.profile / "journal.sqlite"
        damaged = b"this was a journal" + journal.read_bytes()[18:]
        journal.write_bytes(damaged)
        self.assert_refused(bus, journal, "it is not sound")
        self.assertEqual(journal.read_bytes(), damaged)

    def test_a_passphrase_that_is_none_is_said_once_and_node_start_takes_the_right_one(self):
        bus = self.bus_that_has_run()
        path = bus.profile / "passphrase"
        right = path.read_bytes()
        path.write_bytes(b"two\nlines\n")
        failure = bus.start("failed")["failure"]
        self.assertRegex(failure["message"], "passphrase: it is not one line")
        self.assertNotIn("two", bus.log())
        self.assertEqual(len(bus.wait_for_kind("NodeFailed", 1)), 1)
        path.write_bytes(right)
        self.assertEqual(bus.call("node.start")["state"], "ready")

    def test_what_is_no_file_of_ours_is_said_and_left_alone(self):
        for name in ("events.ring", ".lock", "journal.sqlite"):
            for kind in ("link", "directory", "fifo", "socket"):
                with self.subTest(name=name, kind=kind):
                    bus = self.bus_that_has_run()
                    path, target = bus.profile / name, bus.directory / "elsewhere"
                    target.write_bytes(b"precious")
                    path.unlink()
                    {"link": lambda: path.symlink_to(target), "directory": path.mkdir, "fifo": lambda: os.mkfifo(path),
                     "socket": lambda: socket.socket(socket.AF_UNIX).bind(str(path))}[kind]()
                    before = path.lstat()
                    self.assert_refused(bus, path, "a symbolic link stands" if kind == "link" else "what stands there is no file")
                    self.assertEqual((path.lstat().st_ino, path.lstat().st_mode), (before.st_ino, before.st_mode))
                    self.assertEqual(target.read_bytes(), b"precious")
                    bus.terminate()

    def test_a_ring_that_cannot_be_read_is_kept_aside_and_told(self):
        for damage in (b"", b"no ring at all", bytes(4096 + (16 << 20))):
            with self.subTest(size=len(damage)):
                bus = self.bus_that_has_run()
                ring = bus.profile / "events.ring"
                ring.write_bytes(damage)
                bus.start()
                kept = [path for path in bus.profile.iterdir() if path.name.startswith("events.ring.unreadable-")]
                self.assertEqual([path.read_bytes() == damage for path in kept], [True])
                lost = bus.wait_for_kind("EventsLost", 1)[0].payload
                self.assertIn(str(kept[0]), lost["reason"])
                self.assertIn(str(kept[0]), bus.log())
                bus.terminate()
                bus.start()
                self.assertEqual(len(bus.wait_for_kind("EventsLost", 1)), 1, "said once")
                bus.terminate()
