"""The world of the end-to-end tests: a supervisor on a scratch root, spoken to with plain ZeroMQ sockets.

`Bus` starts the built programs and owns everything they leave behind; `BusTest` is a test case with one bus that checks at its end that
nothing was left: no host, no zombie, no socket file, no string of the native library. Nothing here sleeps for luck: `wait_for` asks for a
condition until a deadline.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import zmq

import subscriber

PROJECT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("NODEBUS_BIN", PROJECT / ".build/release")).resolve()
# Longer crash runs, as `supervisor/test --long` asks for.
LONG = os.environ.get("NODEBUS_LONG") == "1"
# Programs built with ThreadSanitizer are about ten times slower, and the figures of a sanitizer build mean nothing.
SANITIZED = os.environ.get("NODEBUS_SANITIZED") == "1"
PATIENCE = 60.0 if SANITIZED else 15.0

BOB = {"name": "bob", "connect": True, "channel": "500 CKB"}
CAROL = {"name": "carol", "connect": False}


class BusError(Exception):
    """An error reply: `code`, `name` and the whole `data`."""

    def __init__(self, error):
        super().__init__(f"{error['data']['name']} ({error['code']}): {error['message']}")
        self.code = error["code"]
        self.message = error["message"]
        self.data = error["data"]
        self.name = error["data"]["name"]


def wait_for(condition, what, seconds=None):
    """Asks until `condition()` is truthy and answers its value; fails after the deadline, saying what was waited for."""
    deadline = time.monotonic() + (PATIENCE if seconds is None else seconds)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}; last answer: {value!r}")
        time.sleep(0.005)


def is_alive(pid):
    """Whether a process runs; a zombie does not."""
    state = process_state(pid)
    return state is not None and state != "Z"


def process_state(pid):
    """The state letter of a process; None when there is none of that pid."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.rpartition(")")[2].split()[0]


