"""Accounts, their keys and passphrases: what is made, what is refused, what is never told, and what a kill leaves.

Beside `dev/demo`, which every bus has, the tests make `dev/alice`.
"""

import json
import os
import pty
import select
import shutil
import signal
import sqlite3
import stat
import subprocess
import termios
import time
import unittest
from pathlib import Path

import zmq

from bus import LONG, PATIENCE, PROGRAMS, SANITIZED, Bus, BusTest, wait_for

SLOWER = 6 if SANITIZED else 1
ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141
KEY = "5eed" * 16
ALICE = {"network": "dev", "account": "alice"}
DEMO = {"network": "dev", "account": "demo"}
PLAIN = 64
ENCRYPTED = 77
MASK = 2 ** 64 - 1
NAMES = ["..", ".", "../alice", "a/b", "/alice", "al\0ice", "a" * 300, "🦊", "Alice", "al ice", "", "bus", "supervisor",
         "-alice", ".removed", "alice\n", "ａlice"]


class AccountsBus(Bus):
    """A bus that knows where alice's files are, and can change how `dev` gets its passphrases."""

    def __init__(self, passphrase=None, **options):
        super().__init__(**options)
        self.alice = self.root / "dev" / "alice"
        if passphrase:
            self.set_passphrase(passphrase)

    def set_passphrase(self, source):
        config = json.loads(self.config.read_text())
        config["networks"]["dev"]["passphrase"] = source
        self.config.write_text(json.dumps(config, indent=1) + "\n")

    def switch(self, profile, **params):
        return self.call("bus.switch", {**profile, **params}, seconds=PATIENCE * 2)

    def names(self):
        return [f"{each['network']}/{each['account']}" for each in self.call("account.list")["accounts"]]

    def files(self):
        """Every path under the root that an account could have made."""
        return sorted(str(path) for path in self.root.rglob("*") if "demo" not in str(path) and path.is_symlink()
                      or "demo" not in str(path) and "supervisor.sqlite" not in path.name)

    def registry(self, sql):
        with sqlite3.connect(self.root / "supervisor.sqlite") as registry:
            return registry.execute(sql).fetchall()

    def events_of(self, profile, *kinds):
        page = self.read_page(**{"from": "oldest", "limit": 10000}, **profile)
        return [event for event in page["events"] if event.kind in kinds]

    def wait_for_failure(self, reason):
        """Waits until the node has failed for this reason, and answers the status."""
        def ask():
            status = self.status_or_none()
            failed = status and status["state"] == "failed"
            return status if failed and status["failure"]["reason"] == reason else None
        return wait_for(ask, f"failed with {reason}")


class AccountsTest(BusTest):
    def make_bus(self, **options):
        bus = AccountsBus(**options)
        self.addCleanup(self.finish, bus)
        return bus

    def bus_with_alice(self, **options):
        bus = self.make_bus(**options)
        bus.start()
        bus.call("account.create", ALICE)
        return bus

    def assert_private(self, directory):
        for path in [directory, *directory.rglob("*")]:
            mode = stat.S_IMODE(path.lstat().st_mode)
            self.assertEqual(mode & 0o077, 0, f"{path} has mode {mode:o}")
            if path.is_dir():
                self.assertEqual(mode, 0o700, path)


class MethodsTest(AccountsTest):
    def test_an_account_is_made_listed_used_and_removed(self):
        bus = self.make_bus()
        bus.start()
        made = bus.call("account.create", ALICE)
        self.assertEqual((made["network"], made["account"], made["simulated"], made["active"]),
                         ("dev", "alice", True, False))
        self.assertEqual((made["has_key"], made["key_state"]), (True, "plaintext"))
        self.assertEqual(bus.names(), ["dev/alice", "dev/demo"])
        self.assert_private(bus.root)
        self.assert_error(-32013, "conflict", bus.call, "account.create", ALICE)
        bus.switch(ALICE)
        self.assert_error(-32013, "conflict", bus.call, "account.remove", ALICE)
        self.assert_private(bus.root)
        bus.switch(DEMO)
        listed = {each["account"]: each for each in bus.call("account.list", {"network": "dev"})["accounts"]}
        self.assertEqual((listed["alice"]["key_state"], listed["demo"]["active"]), ("encrypted", True))
        self.assertTrue(bus.events_of(ALICE, "NodeReady"))
        removed = bus.call("account.remove", ALICE)
        self.assertFalse(removed["purged"])
        self.assertRegex(removed["moved_to"], rf"^{bus.root}/\.removed/dev-alice-\d+$")
        self.assertEqual((Path(removed["moved_to"]) / "node/ckb/key").stat().st_size, ENCRYPTED)
        self.assert_private(bus.root)
        self.assertFalse(bus.alice.exists())
        self.assertEqual(bus.names(), ["dev/demo"])
        self.assert_error(-32009, "not_found", bus.call, "account.remove", ALICE)
        self.assert_error(-32009, "not_found", bus.call, "bus.switch", ALICE)
        self.assert_error(-32009, "not_found", bus.call, "events.read", {"after": 0, **ALICE})

    def test_purge_leaves_nothing(self):
        bus = self.bus_with_alice()
        (bus.alice / "deep" / "er").mkdir(parents=True)
        (bus.alice / "deep" / "link").symlink_to(bus.profile / "passphrase")
        removed = bus.call("account.remove", {**ALICE, "purge": True})
        self.assertEqual((removed["purged"], removed["moved_to"]), (True, None))
        self.assertFalse(bus.alice.exists())
        self.assertEqual(list((bus.root / ".removed").iterdir()), [])
        self.assertTrue((bus.profile / "passphrase").exists(), "a link goes, and not what it points to")

    def test_an_account_that_another_process_holds_is_not_removed_nor_given_a_key(self):
        bus = self.bus_with_alice()
        with subprocess.Popen(["flock", bus.alice / ".lock", "sleep", "60"], start_new_session=True) as holder:
            try:
                wait_for(lambda: subprocess.run(["flock", "-n", bus.alice / ".lock", "true"]).returncode, "the lock")
                error = self.assert_error(-32013, "conflict", bus.call, "account.remove", ALICE)
                self.assertIsInstance(error.data["pid"], int)
                self.assert_error(-32013, "conflict", bus.call, "account.import_key",
                                  {**ALICE, "key": KEY, "replace": True})
            finally:
                os.killpg(holder.pid, signal.SIGKILL)
        self.assertEqual(bus.names(), ["dev/alice", "dev/demo"])
        self.assertEqual((bus.alice / "node/ckb/key").stat().st_size, PLAIN)

    def test_files_that_the_registry_does_not_know_are_left_alone(self):
        bus = self.make_bus()
        bus.start()
        bus.alice.mkdir()
        (bus.alice / "passphrase").write_text("mine")
        before = bus.files()
        self.assert_error(-32013, "conflict", bus.call, "account.create", ALICE)
        self.assertEqual(bus.files(), before)
        self.assertEqual((bus.alice / "passphrase").read_text(), "mine")

    def test_many_accounts(self):
        bus = self.make_bus()
        bus.start()
        for number in range(50):
            bus.call("account.create", {"network": "dev", "account": f"a{number}"})
        self.assertEqual(len(bus.names()), 51)
        for number in range(50):
            bus.call("account.remove", {"network": "dev", "account": f"a{number}", "purge": number % 2 == 0})
        self.assertEqual(bus.names(), ["dev/demo"])


