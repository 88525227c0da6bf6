"""The border: order of checks, texts, outputs, the last error. All of it from the description of the ABI."""

import ctypes
import threading

from abi import ABI, FUNCTIONS, HEADED, PREPARE_CALLBACK, STRUCTS, options
from fresh import FreshCase, fresh

UNTOUCHED = 0x5A5A
PUBKEY = "02" + "11" * 32
HASH = "0x" + "22" * 32
SCRIPT = '{"code_hash":"0x%s","hash_type":"type","args":"0x"}' % ("00" * 32)
# A sound value for each required string of an options struct.
SOUND = {
    "pubkey": PUBKEY, "temporary_channel_id": HASH, "channel_id": HASH, "shutdown_script_json": SCRIPT,
    "funding_lock_script_json": SCRIPT, "signed_funding_tx_json": "{}", "router_json": "[]",
    "hops_info_json": "[]", "rpc_url": "http://127.0.0.1:1", "config_path": "/nowhere", "lock_args": "0x" + "00" * 20}


def on_handle():
    return [f for f in FUNCTIONS.values() if f["handle"] == "borrowed"]


def struct_of(function):
    return next((p["struct"] for p in function["params"] if "struct" in p), None)


def fields_of(struct):
    return next(s["fields"] for s in ABI["structs"] if s["name"] == struct)


def sound(struct, **members):
    """An options struct with which nothing is wrong at the border."""
    wanted = {f["name"] for f in fields_of(struct) if f.get("required") and f["c_type"] == "const char *"}
    if struct == "FiberCkbDiscoverHistoryStartBlockOptions":
        wanted |= {"lock_args"}
    chosen = {name: SOUND[name] for name in wanted}
    chosen.update(members)
    return options(struct, **chosen)


class Attempt:
    """One call with every argument sound but those given; what came of it."""

    def __init__(self, library, function, handle, **given):
        self.out = ctypes.c_void_p(UNTOUCHED)
        self.height = ctypes.c_uint64(UNTOUCHED)
        arguments = []
        for parameter in function["params"]:
            name, kind = parameter["name"], parameter["c_type"]
            if name in given:
                value = given[name]
                arguments.append(ctypes.byref(value) if isinstance(value, ctypes.Structure) else value)
            elif kind == "FiberHandle *":
                arguments.append(handle)
            elif kind == "char **":
                arguments.append(ctypes.byref(self.out))
            elif kind == "uint64_t *":
                arguments.append(ctypes.byref(self.height))
            elif "struct" in parameter:
                arguments.append(ctypes.byref(sound(parameter["struct"])))
            else:
                arguments.append((PUBKEY if name == "pubkey" else HASH).encode())
        self.status = getattr(library, function["name"])(*arguments)
        self.text = library.last_error()
        if self.status == 0 and self.out.value not in (None, UNTOUCHED):
            library.fiber_string_free(self.out)