def resident_bytes(pid):
    """The resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Event:
    """One event as it was received: three frames, kept as the bytes they were."""

    __slots__ = ("topic", "header_bytes", "payload_bytes", "_header")

    def __init__(self, topic, header_bytes, payload_bytes):
        self.topic = topic
        self.header_bytes = header_bytes
        self.payload_bytes = payload_bytes
        self._header = None

    @property
    def header(self):
        if self._header is None:
            self._header = json.loads(self.header_bytes)
        return self._header

    @property
    def payload(self):
        return json.loads(self.payload_bytes)

    @property
    def seq(self):
        return self.header["seq"]

    @property
    def prev(self):
        return self.header["prev"]

    @property
    def kind(self):
        return self.header["kind"]

    @property
    def source(self):
        return self.header["source"]

    @property
    def frames(self):
        return (self.topic.encode(), self.header_bytes, self.payload_bytes)

    def __repr__(self):
        return f"<{self.topic} {self.header_bytes.decode()} {self.payload_bytes[:200]!r}>"


class Subscription:
    """A plain SUB socket; the welcome has come before it is handed out."""

    def __init__(self, context, endpoint, prefixes, options=(), wait=True):
        self.socket = context.socket(zmq.SUB)
        self.socket.linger = 0
        self.socket.rcvhwm = 0
        for option, value in options:
            self.socket.setsockopt(option, value)
        self.socket.connect(endpoint)
        for prefix in prefixes:
            self.socket.subscribe(prefix)
        if wait:
            self.wait_until_subscribed()

    def wait_until_subscribed(self):
        """`bus/` is subscribed last, and subscriptions of one socket are taken in order: after its welcome all of them count."""
        self.socket.subscribe("bus/")
        frames = self.receive_frames(PATIENCE)
        while frames[0] != b"bus/Welcome":
            frames = self.receive_frames(PATIENCE)
        return frames

    def receive_frames(self, seconds=None):
        """The next message; fails after the deadline."""
        seconds = PATIENCE if seconds is None else seconds
        if not self.socket.poll(int(seconds * 1000)):
            raise AssertionError(f"no message within {seconds} s")
        return self.socket.recv_multipart()

    def receive(self, accept=lambda event: True, seconds=None, heartbeats=False):
        """The next event that `accept` takes; others are passed over. Bus topics and heartbeats only on request."""
        deadline = time.monotonic() + (PATIENCE if seconds is None else seconds)
        seen = []
        while True:
            left = deadline - time.monotonic()
            if left < 0 or not self.socket.poll(max(1, int(left * 1000))):
                raise AssertionError(f"the event did not come; what came: {seen[-20:]}")
            frames = self.socket.recv_multipart()
            if len(frames) != 3:
                continue
            event = Event(frames[0].decode(), frames[1], frames[2])
            if event.topic.endswith("/Heartbeat") and not heartbeats:
                continue
            if accept(event):
                return event
            seen.append(event.topic)

    def receive_kind(self, kind, seconds=None):
        """The next event of a kind."""
        return self.receive(lambda event: event.topic.rpartition("/")[2] == kind, seconds, kind == "Heartbeat")

    def close(self):
        self.socket.close()


class Bus:
    """A supervisor on a scratch root of its own, simulated node included."""

    def __init__(self, peers=(BOB, CAROL), confirm="50ms", faults=(), restart=None, heartbeat="1s", library="sim",
                 chains=None, environment=None, **timeouts):
        # The networks and the chain of each; the first account is dev/demo.
        self.chains = chains or {"dev": "testnet"}
        # Short: the path of a Unix socket has at most 107 bytes.
        self.directory = Path(tempfile.mkdtemp(prefix="nb-", dir="/tmp"))
        self.root = self.directory / "data"
        self.events = f"ipc://{self.directory}/run/e"
        self.commands = f"ipc://{self.directory}/run/c"
        self.config = self.directory / "nodebus.yml"
        self.node_config = self.directory / "dev.yml"
        self.log_path = self.directory / "supervisor.log"
        self.profile = self.root / "dev" / "demo"
        self.environment = environment or {}
        self.context = zmq.Context()
        self.process = None
        for network in self.chains:
            self.write_node_config(peers, confirm, faults, network)
        self.write_config(library, heartbeat, restart or {}, timeouts)

    def write_node_config(self, peers=(BOB, CAROL), confirm="50ms", faults=(), network="dev"):
        """The node's own configuration; a node reads it when it starts."""
        node = {
            "fiber": {"listening_addr": "/ip4/127.0.0.1/tcp/0", "chain": self.chains[network]},
            "ckb": {"rpc_url": "http://127.0.0.1:8114/"},
            "services": ["fiber", "ckb"],
            "sim": {"peers": list(peers), "confirm": confirm, "faults": list(faults)},
        }
        # JSON is YAML, and quoting is no question then.
        (self.directory / f"{network}.yml").write_text(json.dumps(node, indent=1) + "\n")

    def write_config(self, library="sim", heartbeat="1s", restart=None, timeouts=None):
        slow = 6 if SANITIZED else 1
        supervision = {
            "start_timeout": f"{10 * slow}s", "stop_timeout": f"{5 * slow}s",
            "call_timeout": f"{10 * slow}s", "hang_timeout": f"{60 * slow}s",
        }
        supervision.update(timeouts or {})
        supervision["restart"] = {"first": "50ms", "factor": 2, "max": "1s", "jitter": 0.1, "limit": 100,
                                  "window": "10m", "stable": "60s", "then_every": "5m"} | (restart or {})
        self.config.write_text(json.dumps({
            "root": "data",
            "bus": {"events": [self.events], "commands": [self.commands], "heartbeat": heartbeat},
            "networks": {network: {"host": "fiber", "library": library, "config": f"{network}.yml"}
                         for network in self.chains},
            "start": "dev/demo",
            "supervision": supervision,
        }, indent=1) + "\n")

    # The supervisor's process

    def spawn(self, through=(), output=None):
        """Starts the supervisor and waits for nothing. `through`: a command that becomes it; `output`: where it prints, other than its log."""
        log = open(self.log_path, "ab")
        environment = {**os.environ, **self.environment}
        output = log if output is None else output
        self.process = subprocess.Popen(
            [*through, PROGRAMS / "nodebus", "run", "--config", self.config], stdin=subprocess.DEVNULL, stdout=output,
            stderr=output, cwd=self.directory, env=environment)
        log.close()
        return self.process

    def start(self, state="ready"):
        """Starts the supervisor and waits for a state of the node."""
        self.spawn()
        return self.wait_for_state(state)

    def wait_for_state(self, *states, seconds=None):
        """Waits until bus.status tells one of these states, and answers the status."""
        def ask():
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"the supervisor ended with {self.process.returncode}:\n{self.log()}")
            status = self.status_or_none()
            return status if status and status["state"] in states else None
        return wait_for(ask, f"state {' or '.join(states)}", seconds)

    def wait_for_ready(self, other_than=None, seconds=None):
        """Waits for a ready node whose host is not `other_than`, and answers the status."""
        def ask():
            status = self.status_or_none()
            ready = status and status["state"] == "ready" and status["pid"] != other_than
            return status if ready else None
        return wait_for(ask, "a ready node", seconds)

    def wait_for_exit(self, seconds=None):
        """The exit code of the supervisor, which must end by itself within the deadline."""
        try:
            return self.process.wait(PATIENCE if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the supervisor did not end:\n{self.log()}") from None

    def terminate(self, number=signal.SIGTERM):
        """Asks the supervisor to end, and answers its exit code."""
        self.process.send_signal(number)
        return self.wait_for_exit()

    def kill_supervisor(self):
        """kill -9, and waits until the process is gone."""
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def traced(self, *arguments):
        """strace on all threads of the supervisor while the block runs; a fault that it injects may kill the supervisor at once."""
        tracer = subprocess.Popen(["strace", "-qq", *arguments, "-p", str(self.process.pid)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        status = Path(f"/proc/{self.process.pid}/status")
        try:
            wait_for(lambda: self.process.poll() is not None or "TracerPid:\t0" not in status.read_text(), "the tracer")
            yield
        finally:
            tracer.terminate()
            tracer.wait()

    @contextlib.contextmanager
    def killed_at(self, call, nth):
        """The supervisor is killed when a thread of it makes this system call for the nth time while the block runs."""
        with self.traced("-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={nth}"):
            yield

    def host_pids(self):
        """The hosts that run on this root, whoever their parent is."""
        return [pid for pid in pids() if b"nodebus-fiber" in command_line(pid)
                and str(self.root).encode() in command_line(pid) and is_alive(pid)]

    def zombies(self):
        """The children of the supervisor that nobody has waited for."""
        return [pid for pid in pids() if parent(pid) == self.process.pid and process_state(pid) == "Z"]

    def log(self):
        """What the supervisor has said so far."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    # Commands

    def request(self, frames, seconds=None):
        """One request of raw frames on a REQ socket of its own; the reply's frame as bytes."""
        with self.context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(self.commands)
            socket.send_multipart(frames)
            seconds = PATIENCE if seconds is None else seconds
            if not socket.poll(int(seconds * 1000)):
                raise AssertionError(f"no reply within {seconds} s to {frames!r:.200}")
            reply = socket.recv_multipart()
        assert len(reply) == 1, reply
        return reply[0]

    def ask(self, method, params=None, seconds=None, **members):
        """One call; the reply's frame as bytes."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **members}
        return self.request([json.dumps(request).encode()], seconds)

    def call(self, method, params=None, seconds=None, **members):
        """One call; its result, or BusError."""
        reply = json.loads(self.ask(method, params, seconds, **members))
        if "error" in reply:
            raise BusError(reply["error"])
        return reply["result"]

    def status(self):
        return self.call("bus.status")

    def status_or_none(self):
        """The status, or None while nobody answers."""
        try:
            return json.loads(self.ask("bus.status", seconds=0.5))["result"]
        except AssertionError:
            return None

    def emit(self, count, kind="Storm", bytes=120, per_second=0):
        """Lets the simulated node say `count` artificial events; answers at once."""
        return self.call("fiber.sim", {"emit": {
            "count": count, "kind": kind, "bytes": bytes, "per_second": per_second}})

    def fault(self, call, do, nth=1):
        """Arms a fault of the simulated node."""
        return self.call("fiber.sim", {"fault": {"call": call, "nth": nth, "do": do}})

    def counters(self):
        return self.call("fiber.sim", {"counters": {}})

    def read_page(self, **params):
        """One page of events.read, with the events' very bytes."""
        reply = self.ask("events.read", params)
        if b'"error"' in reply[:200]:
            parsed = json.loads(reply)
            if "error" in parsed:
                raise BusError(parsed["error"])
        page = subscriber.page(subscriber.members(reply.decode())["result"])
        page["events"] = [Event(*event) for event in page["events"]]
        return page

    def read_all(self, after=0):
        """Every event above `after`."""
        events = []
        while True:
            page = self.read_page(after=after, limit=10000)
            events += page["events"]
            after = page["next"]
            if after >= page["head"]:
                return events

    def read_kinds(self, *kinds):
        """Every event of these kinds so far."""
        return [event for event in self.read_all() if event.kind in kinds]

    def wait_for_kind(self, kind, count=1, seconds=None):
        """Waits until the journal holds so many events of a kind, and answers them."""
        return wait_for(lambda: (found := self.read_kinds(kind)) and len(found) >= count and found,
                        f"{count} events {kind}", seconds)

    def wait_until_quiet(self):
        """Waits for all that the first start of a node without peers says by itself; then the head moves only when a test wants it."""
        for kind in ["NodeReady", "NetworkStarted", "KeyEncrypted"]:
            self.wait_for_kind(kind)

    def subscribe(self, *prefixes, options=(), wait=True):
        """A plain SUB socket on these prefixes."""
        return Subscription(self.context, self.events, prefixes, options, wait)

    # The end

    def close(self):
        """Ends whatever is left, by force, and removes the scratch directory."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in self.host_pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.context.destroy(linger=0)
        shutil.rmtree(self.directory, ignore_errors=True)


class BusTest(unittest.TestCase):
    """A test with a bus. `make_bus` is called by the test itself, so that each says what world it wants."""

    def make_bus(self, **options):
        bus = Bus(**options)
        self.addCleanup(self.finish, bus)
        return bus

    def finish(self, bus):
        """What must be true at the end of every test, whatever it was about."""
        try:
            if not self.has_failed():
                self.check_end(bus)
        finally:
            if self.has_failed():
                print(f"--- log of the supervisor in {self.id()}\n{bus.log()[-8000:]}---", flush=True)
            bus.close()

    def check_end(self, bus):
        if bus.process is not None and bus.process.poll() is None:
            status = bus.status_or_none()
            if status and status["state"] == "ready":
                self.assertEqual(bus.counters()["strings_live"], 0, "strings of the library that nobody freed")
            self.assertEqual(bus.zombies(), [], "children that nobody waited for")
            self.assertEqual(bus.terminate(), 0, bus.log())
        wait_for(lambda: not bus.host_pids(), "the end of every host", PATIENCE)
        if bus.process is not None and bus.process.returncode == 0:
            left = sorted(path.name for path in (bus.directory / "run").glob("*"))
            self.assertEqual(left, [], "socket files that were left")

    def has_failed(self):
        # Within a cleanup only the result knows, and only this private member knows the result.
        result = self._outcome.result
        return any(getattr(test, "test_case", test) is self for test, _ in result.failures + result.errors)

    def assert_error(self, code, name, function, *arguments, **options):
        """Runs a call that has to fail with this code and name; answers the BusError."""
        with self.assertRaises(BusError) as caught:
            function(*arguments, **options)
        self.assertEqual((caught.exception.code, caught.exception.name), (code, name), str(caught.exception))
        return caught.exception


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def parent(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(")")[2].split()[1])


def wait_until_gone(pid, seconds=None):
    """Waits for the end of any process, child or not."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([descriptor], [], [], PATIENCE if seconds is None else seconds)
        assert ready, f"process {pid} did not end"
    finally:
        os.close(descriptor)