class PathTricksTest(AccountsTest):
    def test_names_that_are_none_make_nothing(self):
        bus = self.make_bus()
        bus.start()
        before = bus.files()
        beside = sorted(bus.directory.iterdir())
        for name in NAMES:
            for method in ["account.create", "account.remove", "account.import_key", "bus.switch"]:
                for params in [{"network": "dev", "account": name}, {"network": name, "account": "alice"}]:
                    if method == "account.import_key":
                        params["key"] = KEY
                    with self.subTest(method=method, **params):
                        self.assert_error(-32602, "invalid_params", bus.call, method, params)
        self.assertEqual(bus.files(), before)
        self.assertEqual(sorted(bus.directory.iterdir()), beside)
        self.assertEqual(bus.names(), ["dev/demo"])

    def test_links_in_the_place_of_directories(self):
        bus = self.make_bus()
        bus.start()
        elsewhere = bus.directory / "elsewhere"
        elsewhere.mkdir()
        bus.alice.symlink_to(elsewhere)
        self.assert_error(-32013, "conflict", bus.call, "account.create", ALICE)
        bus.alice.unlink()
        bus.call("account.create", ALICE)
        shutil.move(bus.alice, elsewhere / "alice")
        bus.alice.symlink_to(elsewhere / "alice")
        held = sorted(str(path) for path in elsewhere.rglob("*"))
        pid = bus.status()["pid"]
        for method, params in [("bus.switch", ALICE), ("account.remove", ALICE),
                               ("account.import_key", {**ALICE, "key": KEY, "replace": True})]:
            error = self.assert_error(-32015, "storage", bus.call, method, params)
            self.assertIn("symbolic link", error.message)
        self.assertEqual(sorted(str(path) for path in elsewhere.rglob("*")), held)
        self.assertEqual((elsewhere / "alice/node/ckb/key").stat().st_size, PLAIN)
        self.assertTrue(bus.alice.is_symlink())
        self.assertEqual((bus.status()["state"], bus.status()["pid"]), ("ready", pid), "the node was not disturbed")

    def test_a_link_in_the_place_of_the_key(self):
        bus = self.bus_with_alice()
        key = bus.alice / "node/ckb/key"
        target = bus.directory / "target"
        shutil.move(key, target)
        key.symlink_to(target)
        error = self.assert_error(
            -32015, "storage", bus.call, "account.import_key", {**ALICE, "key": KEY, "replace": True})
        self.assertIn("symbolic link", error.message)
        error = self.assert_error(-32016, "switch_failed", bus.switch, ALICE)
        self.assertEqual(error.data["reason"], "key_unreadable")
        self.assertEqual(target.stat().st_size, PLAIN, "nobody encrypted it")
        self.assertTrue(key.is_symlink())
        self.assertEqual(bus.wait_for_ready()["account"], "demo")

    def test_files_are_private_under_any_umask(self):
        for mask in [0o000, 0o777]:
            bus = self.make_bus()
            before = os.umask(mask)
            try:
                bus.spawn()
            finally:
                os.umask(before)
            if mask == 0o777:
                # What the test itself made for the log.
                bus.log_path.chmod(0o600)
            bus.wait_for_state("ready")
            bus.call("account.create", ALICE)
            bus.switch(ALICE)
            self.assert_private(bus.root)


class DiskTest(AccountsTest):
    def mount(self, path, options):
        path.mkdir(exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], capture_output=True, check=False)
        if done.returncode:
            self.skipTest("file systems cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", path], check=False)

    def test_a_full_disk_leaves_the_old_account_running(self):
        bus = self.bus_with_alice()
        pid = bus.status()["pid"]
        kept = bus.directory / "kept"
        shutil.copytree(bus.alice, kept)
        self.mount(bus.alice, "size=4m,mode=700")
        shutil.copytree(kept, bus.alice, dirs_exist_ok=True)
        error = self.assert_error(-32015, "storage", bus.switch, ALICE)
        self.assertIn("room", error.message)
        self.assertEqual((bus.status()["state"], bus.status()["pid"]), ("ready", pid))
        with open(bus.alice / "ballast", "wb") as ballast:
            try:
                ballast.write(b"x" * (8 << 20))
            except OSError:
                pass
        self.assert_error(-32015, "storage", bus.switch, ALICE)
        key = bus.alice / "node/ckb/key"
        self.assert_error(-32015, "storage", bus.call, "account.import_key", {**ALICE, "key": KEY, "replace": True})
        self.assertEqual(key.read_bytes(), (kept / "node/ckb/key").read_bytes())
        self.assertEqual(list(key.parent.iterdir()), [key])
        self.assertEqual((bus.status()["state"], bus.status()["pid"]), ("ready", pid))

    def test_a_disk_that_takes_nothing_makes_no_account(self):
        bus = self.bus_with_alice()
        pid = bus.status()["pid"]
        mounted = bus.alice.parent
        # The whole network, but for the account in use, which has its files open.
        subprocess.run(["mount", "--bind", mounted, mounted], capture_output=True, check=False)
        done = subprocess.run(["mount", "-o", "remount,ro,bind", mounted], capture_output=True, check=False)
        self.addCleanup(subprocess.run, ["umount", "-l", mounted], check=False)
        if done.returncode:
            self.skipTest("file systems cannot be mounted here")
        for method, params in [("account.create", {"network": "dev", "account": "bob"}), ("bus.switch", ALICE),
                               ("account.remove", ALICE),
                               ("account.import_key", {**ALICE, "key": KEY, "replace": True})]:
            error = self.assert_error(-32015, "storage", bus.call, method, params)
            self.assertIn("ead-only", error.message)
        self.assertEqual(bus.names(), ["dev/alice", "dev/demo"])
        self.assertEqual((bus.status()["state"], bus.status()["pid"]), ("ready", pid))
        subprocess.run(["umount", "-l", mounted], check=True)