class OrderOfChecks(FreshCase):
    @fresh
    def test_a_null_handle_comes_first_and_touches_nothing(self, library):
        for function in on_handle() + [FUNCTIONS["fiber_stop"]]:
            attempt = Attempt(library, function, None)
            self.assertEqual((attempt.status, attempt.text), (1, "handle must be non-null"), function["name"])
            self.assertEqual(attempt.out.value, UNTOUCHED, function["name"])

    @fresh
    def test_null_options_come_before_the_output_and_touch_nothing(self, library):
        node = self.node(library)
        for function in on_handle():
            if struct_of(function):
                attempt = Attempt(library, function, node.handle, options=None)
                self.assertEqual((attempt.status, attempt.text), (1, "options must be non-null"), function["name"])
                self.assertEqual(attempt.out.value, UNTOUCHED, function["name"])
        node.stop()

    @fresh
    def test_a_null_output_comes_before_every_argument(self, library):
        node = self.node(library)
        for function in on_handle():
            outs = [p["name"] for p in function["params"] if p["c_type"] == "char **"]
            if outs:
                given = {outs[0]: None}
                struct = struct_of(function)
                if struct in HEADED:
                    given["options"] = STRUCTS[struct]()
                attempt = Attempt(library, function, node.handle, **given)
                self.assertEqual((attempt.status, attempt.text), (1, "out_json must be non-null"), function["name"])
        node.stop()

    @fresh
    def test_struct_size_and_flags(self, library):
        node = self.node(library)
        for function in on_handle():
            struct = struct_of(function)
            if struct not in HEADED:
                continue
            size = ctypes.sizeof(STRUCTS[struct])
            for members, text in [
                    ({"struct_size": 0, "flags": 1}, "%s.struct_size must be set to sizeof(%s)" % (struct, struct)),
                    ({"struct_size": 8, "flags": 1},
                     "%s.struct_size is too small: got 8, expected at least %d" % (struct, size)),
                    ({"struct_size": size - 1},
                     "%s.struct_size is too small: got %d, expected at least %d" % (struct, size - 1, size)),
                    ({"flags": 1}, "%s.flags must be 0" % struct)]:
                value = sound(struct)
                for name, member in members.items():
                    setattr(value, name, member)
                attempt = Attempt(library, function, node.handle, options=value)
                self.assertEqual((attempt.status, attempt.text), (2, text), function["name"])
                if "char **" in [parameter["c_type"] for parameter in function["params"]]:
                    self.assertIsNone(attempt.out.value, "the output is zeroed before the struct is looked at")
            larger = sound(struct)
            larger.struct_size = size + 64
            self.assertNotIn("struct_size", Attempt(library, function, node.handle, options=larger).text)
        node.stop()

    @fresh
    def test_every_string_member_is_checked(self, library):
        node = self.node(library)
        for function in on_handle():
            struct = struct_of(function)
            for field in fields_of(struct) if struct else []:
                if field["c_type"] != "const char *" or field["name"] == "addr_type":
                    continue
                name = field["name"]
                attempt = Attempt(library, function, node.handle, options=sound(struct, **{name: b"a\xff"}))
                expected = "invalid utf-8 sequence of 1 bytes from index 1"
                self.assertEqual((attempt.status, attempt.text), (2, expected), (function["name"], name))
                if field.get("required"):
                    attempt = Attempt(library, function, node.handle, options=sound(struct, **{name: None}))
                    expected = name + " must be non-null"
                    self.assertEqual((attempt.status, attempt.text), (1, expected), function["name"])
                if name.endswith("_json"):
                    attempt = Attempt(library, function, node.handle, options=sound(struct, **{name: "nonsense"}))
                    expected = "invalid %s: expected value at line 1 column 1" % name
                    self.assertEqual((attempt.status, attempt.text), (2, expected), function["name"])
        node.stop()

    @fresh
    def test_every_string_parameter_is_checked(self, library):
        node = self.node(library)
        for function in on_handle():
            for parameter in function["params"]:
                if parameter["c_type"] == "const char *":
                    name = parameter["name"]
                    attempt = Attempt(library, function, node.handle, **{name: None})
                    self.assertEqual((attempt.status, attempt.text), (1, name + " must be non-null"))
                    attempt = Attempt(library, function, node.handle, **{name: b"ab\xe2\x82"})
                    expected = "incomplete utf-8 byte sequence from index 2"
                    self.assertEqual((attempt.status, attempt.text), (2, expected))
        node.stop()

    @fresh
    def test_enumerations(self, library):
        node = self.node(library)
        for name, struct, member, text in [
                ("fiber_new_invoice", "FiberNewInvoiceOptions", "currency",
                 "currency must be one of FIBER_INVOICE_CURRENCY_*"),
                ("fiber_new_invoice", "FiberNewInvoiceOptions", "hash_algorithm",
                 "hash_algorithm must be one of FIBER_HASH_ALGORITHM_*"),
                ("fiber_list_payments", "FiberListPaymentsOptions", "status",
                 "status must be one of FIBER_PAYMENT_STATUS_FILTER_*")]:
            for value in (-1, 5, 2**31 - 1):
                attempt = Attempt(library, FUNCTIONS[name], node.handle, options=sound(struct, **{member: value}))
                self.assertEqual((attempt.status, attempt.text), (2, text))
        node.stop()

    @fresh
    def test_of_several_faults_the_first_of_the_struct_is_named(self, library):
        node = self.node(library)
        value = sound("FiberOpenChannelOptions", pubkey=None, shutdown_script_json="{")
        attempt = Attempt(library, FUNCTIONS["fiber_open_channel"], node.handle, options=value)
        self.assertEqual((attempt.status, attempt.text), (1, "pubkey must be non-null"))
        value = sound("FiberOpenChannelOptions", pubkey="zz", shutdown_script_json="nonsense")
        attempt = Attempt(library, FUNCTIONS["fiber_open_channel"], node.handle, options=value)
        self.assertEqual(attempt.text, "invalid shutdown_script_json: expected value at line 1 column 1")
        node.stop()

    @fresh
    def test_every_call_on_a_handle_is_simulated(self, library):
        node = self.node(library)
        for function in on_handle():
            self.assertNotIn("not simulated", Attempt(library, function, node.handle).text, function["name"])
        node.stop()

    @fresh
    def test_request_typing(self, library):
        node = self.node(library)
        for members, text in [
                ({"pubkey": "zz"}, "invalid native options: invalid pubkey hex 'zz'"),
                ({"shutdown_script_json": "[]"}, "invalid native options: invalid type: sequence"),
                ({"shutdown_script_json": "{}"}, "invalid native options: missing field `code_hash`"),
                ({"has_commitment_delay_epoch": 1, "commitment_delay_epoch": 3},
                 "invalid native options: invalid type: integer `3`")]:
            value = sound("FiberOpenChannelOptions", **members)
            attempt = Attempt(library, FUNCTIONS["fiber_open_channel"], node.handle, options=value)
            self.assertEqual(attempt.status, 2)
            self.assertTrue(attempt.text.startswith(text), attempt.text)
        for records, text in [
                ('{"1":"0x00"}', "uint hex string does not start with 0x: 1"),
                ('{"0x01":"0x00"}', "uint hex string starts with redundant leading zeros: 0x01"),
                ('{"0x1":"00"}', "hex string does not start with 0x: 00"), ("[]", "invalid type: sequence")]:
            value = sound("FiberSendPaymentOptions", custom_records_json=records)
            attempt = Attempt(library, FUNCTIONS["fiber_send_payment"], node.handle, options=value)
            self.assertEqual(attempt.status, 2)
            self.assertTrue(attempt.text.startswith("invalid native options: " + text), attempt.text)
        node.stop()


