"""Switching between accounts: one node at a time, never the wrong data, whatever dies on the way.

The worlds here have two simulated networks, `dev` and `test`, with two accounts each.
"""

import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import threading
import time
import unittest

import zmq

from bus import BOB, CAROL, LONG, PATIENCE, PROGRAMS, SANITIZED, Bus, BusError, BusTest, is_alive, wait_for

PROFILES = [("dev", "demo"), ("dev", "second"), ("test", "demo"), ("test", "second")]
SWITCHES = 200 if LONG and not SANITIZED else 20
# Calls that change what a supervisor leaves behind when it is killed: the disk's state, locks, sockets, processes.
STEPS = "fdatasync,flock,pwrite64,vfork,clone3,pidfd_send_signal,sendto,fallocate,rename"


class TwoNetworks(Bus):
    """A bus with a second simulated network."""

    def write_node_config(self, peers=(BOB, CAROL), confirm="50ms", faults=(), network="dev", test_faults=()):
        super().write_node_config(peers, confirm, faults, network)
        node = json.loads(self.node_config.read_text())
        node["sim"]["faults"] = list(test_faults)
        (self.directory / "test.yml").write_text(json.dumps(node) + "\n")

    def write_config(self, *arguments, **options):
        super().write_config(*arguments, **options)
        config = json.loads(self.config.read_text())
        config["networks"]["test"] = dict(config["networks"]["dev"], config="test.yml")
        self.config.write_text(json.dumps(config, indent=1) + "\n")

    def make_accounts(self):
        for network, account in PROFILES[1:]:
            self.call("account.create", {"network": network, "account": account})

    def switch(self, network, account, **params):
        return self.call("bus.switch", {"network": network, "account": account, **params}, seconds=PATIENCE * 2)

    def journal(self, network, account):
        """Every event of an account, whoever is active."""
        events, after = [], 0
        while True:
            page = self.read_page(after=after, limit=10000, network=network, account=account)
            events += page["events"]
            after = page["next"]
            if after >= page["head"]:
                return events

    def chosen(self):
        """What is on disk about the choice, read while no supervisor runs: the profile that the next start must begin with."""
        with sqlite3.connect(self.root / "supervisor.sqlite") as registry:
            network, account, plan = registry.execute("SELECT network, account, plan FROM active").fetchone()
        registry.close()
        if plan is None:
            return f"{network}/{account}"
        plan = json.loads(plan)
        return plan["to"] if plan["step"] == "starting" else plan["from"]