class HistoryTest(AccountsTest):
    def test_a_name_made_again_goes_on_above_its_past_in_a_new_epoch(self):
        bus = self.bus_with_alice()
        bus.switch(ALICE)
        bus.emit(500)
        wait_for(lambda: bus.status()["head"] > 500, "the events")
        bus.switch(DEMO)
        past = bus.read_page(**{"from": "now"}, **ALICE)
        for purge in [False, True]:
            bus.call("account.remove", {**ALICE, "purge": purge})
            bus.call("account.create", ALICE)
            bus.switch(ALICE)
            first = bus.read_page(**{"from": "oldest"}, **ALICE)["events"][0]
            self.assertEqual((first.kind, first.prev), ("EventsLost", 0))
            self.assertGreater(first.seq, past["head"])
            self.assertNotEqual(first.header["epoch"], past["epoch"])
            self.assert_error(-32014, "history_changed", bus.call, "events.read",
                              {"after": past["head"], "epoch": past["epoch"], **ALICE})
            self.assert_error(-32012, "history_truncated", bus.call, "events.read", {"after": past["head"], **ALICE})
            seqs = [event.seq for event in bus.read_page(**{"from": "oldest"}, **ALICE)["events"]]
            self.assertEqual(seqs, list(range(first.seq, first.seq + len(seqs))))
            bus.switch(DEMO)
            past = bus.read_page(**{"from": "now"}, **ALICE)

    def test_a_journal_that_vanished_is_told_and_no_seq_comes_twice(self):
        for end in ["terminate", "kill_supervisor"]:
            with self.subTest(end=end):
                bus = self.make_bus()
                bus.start()
                bus.emit(300)
                wait_for(lambda: bus.status()["head"] > 300, "the events")
                before = bus.status()
                getattr(bus, end)()
                wait_for(lambda: not bus.host_pids(), "the end of the host")
                for path in bus.profile.glob("journal.sqlite*"):
                    path.unlink()
                after = bus.start()
                self.assertNotEqual(after["epoch"], before["epoch"])
                first = bus.read_page(**{"from": "oldest"})["events"][0]
                self.assertEqual(first.kind, "EventsLost")
                self.assertGreater(first.seq, before["head"])
                kinds = [event.kind for event in bus.read_page(**{"from": "oldest"})["events"]]
                self.assertEqual(kinds.count("EventsLost"), 1)
                again = bus.call("node.restart")
                self.assertEqual(again["state"], "ready")

    def test_a_journal_that_was_moved_away_is_not_read_any_more(self):
        bus = self.bus_with_alice()
        bus.switch(ALICE)
        bus.switch(DEMO)
        bus.read_page(**{"from": "oldest"}, **ALICE)
        for path in bus.alice.glob("journal.sqlite*"):
            path.rename(bus.directory / path.name)
        self.assert_error(-32009, "not_found", bus.call, "events.read", {"from": "oldest", **ALICE})
        bus.switch(ALICE)
        status, page = bus.status(), bus.read_page(**{"from": "oldest"}, **ALICE)
        self.assertEqual((page["epoch"], page["events"][0].kind), (status["epoch"], "EventsLost"))

    def test_an_older_copy_of_a_journal_is_told_and_no_seq_comes_twice(self):
        for end in ["terminate", "kill_supervisor"]:
            with self.subTest(end=end):
                bus = self.make_bus()
                bus.start()
                bus.terminate()
                copy = (bus.profile / "journal.sqlite").read_bytes()
                bus.start()
                bus.emit(300)
                wait_for(lambda: bus.status()["head"] > 300, "the events")
                getattr(bus, end)()
                wait_for(lambda: not bus.host_pids(), "the end of the host")
                if end == "kill_supervisor":
                    # One that is not ended in order is opened once more before its copy comes.
                    bus.start()
                    bus.kill_supervisor()
                    wait_for(lambda: not bus.host_pids(), "the end of the host")
                for path in bus.profile.glob("journal.sqlite*"):
                    path.unlink()
                (bus.profile / "journal.sqlite").write_bytes(copy)
                after = bus.start()
                events = bus.read_page(**{"from": "oldest"})["events"]
                old, new = [[event for event in events if (event.header["epoch"] == after["epoch"]) == is_new] for is_new in (False, True)]
                self.assertEqual([event.seq for event in old], list(range(1, len(old) + 1)))
                self.assertEqual(new[0].kind, "EventsLost")
                self.assertGreater(new[0].seq, 300 + len(old))
                self.assertEqual([event.seq for event in new], list(range(new[0].seq, new[0].seq + len(new))))
                bus.terminate()
                self.assertEqual(bus.start()["epoch"], after["epoch"], "told once")

    def test_the_first_journal_of_an_account_loses_nothing(self):
        bus = self.bus_with_alice()
        bus.switch(ALICE)
        events = bus.read_all()
        self.assertEqual(events[0].seq, 1)
        self.assertNotIn("EventsLost", [event.kind for event in events])


class CutShortTest(AccountsTest):
    """What a supervisor finds that was killed in the middle: the registry says what was being done."""

    def test_a_creation_is_finished(self):
        bus = self.bus_with_alice()
        bus.terminate()
        bus.registry("UPDATE accounts SET step = 'creating' WHERE account = 'alice'")
        shutil.rmtree(bus.alice / "node")
        bus.start()
        self.assertEqual(bus.names(), ["dev/alice", "dev/demo"])
        self.assertIn("creation of account dev/alice was cut short", bus.log())
        self.assertEqual(bus.switch(ALICE)["state"], "ready")

    def test_a_creation_that_cannot_be_finished_is_told_and_tried_again(self):
        bus = self.bus_with_alice()
        bus.terminate()
        bus.registry("UPDATE accounts SET step = 'creating' WHERE account = 'alice'")
        shutil.rmtree(bus.alice)
        bus.alice.write_text("in the way")
        bus.start()
        self.assertIn("account dev/alice is neither whole nor gone", bus.log())
        self.assertEqual(bus.names(), ["dev/demo"])
        self.assert_error(-32009, "not_found", bus.switch, ALICE)
        self.assert_error(-32015, "storage", bus.call, "account.create", ALICE)
        bus.alice.unlink()
        bus.call("account.create", ALICE)
        self.assertEqual(bus.switch(ALICE)["state"], "ready")

    def test_a_removal_is_finished(self):
        for moved in [False, True]:
            with self.subTest(moved=moved):
                bus = self.bus_with_alice()
                bus.terminate()
                bus.registry("UPDATE accounts SET step = 'removing', removed_as = 'dev-alice-7' "
                             "WHERE account = 'alice'")
                if moved:
                    (bus.root / ".removed").mkdir(0o700)
                    bus.alice.rename(bus.root / ".removed/dev-alice-7")
                bus.start()
                self.assertEqual(bus.names(), ["dev/demo"])
                self.assertFalse(bus.alice.exists())
                self.assertTrue((bus.root / ".removed/dev-alice-7/node/ckb/key").exists())

    def test_a_purge_is_finished(self):
        bus = self.bus_with_alice()
        bus.terminate()
        bus.registry("UPDATE accounts SET step = 'removing', removed_as = 'dev-alice-7.purge' WHERE account = 'alice'")
        bus.start()
        wait_for(lambda: not list((bus.root / ".removed").iterdir()), "the end of the files")
        self.assertEqual(bus.names(), ["dev/demo"])


