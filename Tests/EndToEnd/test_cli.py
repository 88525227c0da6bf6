"""The command line: what it prints, where, and how it ends."""

import json
import os
import re
import subprocess
import time
import unittest

from bus import PATIENCE, PROGRAMS, PROJECT, SANITIZED, BusTest, wait_for

COMMANDS = ["run", "status", "watch", "call", "switch", "account", "check", "version"]


class CommandLineTest(BusTest):
    def setUp(self):
        self.bus = self.make_bus()

    def nodebus(self, *words, seconds=PATIENCE):
        """Runs a command to its end: exit code, stdout, stderr."""
        done = subprocess.run(
            [PROGRAMS / "nodebus", *words], capture_output=True, text=True, timeout=seconds, cwd=self.bus.directory,
            stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def at_bus(self, command, *words):
        """A command that talks to this test's supervisor and has to succeed: its stdout."""
        code, out, error = self.nodebus(command, "--config", str(self.bus.config), *words)
        self.assertEqual(code, 0, error)
        return out

    def refused(self, code, *words):
        """A command that has to end with this code: its stderr, which must not be empty, nor be a crash."""
        found, out, error = self.nodebus(*words)
        self.assertEqual(found, code, (out, error))
        self.assertTrue(error.strip(), "it says why")
        self.assertEqual(out, "", "a fault is said on stderr")
        return error

    # Help and usage

    def test_every_command_has_help(self):
        code, out, _ = self.nodebus("--help")
        self.assertEqual(code, 0)
        for command in COMMANDS:
            self.assertRegex(out, rf"(?m)^\s*{command}\s")
            code, help, error = self.nodebus(command, "--help")
            self.assertEqual((code, error), (0, ""))
            self.assertIn(f"nodebus {command}", help)
            self.assertLessEqual(max(len(line) for line in help.splitlines()), 120)
        codes = re.findall(r"(?m)^\| (\d+) \| (.*) \|$", (PROJECT / "README.md").read_text())
        self.assertGreater(len(codes), 5)
        for code, meaning in codes:
            self.assertRegex(out, rf"(?m)^\s*{code}\s+{re.escape(meaning)}$")

    def test_version(self):
        code, out, _ = self.nodebus("version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"nodebus \d+\.\d+\.\d+")

    def test_what_is_not_understood(self):
        self.refused(2)
        self.assertIn("statsu", self.refused(2, "statsu"))
        self.assertIn("--frobnicate", self.refused(2, "status", "--frobnicate"))
        self.assertIn("--config", self.refused(2, "status", "--config"))
        self.refused(2, "version", "5")
        self.refused(2, "call")
        self.refused(2, "watch", "--since", "yesterday")
        self.refused(2, "watch", "--count", "0")
        self.refused(2, "run", "now")
        for endpoint in ("commands.sock", "ipc://", "http://127.0.0.1:80"):
            self.assertIn(endpoint, self.refused(2, "status", "--commands", endpoint))
            self.assertIn(endpoint, self.refused(2, "watch", "--commands", "ipc:///c", "--events", endpoint))

    # Without a supervisor

    def test_no_supervisor_is_said_within_two_seconds(self):
        for command in [["status"], ["call", "bus.ping"], ["watch"]]:
            with self.subTest(command=command):
                began = time.monotonic()
                error = self.refused(3, command[0], "--config", str(self.bus.config), *command[1:])
                self.assertLess(time.monotonic() - began, 2.0 if not SANITIZED else 8.0)
                self.assertIn(self.bus.events if command == ["watch"] else self.bus.commands, error)

    def test_a_socket_that_nobody_serves_is_no_supervisor(self):
        self.bus.start()
        self.bus.kill_supervisor()
        self.refused(3, "status", "--config", str(self.bus.config))

    def test_check(self):
        code, out, error = self.nodebus("check", "--config", str(self.bus.config))
        self.assertEqual((code, error), (0, ""))
        self.assertFalse(self.bus.root.exists(), "nothing was made")
        text = self.bus.config.read_text()
        self.bus.config.write_text(text.replace('"dev/demo"', '"main/demo"').replace('"1s"', '"1 s"').replace(
            '"root"', '"roots"'))
        error = self.refused(11, "check", "--config", str(self.bus.config))
        faults = re.findall(r"(?m)^.*nodebus\.yml:\d+:\d+: (\S+):", error)
        self.assertLessEqual({"root", "roots", "bus.heartbeat", "start"}, set(faults), "all of them at once")
        self.refused(10, "check", "--config", "nowhere.yml")

    def test_the_project_s_own_configuration_is_good(self):
        code, _, error = self.nodebus("check", "--config", str(PROJECT / "config/nodebus.yml"))
        self.assertEqual((code, error), (0, ""))

    # With one

    def test_status(self):
        self.bus.start()
        out = self.at_bus("status")
        self.assertRegex(out, r"(?m)^\s*state\s+ready$")
        self.assertRegex(out, r"(?m)^\s*simulated\s+true$")
        self.assertNotIn("\x1b", out, "no colours where no terminal is")
        status = json.loads(self.at_bus("status", "--json"))
        self.assertEqual((status["state"], status["account"]), ("ready", "demo"))
        self.assertEqual(json.loads(self.nodebus("status", "--commands", self.bus.commands, "--json")[1])["run"], 1)

    def test_call(self):
        self.bus.start()
        self.assertEqual(json.loads(self.at_bus("call", "bus.ping")), {})
        page = json.loads(self.at_bus("call", "events.read", "from=oldest", "limit=2"))
        self.assertEqual([event["header"]["seq"] for event in page["events"]], [1, 2])
        same = json.loads(self.at_bus("call", "events.read", '{"from": "oldest", "limit": 2}'))
        self.assertEqual(same["events"], page["events"])
        kinds = json.loads(self.at_bus("call", "events.read", "after=0", 'kinds=["NodeStarting"]'))
        self.assertEqual([event["header"]["kind"] for event in kinds["events"]], ["NodeStarting"])
        invoice = json.loads(self.at_bus(
            "call", "fiber.new_invoice", "amount=1.5 CKB", "currency=Fibt", 'description="42"'))
        self.assertIn("invoice", invoice)

    def test_a_refusal_is_told(self):
        self.bus.start()
        config = ["--config", str(self.bus.config)]
        error = self.refused(1, "call", *config, "fiber.get_payment", "payment_hash=0x12")
        self.assertIn("payment_hash", error)
        self.assertIn("invalid_params", error)
        self.assertIn("method_not_found", self.refused(1, "call", *config, "fiber.nothing"))
        self.refused(2, "call", *config, "bus.ping", "{")
        self.refused(2, "call", *config, "bus.ping", "word")
        self.refused(2, "call", *config, "bus.ping", "a=1", "a=2")

    def test_watch_prints_one_line_an_event(self):
        self.bus.start()
        self.bus.wait_for_kind("ChannelReady")
        out = self.at_bus("watch", "--since", "0", "--count", "5")
        lines = out.splitlines()
        self.assertEqual(len(lines), 5)
        self.assertNotIn("\x1b", out)
        for seq, line in enumerate(lines, start=1):
            self.assertRegex(line, rf"^\S+\s+{seq}\s+dev/demo/\w+/\w+\s")
        places = {re.match(r".*?dev/demo/\S+\s+", line).end() for line in lines}
        self.assertEqual(len(places), 1, "aligned")

    def test_watch_as_json_is_what_was_published(self):
        self.bus.start()
        self.bus.wait_for_kind("ChannelReady")
        events = self.bus.read_all()
        out = self.at_bus("watch", "--json", "--since", "2", "--count", str(len(events) - 2))
        for line, event in zip(out.splitlines(), events[2:], strict=True):
            self.assertEqual(line, '{"topic":"%s","header":%s,"payload":%s}' % (
                event.topic, event.header_bytes.decode(), event.payload_bytes.decode()))

    def watch(self, *words):
        watching = subprocess.Popen(
            [PROGRAMS / "nodebus", "watch", "--config", self.bus.config, *words], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(watching.stderr.close)
        self.addCleanup(watching.stdout.close)
        self.addCleanup(watching.wait)
        self.addCleanup(watching.kill)
        return watching

    def test_watch_follows_prefixes(self):
        self.bus.start()
        self.bus.wait_for_kind("ChannelReady")
        head = self.bus.status()["head"]
        watching = self.watch("--json", "--since", str(head), "--count", "3", "dev/demo/fiber/Bell", "dev/demo/fiber/G")
        self.bus.emit(2, kind="Whistle")
        self.bus.emit(2, kind="Bell")
        self.bus.emit(1, kind="Gong")
        out, error = watching.communicate(timeout=PATIENCE)
        self.assertEqual(watching.returncode, 0, error)
        kinds = sorted(json.loads(line)["header"]["kind"] for line in out.splitlines())
        self.assertEqual(kinds, ["Bell", "Bell", "Gong"])

    def test_watch_survives_a_restart_of_the_supervisor(self):
        self.bus.start()
        self.bus.wait_for_kind("ChannelReady")
        watching = self.watch("--json", "--since", "0", "dev/demo/")
        first = json.loads(watching.stdout.readline())
        self.assertEqual(first["header"]["seq"], 1)
        self.assertEqual(self.bus.terminate(), 0)
        self.bus.start()
        head = self.bus.status()["head"]
        seqs = [1]
        while seqs[-1] < head:
            seqs.append(json.loads(watching.stdout.readline())["header"]["seq"])
        self.assertEqual(seqs, list(range(1, head + 1)))

    def test_watch_ends_when_nobody_reads_it(self):
        self.bus.start()
        watching = self.watch("--since", "0")
        watching.stdout.readline()
        watching.stdout.close()
        self.bus.emit(1000)
        wait_for(lambda: watching.poll() is not None, "the end of a watch whose pipe is closed")

    def test_the_configuration_may_be_named_in_the_environment(self):
        self.assertIn("config/nodebus.yml", self.refused(10, "status"))
        os.environ["NODEBUS_CONFIG"] = str(self.bus.config)
        self.addCleanup(os.environ.pop, "NODEBUS_CONFIG")
        self.assertIn(self.bus.commands, self.refused(3, "status"))
        self.assertIn("nowhere.yml", self.refused(10, "status", "--config", "nowhere.yml"))


if __name__ == "__main__":
    unittest.main()
