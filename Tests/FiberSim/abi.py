"""The C ABI through ctypes, built from the description of the ABI and from nothing of ours."""

import ctypes
import json
import os
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DESCRIPTION = os.path.join(HERE, "..", "FiberABITests", "Resources", "fiber-abi.json")

with open(DESCRIPTION, encoding="utf-8") as file:
    ABI = json.load(file)

EVENT_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_char), ctypes.c_void_p)
PREPARE_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_void_p)
TYPES = {
    "const char *": ctypes.c_char_p, "char *": ctypes.c_void_p, "void *": ctypes.c_void_p, "int": ctypes.c_int,
    "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "int32_t": ctypes.c_int32, "size_t": ctypes.c_size_t,
    "FiberInvoiceCurrency": ctypes.c_int32, "FiberHashAlgorithm": ctypes.c_int32, "void": None,
    "FiberPaymentStatusFilter": ctypes.c_int32, "FiberFfiStatus": ctypes.c_uint32,
    "FiberHandle *": ctypes.c_void_p, "FiberHandle **": ctypes.POINTER(ctypes.c_void_p),
    "char **": ctypes.POINTER(ctypes.c_void_p), "uint64_t *": ctypes.POINTER(ctypes.c_uint64),
    "fiber_event_callback": EVENT_CALLBACK, "fiber_ckb_prepare_callback": PREPARE_CALLBACK,
}

STRUCTS = {}
for described in ABI["structs"]:
    made = type(described["name"], (ctypes.Structure,), {
        "_fields_": [(field["name"], TYPES[field["c_type"]]) for field in described["fields"]]})
    assert ctypes.sizeof(made) == described["size"], described["name"]
    STRUCTS[described["name"]] = made
    TYPES[described["name"]] = made
    TYPES["const %s *" % described["name"]] = ctypes.POINTER(made)

FUNCTIONS = {function["name"]: function for function in ABI["functions"]}
HEADED = set(ABI["struct_size_rule"]["structs_with_header"])


def options(name, **members):
    """An options struct with struct_size set; an amount may be given as a number."""
    value = STRUCTS[name]()
    if name in HEADED:
        value.struct_size = ctypes.sizeof(value)
    for key, member in members.items():
        if isinstance(member, str):
            member = member.encode()
        if dict(value._fields_)[key] is STRUCTS["FiberU128"] and isinstance(member, int):
            member = STRUCTS["FiberU128"](member & (2**64 - 1), member >> 64)
        setattr(value, key, member)
    return value


class Failure(Exception):
    def __init__(self, status, text):
        super().__init__("status %d: %s" % (status, text))
        self.status = status
        self.text = text


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        for name, function in FUNCTIONS.items():
            symbol = getattr(self.library, name)
            symbol.restype = TYPES[function["returns"]]
            symbol.argtypes = [TYPES[parameter["c_type"]] for parameter in function["params"]]
        control = self.library.fiber_sim_control
        control.restype = ctypes.c_int32
        control.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]

    def __getattr__(self, name):
        return getattr(self.library, name)

    def last_error(self):
        length = self.fiber_last_error_message(None, 0)
        buffer = ctypes.create_string_buffer(length + 1)
        assert self.fiber_last_error_message(ctypes.addressof(buffer), length + 1) == length
        return buffer.value.decode()

    def check(self, status):
        if status != 0:
            raise Failure(status, self.last_error())

    def string(self, name, *arguments):
        """Calls a function whose last parameter is a string output; returns the text, freed."""
        out = ctypes.c_void_p()
        status = getattr(self.library, name)(*arguments, ctypes.byref(out))
        if status != 0:
            text = self.last_error()
            assert out.value is None, "a failing call leaves NULL"
            raise Failure(status, text)
        text = ctypes.string_at(out.value).decode()
        self.fiber_string_free(out)
        return text

    def json(self, name, *arguments):
        return json.loads(self.string(name, *arguments))

    def control(self, **command):
        return json.loads(self.string("fiber_sim_control", json.dumps(command).encode()))


CONFIG = """
fiber:
  listening_addr: "/ip4/127.0.0.1/tcp/0"
  chain: testnet
ckb:
  rpc_url: "http://127.0.0.1:1"
services: [fiber, ckb]
"""