class KilledTest(AccountsTest):
    """The supervisor is killed at the first, the second, … system call of a method that leaves something behind."""

    STEPS = ["fsync", "fdatasync", "mkdirat", "renameat", "linkat", "unlinkat"] if LONG else ["fsync", "renameat"]

    def kill_at_each(self, method, params, prepare, check):
        tried = 0
        for step in self.STEPS:
            for nth in range(1, 40):
                with self.subTest(step=step, nth=nth):
                    bus = AccountsBus()
                    try:
                        bus.start()
                        prepare(bus)
                        if not self.kill_at(bus, step, nth, method, params):
                            break
                        tried += 1
                        wait_for(lambda: not bus.host_pids(), "the end of the host")
                        bus.start()
                        check(bus)
                        self.assertEqual(bus.terminate(), 0)
                    finally:
                        bus.close()
        print(f"{self.id()}: killed at {tried} steps")
        self.assertGreater(tried, 2)

    def kill_at(self, bus, step, nth, method, params):
        """False when the method has no such step any more."""
        with bus.killed_at(step, nth), bus.context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(bus.commands)
            socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
            wait_for(lambda: bus.process.poll() is not None or socket.poll(1), "either end")
            return bus.process.poll() is not None

    def test_of_a_creation(self):
        def check(bus):
            if "dev/alice" in bus.names():
                self.assertEqual(bus.switch(ALICE)["state"], "ready")
            else:
                self.assertFalse(bus.alice.exists())
                bus.call("account.create", ALICE)
        self.kill_at_each("account.create", ALICE, lambda bus: None, check)

    def test_of_a_removal(self):
        def check(bus):
            moved = list((bus.root / ".removed").glob("dev-alice-*/node/ckb/key"))
            if "dev/alice" in bus.names():
                self.assertEqual(moved, [])
                self.assertEqual(bus.switch(ALICE)["state"], "ready")
            else:
                self.assertFalse(bus.alice.exists())
                self.assertEqual(len(moved), 1)
                bus.call("account.create", ALICE)
        self.kill_at_each("account.remove", ALICE, lambda bus: bus.call("account.create", ALICE), check)

    def test_of_an_import(self):
        old = {}

        def prepare(bus):
            bus.call("account.create", ALICE)
            old["key"] = (bus.alice / "node/ckb/key").read_text()

        def check(bus):
            key = bus.alice / "node/ckb/key"
            self.assertIn(key.read_text(), [KEY, old["key"]], "one or the other, whole")
            self.assertEqual(bus.switch(ALICE)["state"], "ready")
            self.assertEqual([path.name for path in key.parent.iterdir()], ["key"])
        self.kill_at_each("account.import_key", {**ALICE, "key": KEY, "replace": True}, prepare, check)


class KeysTest(AccountsTest):
    def key_of(self, bus):
        return bus.alice / "node/ckb/key"

    def test_the_life_of_a_key(self):
        bus = self.bus_with_alice()
        key = self.key_of(bus)
        key.unlink()
        error = self.assert_error(-32016, "switch_failed", bus.switch, ALICE)
        self.assertEqual((error.data["reason"], error.data["account"]), ("key_missing", "demo"))
        # Stays there, failed, and is not started again and again.
        self.assert_error(-32016, "switch_failed", bus.switch, ALICE, on_failure="stay")
        failure = bus.wait_for_failure("key_missing")["failure"]
        self.assertIn("import-key dev/alice", failure["message"])
        run = bus.status()["run"]
        failed = wait_for(lambda: bus.events_of(ALICE, "NodeFailed"), "NodeFailed")
        self.assertEqual(failed[-1].payload["reason"], "key_missing")
        self.assertIsNone(failed[-1].payload["retry_ms"])
        self.assertEqual(bus.events_of(ALICE, "NodeRestartScheduled"), [])
        self.assertEqual(bus.host_pids(), [])
        given = bus.call("account.import_key", {**ALICE, "key": f"  0x{KEY.upper()}\n"})
        self.assertEqual((given["key_state"], given["kept"]), ("plaintext", None))
        self.assertEqual(key.read_text(), KEY)
        self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
        self.assertEqual([path.name for path in key.parent.iterdir()], ["key"])
        self.assertEqual(bus.status()["run"], run)
        self.assertEqual(bus.call("node.start")["state"], "ready")
        self.assertEqual(key.read_bytes()[:1], b"s")
        self.assertEqual(key.stat().st_size, ENCRYPTED)
        wait_for(lambda: bus.events_of(ALICE, "KeyEncrypted"), "KeyEncrypted")
        bus.call("node.restart")
        wait_for(lambda: len(bus.events_of(ALICE, "NodeReady")) == 2, "the second start")
        self.assertEqual(len(bus.events_of(ALICE, "KeyEncrypted")), 1, "told once")
        # While the node runs nobody touches it.
        self.assert_error(-32013, "conflict", bus.call, "account.import_key", {**ALICE, "key": KEY, "replace": True})
        bus.call("node.stop")
        self.assert_error(-32013, "conflict", bus.call, "account.import_key", {**ALICE, "key": KEY})
        old = key.read_bytes()
        given = bus.call("account.import_key", {**ALICE, "key": "ab" * 32, "replace": True})
        self.assertEqual(Path(given["kept"]).read_bytes(), old, "an encrypted key may be the only way to money")
        self.assertEqual(key.read_text(), "ab" * 32)
        self.assertEqual(bus.call("node.start")["state"], "ready")

    def test_what_is_no_key_is_refused_and_not_repeated(self):
        bus = self.bus_with_alice()
        key = self.key_of(bus)
        key.unlink()
        bad = ["", "0x", "ab" * 31, "ab" * 33, "ab" * 31 + "a", "zz" * 32, "0x0x" + "ab" * 31, "ab" * 16 + " " + "ab" * 16,
               "0" * 64, f"{ORDER:064x}", f"{ORDER + 1:064x}", "f" * 64, "٣" * 64, "ａ" * 64, "ab" * 32 + "\0", "x" * 2000,
               7, None, True, [KEY], {"key": KEY}]
        for value in bad:
            with self.subTest(value=value):
                error = self.assert_error(-32602, "invalid_params", bus.call, "account.import_key", {**ALICE, "key": value})
                self.assertEqual(error.data["path"], "key")
                if isinstance(value, str) and len(value) > 8:
                    self.assertNotIn(value[:16], json.dumps([error.message, error.data], ensure_ascii=False))
                self.assertFalse(key.exists())
        for value in [f"{1:064x}", f"{ORDER - 1:064X}"]:
            bus.call("account.import_key", {**ALICE, "key": value, "replace": True})
            self.assertEqual(key.read_text(), value.lower())

    def test_a_key_that_is_secret_is_described_so(self):
        bus = self.make_bus()
        bus.start()
        methods = {method["name"]: {each["name"]: each for each in method["parameters"]}
                   for method in bus.call("bus.methods")["methods"]}
        self.assertIs(methods["account.import_key"]["key"]["secret"], True)
        self.assertIs(methods["fiber.new_invoice"]["payment_preimage"]["secret"], True)
        self.assertNotIn("secret", methods["account.import_key"]["account"])

    def test_a_wrong_passphrase_ends_in_failed_and_is_not_tried_again(self):
        bus = self.make_bus()
        bus.start()
        right = (bus.profile / "passphrase").read_text()
        key = (bus.profile / "node/ckb/key").read_bytes()
        (bus.profile / "passphrase").write_text("not the one")
        self.assert_error(-32001, "node_not_running", bus.call, "node.restart")
        status = bus.wait_for_failure("passphrase_wrong")
        self.assertNotIn("not the one", json.dumps(status))
        self.assertEqual(bus.wait_for_kind("NodeFailed")[-1].payload["reason"], "passphrase_wrong")
        self.assertEqual((bus.status()["run"], bus.read_kinds("NodeRestartScheduled")), (2, []))
        self.assertEqual((bus.profile / "node/ckb/key").read_bytes(), key)
        (bus.profile / "passphrase").write_text(right)
        self.assertEqual(bus.call("node.start")["state"], "ready")

    def test_damaged_keys_are_known_before_a_host_is_spawned(self):
        bus = self.make_bus()
        bus.start()
        key = bus.profile / "node/ckb/key"
        sound = key.read_bytes()
        cases = [(b"", "key_damaged"), (sound[:40], "key_damaged"), (sound + b"x", "key_damaged"),
                 (b"ab" * 31, "key_damaged"), (b"\0" * 64, "key_damaged"), (b"0x" + b"ab" * 32, "key_invalid"),
                 (b"00" * 32, "key_invalid"), (b"ff" * 32, "key_invalid")]
        for number, (content, reason) in enumerate(cases, start=1):
            with self.subTest(content=content):
                key.write_bytes(content)
                self.assert_error(-32001, "node_not_running", bus.call, "node.restart")
                bus.wait_for_failure(reason)
                failed = bus.wait_for_kind("NodeFailed", number)[-1].payload
                self.assertEqual(failed["reason"], reason)
                if reason == "key_damaged":
                    self.assertIn("Lost with it", failed["message"])
                self.assertEqual(bus.host_pids(), [])
                self.assertEqual(key.read_bytes(), content, "it is left as it is")
        key.write_bytes(sound)
        self.assertEqual(bus.call("node.start")["state"], "ready")

    def test_a_key_that_stays_plaintext_is_warned_of_at_every_start(self):
        bus = self.make_bus(faults=[{"call": "fiber_start", "nth": 1, "when": "after", "do": f"slow:{SLOWER}s"}])
        bus.spawn()
        key = bus.profile / "node/ckb/key"
        for number in [1, 2]:
            wait_for(lambda: key.exists() and key.stat().st_size == ENCRYPTED, "the encryption")
            key.write_text(KEY)
            bus.wait_for_state("ready")
            found = bus.wait_for_kind("KeyPlaintext", number)
            self.assertEqual(len(found), number)
            if number == 1:
                with bus.context.socket(zmq.DEALER) as socket:
                    socket.linger = 0
                    socket.connect(bus.commands)
                    socket.send_multipart([b"", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "node.restart"}).encode()])
                    wait_for(lambda: bus.status()["state"] == "starting", "the second start")
        self.assertEqual(bus.read_kinds("KeyEncrypted"), [])
        self.assertRegex(bus.log(), "warning node: KeyPlaintext")

    def test_a_host_is_not_killed_while_its_node_may_be_encrypting_the_key(self):
        bus = self.make_bus(faults=[{"call": "fiber_start", "nth": 1, "do": f"slow:{2 + SLOWER}s"}],
                            start_timeout=f"{SLOWER}s", restart={"first": "60s", "max": "60s"})
        began = time.monotonic()
        bus.spawn()
        wait_for(lambda: bus.status_or_none() and bus.read_kinds("NodeExited"), "the kill", 60)
        self.assertGreater(time.monotonic() - began, 1.5 + SLOWER)
        exit = bus.read_kinds("NodeExited")[0].payload
        self.assertEqual((exit["cause"], exit["signal"]), ("hang", 9))
        self.assertEqual((bus.profile / "node/ckb/key").stat().st_size, ENCRYPTED)
        bus.write_node_config(faults=[])
        self.assertEqual(bus.call("node.start")["state"], "ready")

    @unittest.skipIf(SANITIZED, "its figures are of a machine at full speed")
    def test_a_start_that_hangs_with_a_plaintext_key_is_killed_after_a_bounded_time(self):
        bus = self.make_bus(faults=[{"call": "fiber_start", "nth": 1, "do": "hang"}], start_timeout="1s",
                            restart={"first": "60s", "max": "60s"})
        began = time.monotonic()
        bus.spawn()
        wait_for(lambda: bus.status_or_none() and bus.read_kinds("NodeExited"), "the kill", 30)
        self.assertTrue(10 < time.monotonic() - began < 16)
        self.assertEqual((bus.profile / "node/ckb/key").stat().st_size, PLAIN)