class WithoutAHandle(FreshCase):
    @fresh
    def test_start(self, library):
        handle = ctypes.c_void_p(UNTOUCHED)
        for arguments in [(None, ctypes.byref(handle)), (ctypes.byref(options("FiberStartOptions")), None)]:
            self.assertEqual(library.fiber_start(*arguments), 1)
            self.assertEqual(library.last_error(), "options and out_handle must be non-null")
        self.assertEqual(handle.value, UNTOUCHED)
        self.assertEqual(library.fiber_start(ctypes.byref(options("FiberStartOptions")), ctypes.byref(handle)), 1)
        self.assertEqual(library.last_error(), "config_path must be non-null")
        self.assertIsNone(handle.value)
        for member in ("config_path", "database_prefix", "log_level"):
            value = options("FiberStartOptions", config_path="/nowhere")
            setattr(value, member, b"\x80")
            self.assertEqual(library.fiber_start(ctypes.byref(value), ctypes.byref(handle)), 2)
            self.assertEqual(library.last_error(), "invalid utf-8 sequence of 1 bytes from index 0")

    @fresh
    def test_prepare_and_helpers(self, library):
        for name in ("fiber_prepare_ckb", "fiber_prepare_ckb_with_history_start_block"):
            middle = [1] if name.endswith("block") else []
            value = options("FiberStartOptions", config_path="/nowhere")
            callback = PREPARE_CALLBACK(lambda *_: None)
            for arguments, status, text in [
                    ((None, *middle, callback, None), 1, "options must be non-null"),
                    ((ctypes.byref(value), *middle, type(callback)(), None), 1,
                     "completion_callback must be non-null")]:
                self.assertEqual(getattr(library, name)(*arguments), status)
                self.assertEqual(library.last_error(), text)
        attempt = Attempt(library, FUNCTIONS["fiber_ckb_funding_address"], None, out_address=None)
        self.assertEqual((attempt.status, attempt.text), (1, "out_json must be non-null"))
        discover = FUNCTIONS["fiber_ckb_discover_history_start_block"]
        struct = "FiberCkbDiscoverHistoryStartBlockOptions"
        for given, status, text in [
                ({"options": None}, 1, "options must be non-null"),
                ({"out_height": None, "options": STRUCTS[struct]()}, 1, "out_height must be non-null"),
                ({"options": sound(struct, has_safety_blocks=2)}, 2, "has_safety_blocks must be 0 or 1"),
                ({"options": sound(struct, rpc_url="ftp://x")}, 2, "rpc_url must use http:// or https://"),
                ({"options": sound(struct, address="ckt1")}, 2,
                 "exactly one of lock_args, pubkey, and address must be supplied"),
                ({}, 2, "simulator: fiber_ckb_discover_history_start_block is not simulated")]:
            attempt = Attempt(library, discover, None, **given)
            self.assertEqual((attempt.status, attempt.text), (status, text))
            self.assertEqual(attempt.height.value, UNTOUCHED if status == 1 else 0)

    @fresh
    def test_version_and_control(self, library):
        self.assertIn(b"sim", library.fiber_version())
        out = ctypes.c_void_p(UNTOUCHED)
        self.assertEqual(library.fiber_sim_control(b"{}", None), 1)
        self.assertEqual(library.last_error(), "out_json must be non-null")
        self.assertEqual(library.fiber_sim_control(None, ctypes.byref(out)), 1)
        self.assertEqual(library.last_error(), "request_json must be non-null")
        self.assertIsNone(out.value)
        for request in (b"", b"nonsense", b"[]", b"{}", b'{"counters":{},"peers":{}}', b'{"counters":1}',
                        b'{"dance":{}}', b'{"counters":{"x":1}}', b'{"emit":{"count":1}}', b'{"emit":{"count":0}}'):
            self.assertEqual(library.fiber_sim_control(request, ctypes.byref(out)), 2, request)
            self.assertTrue(library.last_error().startswith("simulator: "), library.last_error())
        self.assertEqual(library.fiber_sim_control(b'{"dance":{}}', ctypes.byref(out)), 2)
        for name in ("chain", "counters", "emit", "fault", "hash", "invoice", "open", "pay", "peers"):
            self.assertIn(name, library.last_error())


