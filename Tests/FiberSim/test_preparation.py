"""What may be asked before a start: the funding address, and the preparation of the chain."""

import ctypes
import json
import os
import threading

import abi
from abi import CONFIG, PREPARE_CALLBACK, SIMULATION, options
from fresh import FreshCase, fresh

CATCHING_UP = SIMULATION + "  prepare: {steps: 3, every: 5ms}\n"
COURSE = ["initializing", "wallet_birthday", "connecting", "syncing_headers"] + ["syncing_scripts"] * 3


class Course:
    """The calls of one preparation as they came."""

    def __init__(self):
        self.calls = []
        self.threads = set()
        self.done = threading.Event()
        self.callback = PREPARE_CALLBACK(self.receive)

    def receive(self, status, pointer, user_data):
        found = json.loads(ctypes.string_at(pointer))
        self.calls.append((status, found, user_data))
        self.threads.add(threading.get_native_id())
        if found["status"] in ("ready", "failed"):
            self.done.set()

    def wait(self):
        assert self.done.wait(abi.PROMPT), self.calls
        return self.calls


class BeforeAStart(FreshCase):
    def options(self, config=CONFIG, password=abi.PASSWORD, **arguments):
        os.environ.pop("FIBER_SECRET_KEY_PASSWORD", None)
        if password is not None:
            os.environ["FIBER_SECRET_KEY_PASSWORD"] = password
        return options("FiberStartOptions", config_path=abi.prepare(self.directory, config, **arguments),
                       database_prefix=os.path.join(self.directory, "node"), log_level="off")

    def prepare(self, library, value, height=None):
        course = Course()
        name = "fiber_prepare_ckb" + ("" if height is None else "_with_history_start_block")
        middle = [] if height is None else [height]
        library.check(getattr(library, name)(ctypes.byref(value), *middle, course.callback, 42))
        return course


class Address(BeforeAStart):
    def address(self, library, value):
        return library.string("fiber_ckb_funding_address", ctypes.byref(value))

    @fresh
    def test_it_is_the_wallets_and_the_key_is_rewritten(self, library):
        value = self.options()
        address = self.address(library, value)
        self.assertRegex(address, "^ckt1q[qpzry9x8gf2tvdw0s3jn54khce6mua7l]+$")
        self.assertEqual(os.path.getsize(abi.key_path(self.directory)), 77)
        self.assertEqual(self.address(library, value), address)
        node = self.node(library)
        self.assertEqual(node.json("fiber_ckb_balance")["address"], address)
        node.stop()
        mainnet = self.options(CONFIG.replace("testnet", "mainnet"))
        self.assertRegex(self.address(library, mainnet), "^ckb1q")

    @fresh
    def test_refusals(self, library):
        self.assertFails(2, "failed to read the CKB funding key: Secret key file error: please set", self.address,
                         library, self.options(password=None))
        self.address(library, self.options())
        self.assertFails(2, "failed to read the CKB funding key: Secret key file error: decryption failed",
                         self.address, library, self.options(password="wrong"))
        self.assertFails(2, "failed to parse config file", self.address, library, self.options(CONFIG + "sim: {x: 1}"))
        self.assertFails(2, "must run at least one service", self.address, library,
                         self.options(CONFIG.replace("[fiber, ckb]", "[]")))
        missing = self.options()
        missing.config_path = b"/nowhere/config.yml"
        self.assertFails(2, "failed to read config file /nowhere/config.yml", self.address, library, missing)
        without = CONFIG.replace('ckb:\n  rpc_url: "http://127.0.0.1:1"\n', "")
        self.assertFails(5, "fiber ffi call panicked", self.address, library, self.options(without))
        os.remove(abi.key_path(self.directory))
        self.assertFails(5, "fiber ffi call panicked", self.address, library, self.options(key=None))


class Preparation(BeforeAStart):
    @fresh
    def test_with_an_external_node_there_is_nothing_to_prepare(self, library):
        missing = options("FiberStartOptions", config_path="/nowhere/config.yml")
        for value in (missing, self.options()):
            for height in (None, 5):
                course = self.prepare(library, value, height)
                self.assertEqual(course.wait(), [(0, {
                    "ready": True, "mode": "external_rpc", "skipped": True, "status": "ready"}, 42)])
                self.assertNotIn(threading.get_native_id(), course.threads)
        self.node(library).stop()

    @fresh
    def test_a_light_client_catches_up(self, library):
        value = self.options(CATCHING_UP)
        course = self.prepare(library, value)
        self.assertFails(2, "CKB preparation is already in progress", self.prepare, library, value)
        self.assertFails(3, "CKB is still preparing; wait for the preparation callback", self.node, library,
                         config=CATCHING_UP)
        calls = course.wait()
        self.assertEqual([found["status"] for _, found, _ in calls], COURSE + ["ready"])
        self.assertEqual({(status, user_data) for status, _, user_data in calls}, {(0, 42)})
        self.assertEqual(calls[-1][1], {
            "ready": True, "mode": "light_client", "skipped": False, "status": "ready"})
        fields = {"wallet_birthday": {"address", "history_start_block", "source"},
                  "syncing_scripts": {"tip_block_number", "slowest_script_block_number", "script_count"}}
        network = {"connected_peers", "required_peers", "tip_block_number", "tip_is_current"}
        fields.update(connecting=network, syncing_headers=network, initializing=set())
        for _, found, _ in calls[:-1]:
            self.assertEqual(set(found), {"ready", "mode", "status"} | fields[found["status"]])
            self.assertEqual((found["ready"], found["mode"]), (False, "light_client"))
        heights = [found["slowest_script_block_number"] for _, found, _ in calls[4:7]]
        self.assertEqual(heights, [6000000, 12000000, 18000000])
        self.assertEqual((calls[1][1]["history_start_block"], calls[1][1]["source"]), (0, "default_genesis"))
        later = self.prepare(library, value, 17000000).wait()
        self.assertEqual((later[1][1]["history_start_block"], later[1][1]["source"]), (17000000, "external_discovery"))
        self.node(library, config=CATCHING_UP).stop()

    @fresh
    def test_it_fails_and_may_be_tried_again(self, library):
        failing = CATCHING_UP.replace("5ms", '5ms, fail: "no peers"')
        for _ in range(2):
            status, last, _ = self.prepare(library, self.options(failing)).wait()[-1]
            self.assertEqual((status, last), (3, {
                "ready": False, "mode": "light_client", "status": "failed", "error": "no peers"}))
        self.prepare(library, self.options(CATCHING_UP)).wait()

    @fresh
    def test_what_a_light_client_checks_first(self, library):
        self.assertFails(2, "failed to read the CKB funding key: Secret key file error: please set", self.prepare,
                         library, self.options(CATCHING_UP, password=None))
        os.remove(abi.key_path(self.directory))
        self.assertFails(5, "fiber ffi call panicked", self.prepare, library, self.options(CATCHING_UP, key=None))
        for text, words in [("steps: 0", "expected 1 to 10000"), ("every: soon", "no duration"), ("x: 1", "unknown")]:
            self.assertFails(3, words, self.node, library, config=SIMULATION + "  prepare: {%s}\n" % text)