class KeyCopyTest(AccountsTest):
    """The copy of a plaintext key, for a node that is killed while it encrypts the key where it stands."""

    def paths(self, bus):
        return bus.profile / "node/ckb/key", bus.profile / "key.before-encryption"

    def killed_in_its_start(self, when, **options):
        """A bus whose host and supervisor were killed in the first start, before or after the encryption, and the key."""
        bus = self.make_bus(faults=[{"call": "fiber_start", "nth": 1, "when": when, "do": "hang"}], **options)
        bus.spawn()
        key, copy = self.paths(bus)
        size = {"before": PLAIN, "after": ENCRYPTED}[when]
        wait_for(lambda: bus.host_pids() and key.stat().st_size == size, "the start")
        digits = copy.read_text()
        self.assertRegex(digits, "^[0-9a-f]{64}$")
        self.assertEqual(stat.S_IMODE(copy.stat().st_mode), 0o600)
        bus.kill_supervisor()
        for pid in bus.host_pids():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not bus.host_pids(), "the end of the host")
        bus.write_node_config()
        return bus, digits

    def assert_settled(self, bus, digits, restored):
        """The node is ready with this key, and nothing else of it is left."""
        self.assertEqual(bus.wait_for_ready()["account"], "demo")
        bus.wait_for_kind("KeyEncrypted")
        key, copy = self.paths(bus)
        self.assertEqual(decrypted(key, bus.profile / "passphrase"), digits)
        self.assertFalse(copy.exists())
        self.assertEqual(len(bus.read_kinds("KeyRestored")), restored)
        self.assertEqual(bus.read_kinds("NodeFailed", "NodeRestartScheduled"), [])
        for path in bus.profile.rglob("*"):
            if path.is_file():
                self.assertNotIn(digits.encode(), path.read_bytes(), path)

    def test_a_torn_key_comes_back(self):
        for torn in [b"", b"s" + os.urandom(9), b"\0" * 77, b"s" + os.urandom(76), None]:
            with self.subTest(torn=torn):
                bus, digits = self.killed_in_its_start("before")
                key, _ = self.paths(bus)
                if torn is None:
                    key.unlink()
                else:
                    key.write_bytes(torn)
                bus.start()
                self.assert_settled(bus, digits, restored=1)
                said = bus.read_kinds("KeyRestored")[0].payload["message"]
                kept = list(key.parent.glob("key.replaced-*"))
                if torn is not None:
                    self.assertEqual([path.read_bytes() for path in kept], [torn])
                    self.assertIn(str(kept[0]), said)
                self.assertRegex(bus.log(), "warning node: KeyRestored")
                kinds = [event.kind for event in bus.read_all() if event.source == "supervisor"][1:]
                # As long as a whole one, it is the node that tells.
                tried = ["NodeStarting", "KeyRestored", "NodeExited", "NodeStarting"]
                known = ["NodeStarting", "KeyRestored"]
                self.assertEqual(kinds, ["NodeExited", *(tried if torn and len(torn) == ENCRYPTED else known),
                                         "NodeReady", "KeyEncrypted"])
                bus.call("node.restart")
                self.assertEqual(len(bus.read_kinds("KeyRestored", "KeyEncrypted")), 2, "told once")

    def test_a_whole_key_is_kept(self):
        bus, digits = self.killed_in_its_start("after")
        key, copy = self.paths(bus)
        content = key.read_bytes()
        self.assertTrue(copy.exists())
        bus.start()
        self.assert_settled(bus, digits, restored=0)
        self.assertEqual(key.read_bytes(), content)

    def test_a_start_cut_short_before_the_encryption_is_made_again(self):
        bus, digits = self.killed_in_its_start("before")
        bus.start()
        self.assert_settled(bus, digits, restored=0)

    def test_a_damaged_key_without_a_copy_is_left_as_it_is(self):
        bus, _ = self.killed_in_its_start("after")
        key, copy = self.paths(bus)
        copy.unlink()
        for number, (torn, reason) in enumerate([(os.urandom(77), "passphrase_wrong"), (b"", "key_damaged")], start=1):
            key.write_bytes(torn)
            if bus.process.poll() is None:
                self.assert_error(-32001, "node_not_running", bus.call, "node.start")
            else:
                bus.spawn()
            bus.wait_for_failure(reason)
            self.assertEqual(bus.wait_for_kind("NodeFailed", number)[-1].payload["reason"], reason)
            self.assertEqual(key.read_bytes(), torn)
            self.assertEqual([path.name for path in key.parent.iterdir()], ["key"])
            self.assertFalse(copy.exists())
        self.assertEqual(bus.read_kinds("KeyRestored", "NodeRestartScheduled"), [])

    def test_a_key_is_put_back_once_however_the_next_start_fails(self):
        bus, digits = self.killed_in_its_start("before", restart={"limit": 2, "then_every": "0s"})
        key, copy = self.paths(bus)
        key.write_bytes(os.urandom(77))
        bus.write_node_config(faults=[{"call": "fiber_start", "nth": 1, "when": "after", "do": "status:3"}])
        bus.spawn()
        bus.wait_for_failure("start_failed")
        self.assertEqual(len(bus.read_kinds("KeyRestored")), 1)
        self.assertEqual(copy.read_text(), digits, "no node was ready yet")
        bus.write_node_config()
        self.assertEqual(bus.call("node.start")["state"], "ready")
        self.assertEqual(decrypted(key, bus.profile / "passphrase"), digits)
        wait_for(lambda: not copy.exists(), "the end of the copy")

    def test_a_node_that_refuses_what_it_has_just_encrypted_is_not_started_again(self):
        bus = self.make_bus(faults=[{"call": "fiber_start", "nth": 1, "do": f"slow:{2 * SLOWER}s"}])
        bus.spawn()
        key, copy = self.paths(bus)
        wait_for(bus.host_pids, "the host")
        digits, torn = copy.read_text(), os.urandom(77)
        key.write_bytes(torn)
        bus.wait_for_failure("passphrase_wrong")
        self.assertEqual((key.read_bytes(), copy.read_text()), (torn, digits))
        self.assertEqual(bus.read_kinds("KeyRestored", "NodeRestartScheduled"), [])
        # Whoever has seen to it may have it tried again.
        bus.write_node_config()
        self.assertEqual(bus.call("node.start")["state"], "ready")
        self.assertEqual(decrypted(key, bus.profile / "passphrase"), digits)

    def test_a_switch_goes_on_past_a_torn_key(self):
        bus = self.bus_with_alice()
        key, copy = bus.alice / "node/ckb/key", bus.alice / "key.before-encryption"
        shutil.copy(key, copy)
        digits = key.read_text()
        key.write_bytes(os.urandom(77))
        self.assertEqual(bus.switch(ALICE)["state"], "ready")
        self.assertEqual(decrypted(key, bus.alice / "passphrase"), digits)
        wait_for(lambda: not copy.exists(), "the end of the copy")

    def test_an_import_deletes_the_copy_and_a_removal_takes_it_along(self):
        bus = self.bus_with_alice()
        key, copy = bus.alice / "node/ckb/key", bus.alice / "key.before-encryption"
        copy.write_text("ab" * 32)
        key.unlink()
        error = self.assert_error(-32013, "conflict", bus.call, "account.import_key", {**ALICE, "key": KEY})
        self.assertNotIn("abab", error.message)
        bus.call("account.import_key", {**ALICE, "key": KEY, "replace": True})
        self.assertEqual((key.read_text(), copy.exists()), (KEY, False))
        copy.symlink_to(bus.directory / "target")
        (bus.directory / "target").write_text("ab" * 32)
        error = self.assert_error(-32016, "switch_failed", bus.switch, ALICE)
        self.assertEqual(error.data["reason"], "key_unreadable")
        self.assertEqual((key.read_text(), (bus.directory / "target").read_text()), (KEY, "ab" * 32))
        copy.unlink()
        copy.write_text("ab" * 32)
        moved = Path(bus.call("account.remove", ALICE)["moved_to"])
        self.assertEqual((moved / copy.name).read_text(), "ab" * 32)
        self.assertFalse(copy.exists())