class LastError(FreshCase):
    TEXT = "handle must be non-null"

    def read(self, library, size):
        buffer = ctypes.create_string_buffer(b"\x55" * 64, 64)
        return library.fiber_last_error_message(ctypes.addressof(buffer), size), buffer.raw

    @fresh
    def test_length_and_truncation(self, library):
        library.fiber_stop(None)
        length = len(self.TEXT)
        self.assertEqual(library.fiber_last_error_message(None, 0), length)
        self.assertEqual(library.fiber_last_error_message(None, 64), length)
        self.assertEqual(self.read(library, 0), (length, b"\x55" * 64))
        self.assertEqual(self.read(library, 1), (length, b"\0" + b"\x55" * 63))
        self.assertEqual(self.read(library, 7), (length, b"handle\0" + b"\x55" * 57))
        self.assertEqual(self.read(library, length), (length, self.TEXT[:-1].encode() + b"\0" + b"\x55" * 41))
        self.assertEqual(self.read(library, 64), (length, self.TEXT.encode() + b"\0" + b"\x55" * 40))

    @fresh
    def test_what_sets_clears_and_leaves_it(self, library):
        self.assertEqual(self.read(library, 64), (0, b"\0" + b"\x55" * 63))
        self.assertEqual(self.read(library, 0), (0, b"\x55" * 64))
        node = self.node(library)
        library.fiber_stop(None)
        library.fiber_version()
        library.fiber_string_free(None)
        library.fiber_last_error_message(None, 0)
        self.assertEqual(library.last_error(), self.TEXT)
        node.text("fiber_node_info")
        self.assertEqual(library.last_error(), "")
        node.stop()

    @fresh
    def test_each_thread_has_its_own(self, library):
        seen = []

        def other():
            seen.append(library.last_error())
            library.fiber_node_info(None, None)
            library.fiber_start(None, None)
            seen.append(library.last_error())

        library.fiber_stop(None)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        self.assertEqual(seen, ["", "options and out_handle must be non-null"])
        self.assertEqual(library.last_error(), self.TEXT)

    @fresh
    def test_bytes_that_are_not_text_are_named_as_rust_names_them(self, library):
        for raw, text in [
                (b"\xff", "invalid utf-8 sequence of 1 bytes from index 0"),
                (b"ok\xc3(", "invalid utf-8 sequence of 1 bytes from index 2"),
                (b"\xe2\x82(", "invalid utf-8 sequence of 2 bytes from index 0"),
                (b"\xf0\x9f\x98(", "invalid utf-8 sequence of 3 bytes from index 0"),
                (b"\xc0\x80", "invalid utf-8 sequence of 1 bytes from index 0"),
                (b"\xed\xa0\x80", "invalid utf-8 sequence of 1 bytes from index 0"),
                (b"\xf4\x90\x80\x80", "invalid utf-8 sequence of 1 bytes from index 0"),
                ("ä€😀".encode() + b"\xf0\x9f", "incomplete utf-8 byte sequence from index 9")]:
            self.assertRaises(UnicodeDecodeError, raw.decode)
            value = options("FiberStartOptions")
            value.config_path = raw
            handle = ctypes.c_void_p()
            self.assertEqual(library.fiber_start(ctypes.byref(value), ctypes.byref(handle)), 2)
            self.assertEqual(library.last_error(), text)