class SwitchTest(BusTest):
    def make_switching_bus(self, **options):
        bus = TwoNetworks(**{"stop_timeout": "5s", "restart": {"first": "50ms", "max": "100ms", "limit": 100_000}, **options})
        self.addCleanup(self.finish, bus)
        bus.start()
        bus.make_accounts()
        return bus

    def check_journals(self, bus):
        """Each account's sequence is gapless and holds nothing of another's."""
        keys = {}
        for network, account in PROFILES:
            try:
                events = bus.journal(network, account)
            except BusError as error:
                # Never switched to.
                self.assertEqual(error.name, "not_found")
                continue
            self.assertEqual([event.seq for event in events], list(range(1, len(events) + 1)))
            last = {}
            for event in events:
                self.assertTrue(event.topic.startswith(f"{network}/{account}/"), event)
                self.assertEqual((event.header["network"], event.header["account"]), (network, account))
                self.assertEqual(event.prev, last.get(event.topic, 0))
                last[event.topic] = event.seq
                if event.kind == "NetworkStarted":
                    keys.setdefault((network, account), set()).add(event.payload["pubkey"])
        # A node's own key shows whose events they are: one an account, none in two.
        self.assertTrue(all(len(own) == 1 for own in keys.values()), keys)
        self.assertEqual(len(set.union(*keys.values())), len(keys))

    def test_subscribers_stay_and_see_the_whole_of_it_in_order(self):
        bus = self.make_switching_bus()
        subscription = bus.subscribe("")
        answer = bus.switch("test", "second")
        self.assertEqual((answer["state"], answer["run"], answer["changed"]), ("ready", 1, True))
        wanted = ["bus/SwitchStarted", "dev/demo/supervisor/NodeStopping", "dev/demo/supervisor/NodeExited",
                  "test/second/supervisor/NodeStarting", "test/second/supervisor/NodeReady", "bus/SwitchCompleted"]
        seen = []
        while "bus/SwitchCompleted" not in seen:
            event = subscription.receive(lambda event: True)
            if event.topic in wanted:
                seen.append(event.topic)
        self.assertEqual(seen, wanted)
        status = bus.status()
        self.assertEqual((status["network"], status["account"], status["state"]), ("test", "second", "ready"))
        exit = bus.journal("dev", "demo")[-1]
        self.assertEqual((exit.kind, exit.payload["cause"]), ("NodeExited", "switch"))
        # Heartbeats are those of the journal in use.
        beat = subscription.receive(lambda event: event.topic.endswith("/supervisor/Heartbeat"), heartbeats=True)
        self.assertEqual(beat.topic, "test/second/supervisor/Heartbeat")
        subscription.close()

    def test_the_choice_survives_a_restart(self):
        bus = self.make_switching_bus()
        bus.switch("test", "demo")
        self.assertEqual(bus.terminate(), 0)
        status = bus.start()
        self.assertEqual((status["network"], status["account"]), ("test", "demo"))

    def test_to_where_it_is_already_nothing_changes(self):
        bus = self.make_switching_bus()
        pid = bus.status()["pid"]
        self.assertFalse(bus.switch("dev", "demo")["changed"])
        self.assertEqual(bus.status()["pid"], pid)

    def test_bad_targets_are_refused_and_nothing_changes(self):
        bus = self.make_switching_bus()
        pid = bus.status()["pid"]
        for params, code in [
            ({}, -32602), ({"network": "dev"}, -32602), ({"network": "dev", "account": "../demo"}, -32602),
            ({"network": "dev", "account": "nobody"}, -32009), ({"network": "moon", "account": "demo"}, -32009),
            ({"network": "dev", "account": 5}, -32602), ({"network": "dev", "account": "second", "on_failure": "pray"}, -32602),
            ({"network": "bus", "account": "demo"}, -32602), ({"network": "dev", "account": "a\0b"}, -32602),
        ]:
            with self.assertRaises(BusError, msg=params) as caught:
                bus.call("bus.switch", params)
            self.assertEqual(caught.exception.code, code, params)
        self.assertEqual((bus.status()["pid"], bus.status()["state"]), (pid, "ready"))

    def test_one_at_a_time_and_calls_meanwhile_say_so(self):
        bus = self.make_switching_bus()
        bus.fault("fiber_stop", "slow:1s")
        outcome = []
        switcher = threading.Thread(target=lambda: outcome.append(bus.switch("test", "demo")))
        switcher.start()
        bus.wait_for_state("switching")
        for method, params in [("bus.switch", {"network": "dev", "account": "second"}), ("node.stop", {}), ("node.start", {}),
                               ("fiber.node_info", {})]:
            error = self.assert_error(-32005, "switching", bus.call, method, params)
            self.assertTrue(error.data["retryable"])
        switcher.join(PATIENCE)
        self.assertEqual(outcome[0]["state"], "ready")

    def test_a_call_in_flight_finishes_first(self):
        bus = self.make_switching_bus()
        bus.fault("fiber_node_info", "slow:1s")
        outcome = []
        caller = threading.Thread(target=lambda: outcome.append(bus.call("fiber.node_info")))
        caller.start()
        # A second native call waits behind the slow one; that it does not come back shows that the slow one runs.
        def is_held_up():
            try:
                bus.call("fiber.list_peers", timeout_ms=50)
            except BusError as error:
                return error.name == "timeout"
            return False
        wait_for(is_held_up, "the slow call")
        bus.switch("test", "demo")
        caller.join(PATIENCE)
        self.assertIn("pubkey", outcome[0])

    def test_a_node_that_does_not_come_up_brings_the_old_one_back(self):
        bus = self.make_switching_bus()
        bus.write_node_config(test_faults=[{"call": "fiber_start", "nth": 1, "do": "status:3"}])
        subscription = bus.subscribe("bus/")
        error = self.assert_error(-32016, "switch_failed", bus.switch, "test", "demo")
        self.assertEqual((error.data["network"], error.data["account"]), ("dev", "demo"))
        status = bus.status()
        self.assertEqual((status["network"], status["account"], status["state"]), ("dev", "demo", "ready"))
        self.assertEqual(subscription.receive_kind("SwitchFailed").payload["now"], "dev/demo")
        self.assertEqual(len(bus.host_pids()), 1)
        self.assertEqual(bus.terminate(), 0)
        status = bus.start()
        self.assertEqual((status["network"], status["account"]), ("dev", "demo"))
        subscription.close()

    def test_with_stay_the_new_one_is_tried_again(self):
        bus = self.make_switching_bus()
        bus.write_node_config(test_faults=[{"call": "fiber_start", "nth": 1, "do": "status:3"}])
        error = self.assert_error(-32016, "switch_failed", bus.switch, "test", "demo", on_failure="stay")
        self.assertEqual((error.data["network"], error.data["account"]), ("test", "demo"))
        bus.write_node_config()
        status = bus.wait_for_state("ready")
        self.assertEqual((status["network"], status["account"]), ("test", "demo"))

    def test_an_orphan_ends_before_a_node_of_another_account_starts(self):
        def at_once(bus):
            return bus.switch("test", "demo")

        def after_a_stop(bus):
            bus.call("node.stop")
            return bus.switch("test", "demo")

        def after_another_supervisor(bus):
            # It is told to switch and dies before the orphan does.
            self.assertEqual(bus.terminate(), 0)
            with sqlite3.connect(bus.root / "supervisor.sqlite") as registry:
                registry.execute("UPDATE active SET network = 'test'")
            registry.close()
            return bus.start()

        for turn in [at_once, after_a_stop, after_another_supervisor]:
            with self.subTest(turn=turn.__name__):
                bus = self.make_switching_bus()
                bus.fault("fiber_stop", "slow:2s")
                orphan = bus.status()["pid"]
                bus.kill_supervisor()
                bus.start("starting")
                self.assertEqual(turn(bus)["state"], "ready")
                self.assertFalse(is_alive(orphan))
                status = bus.status()
                self.assertEqual((status["network"], bus.host_pids()), ("test", [status["pid"]]))
                self.check_journals(bus)

    @unittest.skipUnless(os.geteuid() == 0, "needs two other users")
    def test_who_only_calls_itself_a_host_holds_nobody_up(self):
        """A supervisor that is not root sees no descriptors of hosts and goes by their command lines, which anybody can write."""
        another = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*another, "test", "-x", PROGRAMS / "nodebus"]).returncode != 0:
            self.skipTest("the programs are where another user cannot go")
        bus = TwoNetworks()
        self.addCleanup(self.finish, bus)
        for path in [bus.directory, *bus.directory.iterdir()]:
            os.chown(path, 65534, 65534)
        claims = ["--data", str(bus.profile / "node"), "--supervisor", "1"]
        impostor = subprocess.Popen(["nodebus-fiber", "-c", "print('up', flush=True); input()", *claims], user=65533,
                                    executable="/usr/bin/python3", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(impostor.stdout.readline(), b"up\n")
            for _ in range(2):
                bus.spawn(through=another)
                bus.wait_for_state("ready")
                self.assertEqual(bus.terminate(), 0)
            self.assertIsNone(impostor.poll())
        finally:
            impostor.kill()
            impostor.wait()
            impostor.stdin.close()
            impostor.stdout.close()

    def test_a_switch_that_cannot_go_back_stays(self):
        """What the plan of a supervisor that was killed names as the way back may be gone from the configuration."""
        bus = self.make_switching_bus()
        bus.switch("test", "demo")
        bus.kill_supervisor()
        wait_for(lambda: not bus.host_pids(), "the end of the host")
        plan = {"from": "test/demo", "to": "dev/demo", "on_failure": "rollback", "step": "starting"}
        with sqlite3.connect(bus.root / "supervisor.sqlite") as registry:
            registry.execute("UPDATE active SET network = 'dev', plan = ?", (json.dumps(plan),))
        registry.close()
        config = json.loads(bus.config.read_text())
        del config["networks"]["test"]
        bus.config.write_text(json.dumps(config))
        bus.write_node_config(faults=[{"call": "fiber_start", "nth": 1, "do": "status:3"}])
        bus.start("backing_off")
        self.assertIn("there is no way back to test/demo", bus.log())
        bus.write_node_config()
        self.assertEqual(bus.wait_for_state("ready")["network"], "dev")

    def test_an_account_that_another_process_holds_is_not_entered(self):
        bus = self.make_switching_bus()
        held = bus.root / "test" / "demo"
        holder = subprocess.Popen(["flock", held / ".lock", "-c", "echo held; read line"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdin.close)
        self.assertEqual(holder.stdout.readline(), b"held\n")
        error = self.assert_error(-32016, "switch_failed", bus.switch, "test", "demo")
        self.assertEqual(error.data["reason"], "conflict")
        self.assertEqual(bus.status()["state"], "ready")

    def test_switching_under_a_storm_with_kills_at_random(self):
        seed = int(os.environ.get("NODEBUS_SEED", random.randrange(1 << 32)))
        print(f"{self.id()}: NODEBUS_SEED={seed}")
        chance = random.Random(seed)
        bus = self.make_switching_bus(stop_timeout="2s")
        over = threading.Event()
        most = []

        def watch():
            while not over.is_set():
                most.append(len(bus.host_pids()))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            for _ in range(SWITCHES):
                bus.wait_for_state("ready")
                try:
                    bus.emit(2000)
                except BusError as error:
                    # A host that was just killed may still be called ready.
                    self.assertIn(error.name, ("node_not_running", "outcome_unknown"))
                target = chance.choice(PROFILES)
                victim = chance.choice(["host", "supervisor", None, None])
                mover = threading.Thread(target=self.try_switch, args=(bus, target))
                mover.start()
                time.sleep(chance.random() * 0.15)
                killed = None
                if victim == "host":
                    for killed in bus.host_pids():
                        os.kill(killed, 9)
                elif victim == "supervisor":
                    bus.kill_supervisor()
                    stated = bus.chosen()
                    bus.spawn()
                    mover.join(PATIENCE)
                    status = bus.wait_for_state("ready")
                    self.assertEqual(f"{status['network']}/{status['account']}", stated)
                mover.join(PATIENCE)
                # Not the one whose end the supervisor has not seen yet.
                bus.wait_for_ready(other_than=killed)
        finally:
            over.set()
            watcher.join()
        self.assertEqual(max(most), 1, "hosts at the same time")
        self.check_journals(bus)

    def try_switch(self, bus, target):
        """A switch whose supervisor may die: then nobody answers, and nobody waits."""
        process = bus.process
        with bus.context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(bus.commands)
            socket.send_json({"jsonrpc": "2.0", "id": 1, "method": "bus.switch",
                              "params": {"network": target[0], "account": target[1]}})
            deadline = time.monotonic() + PATIENCE
            while process.poll() is None and time.monotonic() < deadline and not socket.poll(50):
                pass

    def test_kill_after_each_step(self):
        """Each system call of the supervisor that leaves something behind is a step: the supervisor is killed at the first, the second, …"""
        tried = 0
        for call in STEPS.split(",") if LONG else ["fdatasync", "flock"]:
            for nth in range(1, 40):
                if not self.kill_at(call, nth):
                    break
                tried += 1
        print(f"{self.id()}: killed at {tried} steps")
        self.assertGreater(tried, 2)

    def kill_at(self, call, nth):
        """False when a switch has no such step any more."""
        bus = TwoNetworks(stop_timeout="2s")
        try:
            bus.start()
            bus.call("account.create", {"network": "test", "account": "demo"})
            with bus.killed_at(call, nth):
                self.try_switch(bus, ("test", "demo"))
                if bus.process.poll() is None:
                    wait_for(lambda: bus.process.poll() is not None or (bus.status_or_none() or {}).get("state") == "ready", "an end")
                was_killed = bus.process.poll() is not None
            if not was_killed:
                return False
            stated = bus.chosen()
            status = bus.start()
            self.assertEqual(f"{status['network']}/{status['account']}", stated, (call, nth))
            self.assertEqual(len(bus.host_pids()), 1, (call, nth))
            self.check_journals(bus)
            self.assertEqual(bus.terminate(), 0)
            return True
        finally:
            bus.close()

    def test_a_host_opens_nothing_outside_its_account(self):
        bus = self.make_switching_bus()
        traces = bus.directory / "traces"
        traces.mkdir()
        with bus.traced("-ff", "-s", "300", "-o", traces / "t", "-e", "trace=%file,clone,clone3,vfork,fork"):
            for network, account in [("test", "demo"), ("dev", "second")]:
                bus.switch(network, account)
                bus.call("fiber.new_invoice", {"amount": "1 CKB"})
            bus.switch("test", "second")
        files = {path.name.removeprefix("t."): path.read_text(errors="replace") for path in traces.iterdir()}
        hosts = 0
        for first, text in files.items():
            started = re.search(r'execve\("[^"]*nodebus-fiber".*?"--data", "([^"]*)"', text)
            if not started:
                continue
            hosts += 1
            prefix = os.path.dirname(started.group(1))
            threads, own = [first], []
            while threads:
                trace = files.get(threads.pop(), "")
                own.append(trace[trace.find("execve(") if trace is text else 0:])
                threads += re.findall(r"^clone3?\(.*= (\d+)$", own[-1], re.M)
            touched = re.findall(rf'^(\w+)\(.*?"({re.escape(str(bus.root))}[^"]*)"', "".join(own), re.M)
            self.assertIn("openat", {call for call, _ in touched}, "a host that opens nothing of its own")
            for call, path in touched:
                # What leads to its own directory may be looked up, never opened.
                leads_there = prefix.startswith(path + "/") and call in ("readlink", "lstat", "stat", "newfstatat")
                self.assertTrue(leads_there or call == "execve" or path == prefix or path.startswith(prefix + "/"),
                                f"the host of {prefix}: {call} of {path}")
        self.assertEqual(hosts, 3)

    @unittest.skipIf(SANITIZED, "the figures of a sanitizer build mean nothing")
    def test_the_time_of_a_switch(self):
        bus = self.make_switching_bus()
        times = []
        for turn in range(11):
            began = time.monotonic()
            bus.switch(*PROFILES[turn % 2 * 2])
            times.append(time.monotonic() - began)
        syncs = []
        with open(bus.directory / "sync", "wb") as file:
            for _ in range(50):
                file.write(b"x" * 4096)
                file.flush()
                began = time.monotonic()
                os.fsync(file.fileno())
                syncs.append(time.monotonic() - began)
        # The first goes nowhere.
        switch = statistics.median(times[1:])
        print(f"switch: median {switch * 1000:.0f} ms beside a median fsync of {statistics.median(syncs) * 1000:.1f} ms")
        self.assertLess(switch, 1.0)
        self.check_journals(bus)


if __name__ == "__main__":
    unittest.main()