def decrypted(path, passphrase):
    """The key in a file that the simulated node has made, which protects nothing, as hex digits."""
    def digest(*parts):
        lanes = b""
        for lane in range(4):
            state = 0xcbf29ce484222325 ^ (lane * 0x9e3779b97f4a7c15 & MASK)
            for byte in b"".join(len(part).to_bytes(8, "little") + part for part in parts):
                state = (state ^ byte) * 0x100000001b3 & MASK
            state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9 & MASK
            state = (state ^ state >> 27) * 0x94d049bb133111eb & MASK
            lanes += (state ^ state >> 31).to_bytes(8, "big")
        return lanes
    content = path.read_bytes()
    assert content[:1] == b"s" and len(content) == ENCRYPTED, content
    pad = digest(content[1:29], passphrase.read_bytes())
    return bytes(masked ^ each for masked, each in zip(content[29:61], pad)).hex()


class PassphraseTest(AccountsTest):
    """Sources of passphrases named in the configuration."""

    SECRET = "open sesame, open"

    def program(self, bus, text):
        path = bus.directory / "passphrase-program"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path

    def assert_starts_only_with(self, bus, secret):
        """The node has encrypted its key with this passphrase: with no other it starts again."""
        bus.wait_for_state("ready")
        bus.terminate()
        bus.set_passphrase({"file": "other"})
        (bus.directory / "other").write_text("another")
        bus.spawn()
        bus.wait_for_failure("passphrase_wrong")
        (bus.directory / "other").write_text(secret + "\n")
        self.assertEqual(bus.call("node.start")["state"], "ready")
        self.assertNotIn(secret, bus.log())

    def test_a_file_with_the_account_in_its_name(self):
        bus = self.make_bus(passphrase={"file": "secrets/{network}-{account}"})
        (bus.directory / "secrets").mkdir()
        (bus.directory / "secrets/dev-demo").write_text(self.SECRET)
        bus.spawn()
        self.assert_starts_only_with(bus, self.SECRET)

    def test_a_credential_of_systemd(self):
        bus = self.make_bus(passphrase={"credential": "nodebus-{account}"})
        credentials = bus.directory / "credentials"
        credentials.mkdir()
        (credentials / "nodebus-demo").write_text(self.SECRET + "\n")
        bus.spawn()
        bus.wait_for_failure("passphrase_missing")
        bus.terminate()
        bus.environment["CREDENTIALS_DIRECTORY"] = str(credentials)
        bus.spawn()
        self.assert_starts_only_with(bus, self.SECRET)

    def test_a_command_and_its_arguments_without_a_shell(self):
        bus = self.make_bus()
        program = self.program(bus, 'echo "noise: $1" >&2; printf "%s" "$1/$2/$3"')
        bus.set_passphrase({"command": [str(program), "{network}", "{account}", "$(id); echo *"]})
        bus.spawn()
        self.assert_starts_only_with(bus, "dev/demo/$(id); echo *")
        self.assertNotIn("noise", bus.log())

    def test_a_missing_passphrase_needs_a_person(self):
        bus = self.make_bus(passphrase={"file": "nowhere"})
        bus.spawn()
        message = bus.wait_for_failure("passphrase_missing")["failure"]["message"]
        self.assertIn(str(bus.directory / "nowhere"), message)
        self.assertEqual((bus.host_pids(), bus.read_kinds("NodeRestartScheduled")), ([], []))
        self.assertEqual((bus.profile / "node/ckb/key").stat().st_size, PLAIN)
        for text in ["two\nlines", "", "x" * 1025]:
            (bus.directory / "nowhere").write_text(text)
            self.assert_error(-32001, "node_not_running", bus.call, "node.start")
            message = bus.wait_for_failure("passphrase_invalid")["failure"]["message"]
            self.assertNotIn("lines", message)
        (bus.directory / "nowhere").write_text(self.SECRET)
        self.assertEqual(bus.call("node.start")["state"], "ready")

    def test_a_command_that_fails_is_asked_again(self):
        bus = self.make_bus(restart={"first": "50ms", "max": "100ms", "limit": 1000})
        program = self.program(bus, f'test -e "$1" || {{ echo "{self.SECRET}"; exit 3; }}; echo "{self.SECRET}"')
        bus.set_passphrase({"command": [str(program), str(bus.directory / "vault-is-open")]})
        bus.spawn()
        wait_for(lambda: bus.status_or_none() and len(bus.read_kinds("NodeRestartScheduled")) > 2, "restarts")
        detail = bus.read_kinds("NodeExited")[0].payload["detail"]
        self.assertIn("ended with status 3", detail)
        self.assertNotIn(self.SECRET, bus.log() + detail)
        (bus.directory / "vault-is-open").touch()
        bus.wait_for_state("ready")

    def test_a_command_that_hangs_or_never_stops_writing(self):
        for text, wanted in [("sleep 1000 & sleep 1000", "did not end in time"),
                             ("exec yes", "wrote more than a passphrase can be")]:
            with self.subTest(text=text):
                bus = self.make_bus(start_timeout="2s", restart={"first": "60s", "max": "60s"})
                bus.set_passphrase({"command": [str(self.program(bus, text))]})
                bus.spawn()
                failed = wait_for(lambda: bus.status_or_none() and bus.read_kinds("NodeExited", "NodeFailed"), "the end")
                self.assertIn(wanted, json.dumps([event.payload for event in failed]))
                pattern = str(bus.directory / "passphrase-program")
                wait_for(lambda: not subprocess.run(["pgrep", "-f", pattern], capture_output=True).stdout,
                         "the end of the program")
                wait_for(lambda: not bus.zombies(), "somebody to wait for the program")

    def test_a_stop_does_not_wait_for_a_command(self):
        bus = self.make_bus()
        bus.set_passphrase({"command": [str(self.program(bus, "exec sleep 1000"))]})
        bus.spawn()
        bus.wait_for_state("starting")
        began = time.monotonic()
        self.assertEqual(bus.call("node.stop")["state"], "stopped")
        self.assertLess(time.monotonic() - began, 2 * SLOWER)
        wait_for(lambda: subprocess.run(["pgrep", "-P", str(bus.process.pid)], capture_output=True).stdout == b"",
                 "the end of the command")