SIMULATION = CONFIG + """
sim:
  peers:
    - {name: bob, connect: true, channel: "500 CKB"}
    - {name: carol, connect: false}
    - {name: dave, connect: true}
  confirm: 30ms
"""

KEY = "7" * 63 + "1"
PASSWORD = "correct horse"
PROMPT = 20.0


def prepare(directory, config=SIMULATION, key=KEY):
    """A data directory with its configuration and key; the path of the configuration."""
    os.makedirs(os.path.join(directory, "node", "ckb"), exist_ok=True)
    path = os.path.join(directory, "config.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(config)
    if key is not None and not os.path.exists(key_path(directory)):
        with open(key_path(directory), "w", encoding="utf-8") as file:
            file.write(key)
    return path


def key_path(directory):
    return os.path.join(directory, "node", "ckb", "key")


class Node:
    """One started node, its events as they came."""

    def __init__(self, library, directory, config=SIMULATION, password=PASSWORD, callback=None, level=b"off"):
        self.library = library
        self.events = []
        self.raw = []
        self.threads = set()
        self.before_handle = None
        self.handle = ctypes.c_void_p()
        self.changed = threading.Condition()
        self.hook = callback
        os.environ.pop("FIBER_SECRET_KEY_PASSWORD", None)
        if password is not None:
            os.environ["FIBER_SECRET_KEY_PASSWORD"] = password
        self.callback = EVENT_CALLBACK(self.receive)
        self.options = options(
            "FiberStartOptions", config_path=prepare(directory, config), log_level=level,
            database_prefix=os.path.join(directory, "node"), event_callback=self.callback)

    def start(self):
        self.library.check(self.library.fiber_start(ctypes.byref(self.options), ctypes.byref(self.handle)))
        return self

    def stop(self):
        self.library.check(self.library.fiber_stop(self.handle))

    def receive(self, pointer, user_data):
        raw = ctypes.string_at(pointer)
        try:
            event = json.loads(raw)
        except ValueError:
            event = {"kind": None}
        if self.hook:
            self.hook(pointer, event)
        with self.changed:
            if event.get("kind") == "NetworkStarted":
                self.before_handle = self.handle.value is None
            self.raw.append(raw)
            self.events.append(event)
            self.threads.add(threading.get_native_id())
            self.changed.notify_all()

    def kinds(self):
        with self.changed:
            return [event.get("kind") for event in self.events]

    def wait(self, condition, what="the condition"):
        """Waits until the condition holds for the list of events."""
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self.events), timeout=PROMPT):
                last = [event.get("kind") for event in self.events[-40:]]
                raise AssertionError("%s did not come; the last events: %s" % (what, last))

    def wait_kind(self, kind, count=1, **members):
        def fits(event):
            return event.get("kind") == kind and all(event.get(key) == value for key, value in members.items())
        self.wait(lambda events: sum(map(fits, events)) >= count, "%s %s" % (kind, members))
        return [event for event in self.events if fits(event)][count - 1]

    def poll(self, question, condition):
        """Asks until the answer fits; the only wait for what has no event."""
        deadline = time.monotonic() + PROMPT
        while time.monotonic() < deadline:
            answer = question()
            if condition(answer):
                return answer
            time.sleep(0.002)
        raise AssertionError("the answer stayed %s" % answer)

    def call(self, name, *arguments):
        self.library.check(getattr(self.library, name)(self.handle, *arguments))

    def text(self, name, *arguments):
        return self.library.string(name, self.handle, *arguments)

    def json(self, name, *arguments):
        return json.loads(self.text(name, *arguments))

    def peers(self):
        return {peer["name"]: peer for peer in self.library.control(peers={})["peers"]}

    def channels(self, **members):
        wanted = options("FiberListChannelsOptions", **members)
        return self.json("fiber_list_channels", ctypes.byref(wanted))["channels"]

    def pay(self, **members):
        return self.json("fiber_send_payment", ctypes.byref(options("FiberSendPaymentOptions", **members)))

    def payment(self, payment_hash):
        return self.json("fiber_get_payment", payment_hash.encode())