class CanaryTest(AccountsTest):
    """Secrets with known bytes, searched for everywhere after they were used in every way there is."""

    KEY = "c0ffee" * 10 + "cafe"
    PASSPHRASE = "canary-bird-in-a-coal-mine-4711"

    def test_secrets_are_found_only_where_they_belong(self):
        bus = self.bus_with_alice()
        (bus.alice / "passphrase").write_text(self.PASSPHRASE)
        bus.call("account.import_key", {**ALICE, "key": "0x" + self.KEY.upper(), "replace": True})
        self.assertEqual((bus.alice / "node/ckb/key").read_text(), self.KEY, "the canary lives")
        replies = []
        for params in [{**ALICE, "key": self.KEY}, {**ALICE, "key": self.KEY + "0"}, {**ALICE, "key": "g" + self.KEY},
                       {**ALICE, "key": self.KEY, "replace": self.KEY}, {"network": "dev", "account": "none", "key": self.KEY}]:
            replies.append(bus.ask("account.import_key", params))
        preimage = "be" * 8 + self.KEY[:48]
        self.assert_key_lies_in_its_copy_until_ready(bus)
        status = bus.status()
        replies.append(bus.ask("fiber.new_invoice", {"amount": "5", "payment_preimage": preimage + "zz"}))
        replies.append(bus.ask("fiber.new_invoice", {"amount": "5", "payment_preimage": preimage, "currency": "Fibt"}))
        processes = {}
        for pid in [bus.process.pid, status["pid"]]:
            for place in ["cmdline", "environ"]:
                processes[f"/proc/{pid}/{place}"] = Path(f"/proc/{pid}/{place}").read_bytes()
        os.kill(status["pid"], signal.SIGABRT)
        bus.wait_for_ready(other_than=status["pid"])
        (bus.alice / "passphrase").write_text("wrong-" + self.PASSPHRASE)
        self.assert_error(-32001, "node_not_running", bus.call, "node.restart")
        (bus.alice / "passphrase").write_text(self.PASSPHRASE)
        bus.call("node.start")
        replies += [bus.ask("bus.status"), bus.ask("account.list"), bus.ask("bus.methods"),
                    bus.ask("events.read", {"from": "oldest", "limit": 10000})]
        bus.switch(DEMO)
        bus.call("account.remove", ALICE)
        bus.terminate()
        secrets = [self.KEY, self.KEY.upper(), self.PASSPHRASE, preimage]
        secrets = [secret.encode() for secret in secrets] + [bytes.fromhex(self.KEY)]
        removed = next((bus.root / ".removed").iterdir())
        belongs = {removed / "passphrase": [self.PASSPHRASE.encode()]}
        contents = {path: path.read_bytes() for path in bus.directory.rglob("*") if path.is_file()}
        # The node keeps an invoice with its preimage in its own store, as the real one does.
        contents = {path: bytes_ for path, bytes_ in contents.items() if "fiber/store" not in str(path)}
        self.assertTrue(any(path.name == "journal.sqlite" for path in contents))
        contents |= processes | {f"reply {number}": reply for number, reply in enumerate(replies)}
        for place, content in contents.items():
            for secret in secrets:
                if secret in belongs.get(place, []):
                    self.assertIn(secret, content)
                else:
                    self.assertNotIn(secret, content, place)


    def assert_key_lies_in_its_copy_until_ready(self, bus):
        """Switches to alice, whose node has encrypted its key long before it is ready."""
        bus.write_node_config(faults=[{"call": "fiber_start", "nth": 1, "when": "after", "do": f"slow:{2 * SLOWER}s"}])
        copy = bus.alice / "key.before-encryption"
        with bus.context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(bus.commands)
            socket.send_json({"jsonrpc": "2.0", "id": 1, "method": "bus.switch", "params": ALICE})
            wait_for(lambda: (bus.alice / "node/ckb/key").stat().st_size == ENCRYPTED, "the encryption")
            found = [path for path in bus.directory.rglob("*") if path.is_file()
                     and (self.KEY.encode() in path.read_bytes() or bytes.fromhex(self.KEY) in path.read_bytes())]
            self.assertEqual(found, [copy])
            self.assertTrue(socket.poll(int(PATIENCE * 1000)))
            self.assertEqual(socket.recv_json()["result"]["state"], "ready")
        wait_for(lambda: not copy.exists(), "the end of the copy")
        bus.write_node_config()


class CommandLineTest(AccountsTest):
    def nodebus(self, bus, *words, stdin=b""):
        done = subprocess.run([PROGRAMS / "nodebus", *words, "--config", bus.config], input=stdin, capture_output=True,
                              timeout=PATIENCE)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_accounts_are_made_listed_switched_and_removed(self):
        bus = self.make_bus()
        bus.start()
        self.assertEqual(self.nodebus(bus, "account", "create", "dev/alice"), (0, "made dev/alice\n", ""))
        code, out, _ = self.nodebus(bus, "account", "list")
        self.assertEqual(code, 0)
        self.assertRegex(out.splitlines()[0], r"^dev/alice  plaintext  2\S+Z  simulated$")
        self.assertRegex(out.splitlines()[1], r"^dev/demo   encrypted  2\S+Z  active, simulated$")
        code, out, _ = self.nodebus(bus, "account", "list", "dev", "--json")
        self.assertEqual(len(json.loads(out)["accounts"]), 2)
        self.assertEqual(self.nodebus(bus, "switch", "dev/alice"), (0, "dev/alice is ready, run 1\n", ""))
        self.assertEqual(self.nodebus(bus, "switch", "dev/alice")[1], "dev/alice was ready already, run 1\n")
        code, _, error = self.nodebus(bus, "account", "remove", "dev/alice")
        self.assertEqual(code, 1)
        self.assertIn("switch to another one first", error)
        self.assertEqual(self.nodebus(bus, "switch", "dev/demo")[0], 0)
        code, out, _ = self.nodebus(bus, "account", "remove", "dev/alice", "--purge")
        self.assertEqual((code, out), (0, "removed dev/alice; its files are deleted\n"))
        code, _, error = self.nodebus(bus, "switch", "dev/alice")
        self.assertEqual(code, 1)
        self.assertIn("not_found", error)

    def test_a_failed_switch_is_exit_code_1(self):
        bus = self.bus_with_alice()
        (bus.alice / "node/ckb/key").unlink()
        code, out, error = self.nodebus(bus, "switch", "dev/alice")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("key_missing", error)
        code, _, _ = self.nodebus(bus, "switch", "dev/alice", "--stay")
        self.assertEqual(code, 1)
        bus.wait_for_failure("key_missing")
        self.assertEqual(bus.status()["account"], "alice")

    def test_a_key_comes_from_a_file_or_a_pipe(self):
        bus = self.bus_with_alice()
        key = bus.alice / "node/ckb/key"
        code, out, _ = self.nodebus(bus, "account", "import-key", "dev/alice", "--replace", stdin=f"0x{KEY}\n".encode())
        self.assertEqual((code, out), (0, "dev/alice has its key\n"))
        self.assertEqual(key.read_text(), KEY)
        (bus.directory / "key.txt").write_text("ab" * 32 + "\n")
        code, _, error = self.nodebus(bus, "account", "import-key", "dev/alice", "--file", bus.directory / "key.txt")
        self.assertEqual(code, 1)
        self.assertIn("conflict", error)
        code, _, _ = self.nodebus(bus, "account", "import-key", "dev/alice", "--replace", "--file",
                                  bus.directory / "key.txt")
        self.assertEqual(code, 0)
        self.assertEqual(key.read_text(), "ab" * 32)
        for stdin in [b"", b"\xff" * 64, b"x" * 5000, b"ab" * 31]:
            code, out, error = self.nodebus(bus, "account", "import-key", "dev/alice", "--replace", stdin=stdin)
            self.assertEqual((code, out), (1, ""), error)
            self.assertNotIn("abab", error)
        self.assertEqual(key.read_text(), "ab" * 32)

    def test_a_key_on_the_command_line_is_refused_and_not_repeated(self):
        bus = self.bus_with_alice()
        key = (bus.alice / "node/ckb/key").read_text()
        for words in [["account", "import-key", "dev/alice", KEY], ["account", "import-key", "dev/alice", "0x" + KEY],
                      ["account", "import-key", KEY], ["account", KEY], ["account", "import-key", "dev/alice", f"--key={KEY}"],
                      ["account", "import-key", "dev/alice", "--key", KEY],
                      ["call", "account.import_key", "network=dev", "account=alice", f"key={KEY}", "replace=true"],
                      ["call", "account.import_key", json.dumps({**ALICE, "key": KEY, "replace": True})]]:
            with self.subTest(words=words):
                code, out, error = self.nodebus(bus, *words)
                self.assertEqual((code, out), (2, ""))
                self.assertNotIn(KEY, error)
                if "--key" not in " ".join(words):
                    self.assertIn("does not belong on a command line", error)
        self.assertEqual((bus.alice / "node/ckb/key").read_text(), key)

    def test_a_terminal_is_asked_and_shows_nothing(self):
        bus = self.bus_with_alice()
        with self.on_terminal(bus, "account", "import-key", "dev/alice", "--replace") as terminal:
            terminal.read_until(b"not shown): ")
            terminal.write(KEY.encode() + b"\n")
            terminal.read_until(b"has its key")
            self.assertEqual(terminal.wait(), 0)
        self.assertNotIn(KEY.encode(), terminal.shown)
        self.assertEqual((bus.alice / "node/ckb/key").read_text(), KEY)
        # Given up, the terminal is as it was.
        with self.on_terminal(bus, "account", "import-key", "dev/alice", "--replace") as terminal:
            terminal.read_until(b"not shown): ")
            self.assertFalse(terminal.echoes())
            terminal.write(b"\x03")
            self.assertEqual(terminal.wait(), 128 + signal.SIGINT)
            self.assertTrue(terminal.echoes())

    def test_a_terminal_sees_how_a_switch_goes(self):
        bus = self.bus_with_alice(faults=[{"call": "fiber_start", "nth": 1, "do": f"slow:{2 * SLOWER}s"}])
        with self.on_terminal(bus, "switch", "dev/alice") as terminal:
            terminal.read_until(b"dev/alice switching, 1 s")
            terminal.read_until(b"dev/alice is ready, run 1")
            self.assertEqual(terminal.wait(), 0)

    def on_terminal(self, bus, *words):
        return Terminal([PROGRAMS / "nodebus", *words, "--config", str(bus.config)])


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, words):
        self.shown = b""
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.execv(words[0], [str(word) for word in words])
        self.code = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        os.close(self.terminal)

    def write(self, text):
        os.write(self.terminal, text)

    def echoes(self):
        return bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO)

    def read_until(self, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            ready, _, _ = select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))
            assert ready, self.shown
            try:
                self.shown += os.read(self.terminal, 4096)
            except OSError:
                raise AssertionError(f"it ended: {self.shown}") from None

    def wait(self):
        """Its exit code; what it shows meanwhile is read, since a terminal that is full stops it."""
        def ended():
            pid, status = os.waitpid(self.child, os.WNOHANG)
            return (os.waitstatus_to_exitcode(status),) if pid else None
        self.code = wait_for(ended, "the end of the program")[0]
        return self.code


if __name__ == "__main__":
    unittest.main()
