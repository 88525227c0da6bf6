"""Every command with good and bad input, and the command socket against everything that is not a request.

The tables below are the specification: of each method what it takes, and at least three ways to call it wrongly with the error that says so.
After each test the bus still answers, which `finish` asks for.
"""

import json
import unittest

from bus import BusError, BusTest, wait_for

PARAMS = (-32602, "invalid_params")
NODE = (-32003, "node_error")
NOT_FOUND = (-32009, "not_found")
CONFLICT = (-32013, "conflict")
CHANGED = (-32014, "history_changed")

KEY = "02" + "ab" * 32
STRANGER = "02" + "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
HASH = "0x" + "cd" * 32
SCRIPT = {"code_hash": HASH, "hash_type": "type", "args": "0x"}
UNKNOWN = ({"color": "red"}, PARAMS, "color")

# method: [(parameters, (code, name), path or None)]
BAD = {
    "bus.ping": [UNKNOWN, ({"a": None}, PARAMS, "a"), ({"": 1}, PARAMS, "")],
    "bus.version": [UNKNOWN, ({"full": True}, PARAMS, "full"), ({"version": "1"}, PARAMS, "version")],
    "bus.status": [UNKNOWN, ({"network": "dev"}, PARAMS, "network"), ({"verbose": 1}, PARAMS, "verbose")],
    "bus.methods": [UNKNOWN, ({"prefix": "fiber"}, PARAMS, "prefix"), ({"1": 1}, PARAMS, "1")],
    "bus.shutdown": [UNKNOWN, ({"force": True}, PARAMS, "force"), ({"timeout": 1}, PARAMS, "timeout")],
    "node.start": [UNKNOWN, ({"network": "dev"}, PARAMS, "network"), ({"wait": True}, PARAMS, "wait")],
    "node.stop": [UNKNOWN, ({"force": True}, PARAMS, "force"), ({"kill": 1}, PARAMS, "kill")],
    "node.restart": [UNKNOWN, ({"account": "demo"}, PARAMS, "account"), ({"after": 0}, PARAMS, "after")],
    "network.list": [UNKNOWN, ({"network": "dev"}, PARAMS, "network"), ({"all": True}, PARAMS, "all")],
    "account.list": [
        UNKNOWN,
        ({"network": 7}, PARAMS, "network"),
        ({"network": "de\0v"}, PARAMS, "network"),
        ({"network": "x" * 64}, PARAMS, "network"),
        ({"network": "elsewhere"}, NOT_FOUND, None),
    ],
    "account.create": [
        UNKNOWN,
        ({}, PARAMS, "network"),
        ({"network": "dev"}, PARAMS, "account"),
        ({"network": "dev", "account": "../demo"}, PARAMS, "account"),
        ({"network": "elsewhere", "account": "alice"}, NOT_FOUND, None),
        ({"network": "dev", "account": "demo"}, CONFLICT, None),
    ],
    "account.remove": [
        UNKNOWN,
        ({"account": "demo"}, PARAMS, "network"),
        ({"network": "dev", "account": "demo", "purge": "yes"}, PARAMS, "purge"),
        ({"network": "dev", "account": "nobody"}, NOT_FOUND, None),
        ({"network": "dev", "account": "demo"}, CONFLICT, None),
    ],
    "account.import_key": [
        UNKNOWN,
        ({"network": "dev", "account": "demo"}, PARAMS, "key"),
        ({"network": "dev", "account": "demo", "key": 5}, PARAMS, "key"),
        ({"network": "dev", "account": "demo", "key": "ab" * 31}, PARAMS, "key"),
        ({"network": "dev", "account": "demo", "key": "ab" * 32, "replace": 1}, PARAMS, "replace"),
        ({"network": "dev", "account": "nobody", "key": "ab" * 32}, NOT_FOUND, None),
        ({"network": "dev", "account": "demo", "key": "ab" * 32}, CONFLICT, None),
    ],
    "bus.switch": [
        UNKNOWN,
        ({"network": "dev"}, PARAMS, "account"),
        ({"network": "dev", "account": "Demo"}, PARAMS, "account"),
        ({"network": "dev", "account": "demo", "on_failure": "panic"}, PARAMS, "on_failure"),
        ({"network": "elsewhere", "account": "demo"}, NOT_FOUND, None),
        ({"network": "dev", "account": "nobody"}, NOT_FOUND, None),
    ],
    "events.read": [
        UNKNOWN,
        ({}, PARAMS, "after"),
        ({"after": -1}, PARAMS, "after"),
        ({"after": "many"}, PARAMS, "after"),
        ({"after": 1.5}, PARAMS, "after"),
        ({"after": 0, "from": "oldest"}, PARAMS, None),
        ({"from": "yesterday"}, PARAMS, "from"),
        ({"after": 0, "limit": 0}, PARAMS, "limit"),
        ({"after": 0, "limit": 10_001}, PARAMS, "limit"),
        ({"after": 0, "wait_ms": 60_001}, PARAMS, "wait_ms"),
        ({"after": 0, "kinds": "ChannelReady"}, PARAMS, "kinds"),
        ({"after": 0, "kinds": [1]}, PARAMS, "kinds[0]"),
        ({"after": 1 << 52}, CHANGED, None),
        ({"after": 0, "epoch": "00000000"}, CHANGED, None),
        ({"after": 0, "network": "elsewhere", "account": "demo"}, NOT_FOUND, None),
        ({"after": 0, "network": "dev", "account": "nobody"}, NOT_FOUND, None),
        ({"after": 0, "network": "dev", "account": "../demo"}, None, None),
    ],
    "events.schema": [
        UNKNOWN,
        ({"source": "any"}, PARAMS, "source"),
        ({"kind": 5}, PARAMS, "kind"),
        ({"kind": "ChannelExploded"}, PARAMS, "kind"),
    ],
    "rpc.discover": [UNKNOWN, ({"version": 1}, PARAMS, "version"), ({"method": "bus.ping"}, PARAMS, "method")],
    "fiber.sim": [
        UNKNOWN,
        ({}, PARAMS, "emit"),
        ({"emit": 5}, PARAMS, "emit"),
        ({"emit": {"count": "many"}}, NODE, None),
        ({"fault": {"call": "fiber_stop", "do": "dance"}}, NODE, None),
        ({"counters": {}, "peers": {}}, PARAMS, "emit"),
    ],
    "fiber.node_info": [UNKNOWN, ({"pubkey": KEY}, PARAMS, "pubkey"), ({"verbose": True}, PARAMS, "verbose")],
    "fiber.list_peers": [UNKNOWN, ({"limit": 3}, PARAMS, "limit"), ({"pubkey": KEY}, PARAMS, "pubkey")],
    "fiber.connect_peer": [
        UNKNOWN,
        ({}, PARAMS, "address"),
        ({"address": "/ip4/127.0.0.1/tcp/1", "pubkey": KEY}, PARAMS, "pubkey"),
        ({"pubkey": "03"}, PARAMS, "pubkey"),
        ({"pubkey": "04" + "ab" * 32}, PARAMS, "pubkey"),
        ({"address": "/ip4/127.0.0.1\0/tcp/1"}, PARAMS, "address"),
        ({"address": 5}, PARAMS, "address"),
        ({"pubkey": KEY, "addr_type": "udp"}, PARAMS, "addr_type"),
        ({"address": "not a multiaddr"}, NODE, None),
        ({"pubkey": STRANGER}, NODE, None),
    ],
    "fiber.disconnect_peer": [
        UNKNOWN,
        ({}, PARAMS, "pubkey"),
        ({"pubkey": None}, PARAMS, "pubkey"),
        ({"pubkey": 12}, PARAMS, "pubkey"),
        ({"pubkey": "0x" + KEY + "00"}, PARAMS, "pubkey"),
        ({"pubkey": STRANGER}, NODE, None),
    ],
    "fiber.open_channel": [
        UNKNOWN,
        ({}, PARAMS, "pubkey"),
        ({"pubkey": KEY}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": "1.5"}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": "-1"}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": "1.123456789 CKB"}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": 1.0}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": 2**53 + 1}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": str(2**128)}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": "0x"}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": "1 CKB", "funding_udt_type_script": {}}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": "500 CKB", "public": "yes"}, PARAMS, "public"),
        ({"pubkey": KEY, "funding_amount": "500 CKB", "commitment_delay_epoch": 1}, PARAMS, "commitment_delay_epoch"),
        ({"pubkey": KEY, "funding_amount": "500 CKB", "public": True, "one_way": True}, PARAMS, "public"),
        ({"pubkey": KEY, "funding_amount": "500 CKB", "max_tlc_number_in_flight": 254}, PARAMS,
         "max_tlc_number_in_flight"),
        ({"pubkey": STRANGER, "funding_amount": "500 CKB"}, NODE, None),
    ],
    "fiber.list_channels": [
        UNKNOWN,
        ({"pubkey": "alice"}, PARAMS, "pubkey"),
        ({"include_closed": "no"}, PARAMS, "include_closed"),
        ({"include_closed": True, "only_pending": True}, PARAMS, "only_pending"),
    ],
    "fiber.new_invoice": [
        UNKNOWN,
        ({}, PARAMS, "amount"),
        ({"amount": True}, PARAMS, "amount"),
        ({"amount": "5", "currency": "EUR"}, PARAMS, "currency"),
        ({"amount": "5", "description": "a\0b"}, PARAMS, "description"),
        ({"amount": "5", "description": "x" * 640}, PARAMS, "description"),
        ({"amount": "5", "payment_hash": "0x12"}, PARAMS, "payment_hash"),
        ({"amount": "5", "payment_hash": HASH, "payment_preimage": HASH}, PARAMS, "payment_hash"),
        ({"amount": "5", "expiry": -1}, PARAMS, "expiry"),
    ],
    "fiber.send_payment": [
        UNKNOWN,
        ({}, PARAMS, "invoice"),
        ({"target_pubkey": KEY, "amount": "1"}, PARAMS, "invoice"),
        ({"keysend": True, "target_pubkey": KEY, "amount": "1", "invoice": "x"}, PARAMS, "invoice"),
        ({"keysend": True, "amount": "1"}, PARAMS, "target_pubkey"),
        ({"payment_hash": HASH, "target_pubkey": KEY}, PARAMS, "amount"),
        ({"invoice": 5}, PARAMS, "invoice"),
        ({"invoice": "lnbc1nonsense"}, NODE, None),
        ({"target_pubkey": "02", "amount": "1", "keysend": True}, PARAMS, "target_pubkey"),
        ({"target_pubkey": KEY, "amount": {}, "keysend": True}, PARAMS, "amount"),
        ({"invoice": "x", "max_parts": 25}, PARAMS, "max_parts"),
        ({"invoice": "x", "trampoline_hops": [1]}, PARAMS, "trampoline_hops[0]"),
        ({"invoice": "x", "custom_records": {"0x1": "a\0"}}, PARAMS, "custom_records"),
    ],
    "fiber.get_payment": [
        UNKNOWN,
        ({}, PARAMS, "payment_hash"),
        ({"payment_hash": "0xzz"}, PARAMS, "payment_hash"),
        ({"payment_hash": HASH[:-1]}, PARAMS, "payment_hash"),
        ({"payment_hash": HASH}, NODE, None),
    ],
    "fiber.list_payments": [
        UNKNOWN,
        ({"status": "Paid"}, PARAMS, "status"),
        ({"status": 1}, PARAMS, "status"),
        ({"limit": 0}, PARAMS, "limit"),
        ({"limit": 10_001}, PARAMS, "limit"),
        ({"limit": 1.5}, PARAMS, "limit"),
        ({"after": "0x12"}, PARAMS, "after"),
    ],
    "fiber.build_router": [
        UNKNOWN,
        ({}, PARAMS, "hops_info"),
        ({"hops_info": {}}, PARAMS, "hops_info"),
        ({"hops_info": [{"pubkey": "a\0"}]}, PARAMS, "hops_info"),
        ({"hops_info": [], "amount": "-1"}, PARAMS, "amount"),
        ({"hops_info": [], "amount": "1 CKB", "udt_type_script": {}}, PARAMS, "amount"),
        ({"hops_info": [], "final_tlc_expiry_delta": 2**64}, PARAMS, "final_tlc_expiry_delta"),
        ({"hops_info": [{"pubkey": STRANGER}]}, NODE, None),
    ],
    "fiber.send_payment_with_router": [
        UNKNOWN,
        ({}, PARAMS, "router"),
        ({"router": "x", "invoice": "x"}, PARAMS, "router"),
        ({"router": []}, PARAMS, "invoice"),
        ({"router": [], "keysend": True, "payment_hash": HASH}, PARAMS, "payment_hash"),
        ({"router": [], "keysend": True, "invoice": "x"}, PARAMS, "invoice"),
        ({"router": [], "payment_hash": HASH, "custom_records": []}, PARAMS, "custom_records"),
        ({"router": [], "invoice": "lnbc1nonsense"}, NODE, None),
    ],
    "fiber.parse_invoice": [
        UNKNOWN,
        ({}, PARAMS, "invoice"),
        ({"invoice": 5}, PARAMS, "invoice"),
        ({"invoice": "fibd1\0"}, PARAMS, "invoice"),
        ({"invoice": "x" * 16_385}, PARAMS, "invoice"),
        ({"invoice": ""}, NODE, None),
        ({"invoice": "lnbc1nonsense"}, NODE, None),
    ],
    "fiber.get_invoice": [
        UNKNOWN,
        ({}, PARAMS, "payment_hash"),
        ({"payment_hash": "invoice"}, PARAMS, "payment_hash"),
        ({"payment_hash": [HASH]}, PARAMS, "payment_hash"),
        ({"payment_hash": HASH}, NODE, None),
    ],
    "fiber.cancel_invoice": [
        UNKNOWN,
        ({}, PARAMS, "payment_hash"),
        ({"payment_hash": HASH + "0"}, PARAMS, "payment_hash"),
        ({"payment_hash": HASH, "payment_preimage": HASH}, PARAMS, "payment_preimage"),
        ({"payment_hash": HASH}, NODE, None),
    ],
    "fiber.settle_invoice": [
        UNKNOWN,
        ({"payment_preimage": HASH}, PARAMS, "payment_hash"),
        ({"payment_hash": HASH}, PARAMS, "payment_preimage"),
        ({"payment_hash": HASH, "payment_preimage": "swordfish"}, PARAMS, "payment_preimage"),
        ({"payment_hash": HASH, "payment_preimage": HASH}, NODE, None),
    ],
    "fiber.accept_channel": [
        UNKNOWN,
        ({"funding_amount": "1"}, PARAMS, "temporary_channel_id"),
        ({"temporary_channel_id": HASH}, PARAMS, "funding_amount"),
        ({"temporary_channel_id": KEY, "funding_amount": "1"}, PARAMS, "temporary_channel_id"),
        # Whether it is a UDT channel only the node knows, so amounts are in the smallest unit.
        ({"temporary_channel_id": HASH, "funding_amount": "1 CKB"}, PARAMS, "funding_amount"),
        ({"temporary_channel_id": HASH, "funding_amount": "1", "shutdown_script": "x"}, PARAMS, "shutdown_script"),
        ({"temporary_channel_id": HASH, "funding_amount": "1", "max_tlc_number_in_flight": 254}, PARAMS,
         "max_tlc_number_in_flight"),
        ({"temporary_channel_id": HASH, "funding_amount": "1"}, NODE, None),
    ],
    "fiber.open_channel_with_external_funding": [
        UNKNOWN,
        ({}, PARAMS, "pubkey"),
        ({"pubkey": KEY}, PARAMS, "funding_amount"),
        ({"pubkey": KEY, "funding_amount": "500 CKB"}, PARAMS, "shutdown_script"),
        ({"pubkey": KEY, "funding_amount": "500 CKB", "shutdown_script": {}}, PARAMS, "funding_lock_script"),
        ({"pubkey": KEY, "funding_amount": "500 CKB", "shutdown_script": [], "funding_lock_script": {}}, PARAMS,
         "shutdown_script"),
        ({"pubkey": KEY, "funding_amount": "500 CKB", "shutdown_script": SCRIPT, "funding_lock_script": SCRIPT,
          "funding_lock_script_cell_deps": {}}, PARAMS, "funding_lock_script_cell_deps"),
        ({"pubkey": KEY, "funding_amount": "500 CKB", "one_way": True}, PARAMS, "one_way"),
        ({"pubkey": KEY, "funding_amount": "500 CKB", "shutdown_script": SCRIPT, "funding_lock_script": SCRIPT,
          "commitment_delay_epoch": 1}, PARAMS, "commitment_delay_epoch"),
        ({"pubkey": STRANGER, "funding_amount": "500 CKB", "shutdown_script": SCRIPT, "funding_lock_script": SCRIPT},
         NODE, None),
    ],
    "fiber.submit_signed_funding_tx": [
        UNKNOWN,
        ({"signed_funding_tx": {}}, PARAMS, "channel_id"),
        ({"channel_id": HASH}, PARAMS, "signed_funding_tx"),
        ({"channel_id": HASH, "signed_funding_tx": "0x"}, PARAMS, "signed_funding_tx"),
        ({"channel_id": HASH, "signed_funding_tx": {}}, NODE, None),
    ],
    "fiber.abandon_channel": [
        UNKNOWN,
        ({}, PARAMS, "channel_id"),
        ({"channel_id": None}, PARAMS, "channel_id"),
        ({"channel_id": "temporary"}, PARAMS, "channel_id"),
        ({"channel_id": HASH}, NODE, None),
    ],
    "fiber.shutdown_channel": [
        UNKNOWN,
        ({}, PARAMS, "channel_id"),
        ({"channel_id": HASH, "force": 1}, PARAMS, "force"),
        ({"channel_id": HASH, "force": True, "fee_rate": 1000}, PARAMS, "fee_rate"),
        ({"channel_id": HASH, "force": True, "close_script": SCRIPT}, PARAMS, "close_script"),
        ({"channel_id": HASH, "close_script": "x"}, PARAMS, "close_script"),
        ({"channel_id": HASH}, NODE, None),
    ],
    "fiber.update_channel": [
        UNKNOWN,
        ({}, PARAMS, "channel_id"),
        ({"channel_id": HASH}, PARAMS, "enabled"),
        ({"channel_id": HASH, "enabled": "yes"}, PARAMS, "enabled"),
        ({"channel_id": HASH, "tlc_minimum_value": "1 CKB"}, PARAMS, "tlc_minimum_value"),
        ({"channel_id": HASH, "tlc_fee_proportional_millionths": -1}, PARAMS, "tlc_fee_proportional_millionths"),
        ({"channel_id": HASH, "tlc_expiry_delta": 9_600_000}, PARAMS, "channel_id"),
        ({"channel_id": HASH, "enabled": True}, NODE, None),
    ],
    "fiber.ckb_readiness": [UNKNOWN, ({"wait": True}, PARAMS, "wait"), ({"network": "dev"}, PARAMS, "network")],
    "fiber.ckb_balance": [UNKNOWN, ({"address": "ckt1"}, PARAMS, "address"), ({"udt": {}}, PARAMS, "udt")],
}


class CommandsTest(BusTest):
    def setUp(self):
        self.bus = self.make_bus()
        self.bus.start()

    def check_end(self, bus):
        self.assertEqual(bus.call("bus.ping"), {}, "the bus still answers")
        super().check_end(bus)

    def test_every_method_is_in_the_table(self):
        described = {method["name"] for method in self.bus.call("bus.methods")["methods"]}
        self.assertEqual(described, set(BAD))
        for method, rows in BAD.items():
            self.assertGreaterEqual(len(rows), 3, method)

    def test_bad_input_is_refused_by_name(self):
        for method, rows in BAD.items():
            for params, error, path in rows:
                with self.subTest(method=method, params=str(params)[:100]):
                    with self.assertRaises(BusError) as caught:
                        self.bus.call(method, params)
                    found = caught.exception
                    if error:
                        self.assertEqual((found.code, found.name), error, found.message)
                    if path is not None:
                        self.assertEqual(found.data.get("path"), path, found.message)
                    self.assertIs(type(found.data["retryable"]), bool)
                    self.assertGreater(len(found.message), 10)
        self.assertEqual(self.bus.status()["state"], "ready")

    def test_an_unknown_method_is_refused(self):
        for method in ["fiber.nothing", "fiber.", "bus", "", "BUS.PING", "bus.ping ", "node.stop\0", "any.start"]:
            with self.subTest(method=method):
                self.assert_error(-32601, "method_not_found", self.bus.call, method)

    def test_the_bus_methods_answer(self):
        bus = self.bus
        self.assertEqual(bus.call("bus.ping"), {})
        self.assertIn("wire", bus.call("bus.version"))
        status = bus.status()
        for member in ["state", "network", "account", "run", "pid", "since", "restarts", "last_exit", "epoch", "head",
                       "journal", "simulated", "host", "version", "subscribers"]:
            self.assertIn(member, status)
        self.assertEqual((status["state"], status["network"], status["account"], status["run"]),
                         ("ready", "dev", "demo", 1))
        self.assertEqual((status["journal"], status["restarts"], status["last_exit"]), ("ok", 0, None))
        self.assertEqual(status["pid"], bus.host_pids()[0])
        for member in ["driver", "library", "version"]:
            self.assertIn(member, status["host"])
        networks = bus.call("network.list")["networks"]
        self.assertEqual([network["network"] if "network" in network else network["name"] for network in networks],
                         ["dev"])
        self.assertEqual(bus.call("account.list", {"network": "dev"}), bus.call("account.list"))
        for method in bus.call("bus.methods")["methods"]:
            self.assertGreater(len(method["summary"]), 10)
            self.assertIn("parameters", method)

    def test_the_open_rpc_document_describes_what_can_be_called(self):
        document = self.bus.call("rpc.discover")
        self.assertRegex(document["openrpc"], r"^1\.")
        described = {method["name"]: method for method in document["methods"]}
        listed = self.bus.call("bus.methods")["methods"]
        self.assertEqual(set(described), {method["name"] for method in listed})
        for method in listed:
            parameters = {parameter["name"]: parameter for parameter in described[method["name"]]["params"]}
            self.assertEqual(set(parameters), {parameter["name"] for parameter in method["parameters"]})
            for parameter in method["parameters"]:
                self.assertEqual(parameters[parameter["name"]]["required"], parameter["required"])
        pubkey = {parameter["name"]: parameter for parameter in described["fiber.open_channel"]["params"]}["pubkey"]
        self.assertRegex(KEY, pubkey["schema"]["pattern"])
        self.assertNotRegex(HASH, pubkey["schema"]["pattern"])

    def test_what_the_node_says_is_of_its_schema(self):
        self.bus.wait_for_kind("ChannelReady")
        schemas = self.bus.call("events.schema")["schemas"]
        self.assertEqual(len(schemas), 19)
        self.assertEqual(self.bus.call("events.schema", {"kind": "ChannelReady"})["schemas"],
                         {"ChannelReady": schemas["ChannelReady"]})
        said = [event for event in self.bus.read_all() if event.header["source"] == "fiber"]
        self.assertGreater(len({event.kind for event in said}), 3)
        for event in said:
            properties = schemas[event.kind]["properties"]
            self.assertEqual(set(event.payload), set(properties), event.kind)
            for name, value in event.payload.items():
                schema = properties[name]
                self.assertEqual(value, schema.get("const", value))
                self.assertRegex(str(value), schema.get("pattern", "^"))
                self.assertIs(type(value), {"array": list, "boolean": bool}.get(schema.get("type"), str))

    def test_null_is_the_same_as_leaving_a_parameter_out(self):
        self.bus.wait_for_kind("ChannelReady")
        self.assertEqual(self.bus.call("fiber.list_channels", {"pubkey": None}),
                         self.bus.call("fiber.list_channels"))

    def test_peers_and_channels(self):
        bus = self.bus
        subscription = bus.subscribe("dev/demo/fiber/")
        self.addCleanup(subscription.close)
        peers = {peer["name"]: peer for peer in bus.call("fiber.sim", {"peers": {}})["peers"]}
        carol = peers["carol"]
        self.assertNotIn(carol["pubkey"], [peer["pubkey"] for peer in bus.call("fiber.list_peers")["peers"]])
        self.assertEqual(bus.call("fiber.connect_peer", {"address": carol["address"]}), {})
        subscription.receive(lambda event: event.kind == "PeerConnected" and event.payload["pubkey"] == carol["pubkey"])
        self.assertIn(carol["pubkey"], [peer["pubkey"] for peer in bus.call("fiber.list_peers")["peers"]])

        def open_channel():
            # Right after PeerConnected the peer's Init message can still be on its way.
            try:
                return bus.call("fiber.open_channel", {"pubkey": "0x" + carol["pubkey"], "funding_amount": "200 CKB"})
            except BusError as error:
                self.assertIn("Init", error.message)
                return None

        temporary = wait_for(open_channel, "a peer past its Init")["temporary_channel_id"]
        self.assertRegex(temporary, "^0x[0-9a-f]{64}$")
        created = subscription.receive(
            lambda event: event.kind == "ChannelCreated" and event.payload["pubkey"] == carol["pubkey"])
        self.assertEqual(created.payload["channel_id"], temporary)
        ready = subscription.receive(
            lambda event: event.kind == "ChannelReady" and event.payload["pubkey"] == carol["pubkey"])
        channels = bus.call("fiber.list_channels", {"pubkey": carol["pubkey"]})["channels"]
        self.assertEqual([channel["channel_id"] for channel in channels], [ready.payload["channel_id"]])
        self.assertEqual(int(channels[0]["local_balance"], 16), 101 * 10**8, "200 CKB without the reserve of 99")

        self.assertEqual(bus.call("fiber.disconnect_peer", {"pubkey": carol["pubkey"]}), {})
        subscription.receive(
            lambda event: event.kind == "PeerDisConnected" and event.payload["pubkey"] == carol["pubkey"])

    def test_invoices_and_payments(self):
        bus = self.bus
        wait_for(lambda: bus.read_kinds("ChannelReady"), "a channel with bob")
        bob = bus.read_kinds("ChannelReady")[0].payload["pubkey"]
        invoice = bus.call("fiber.new_invoice", {"amount": "1.5 CKB", "currency": "Fibt", "description": "café ☕"})
        self.assertTrue(invoice["invoice"].startswith("fib"), invoice)
        for amount in ["150000000", "0x8f0d180", 150000000]:
            sent = bus.call("fiber.send_payment", {"target_pubkey": bob, "amount": amount, "keysend": True})
            hash = sent["payment_hash"]
            final = wait_for(lambda: self.final_payment(hash), "the payment's outcome")
            self.assertEqual(final["status"], "Success", final)
        balance = bus.call("fiber.list_channels", {"pubkey": bob})["channels"][0]["local_balance"]
        self.assertLessEqual(int(balance, 16), 401 * 10**8 - 3 * 150000000)
        trial = bus.call("fiber.send_payment", {
            "target_pubkey": bob, "amount": "1 CKB", "keysend": True, "dry_run": True})
        self.assertEqual(trial["status"], "Created")
        self.assert_error(*NODE, bus.call, "fiber.send_payment", {
            "target_pubkey": bob, "amount": "100000 CKB", "keysend": True})

    def final_payment(self, hash):
        payment = self.bus.call("fiber.get_payment", {"payment_hash": hash})
        return payment if payment["status"] in ("Success", "Failed") else None

    def test_a_node_error_does_not_repeat_the_request(self):
        preimage = "0x" + "5e" * 32
        first = {"amount": "5 CKB", "currency": "Fibt", "payment_preimage": preimage}
        self.bus.call("fiber.new_invoice", first)
        error = self.assert_error(*NODE, self.bus.call, "fiber.new_invoice", first)
        self.assertNotIn("5e5e5e", json.dumps(error.data) + error.message)
        self.assertNotIn("5e5e5e", self.bus.log())
        self.assertEqual(error.data["status"], "INVALID_ARGUMENT")
        self.assertEqual(error.data["status_code"], 2)

    def test_a_native_status_is_told(self):
        for status, code, name in [(5, -32003, "node_error"), (6, -32006, "not_ready")]:
            with self.subTest(status=status):
                pid = self.bus.wait_for_ready()["pid"]
                self.bus.fault("fiber_list_channels", f"status:{status}")
                error = self.assert_error(code, name, self.bus.call, "fiber.list_channels")
                self.assertEqual(error.data["status_code"], status)
                if status == 5:
                    # After a panic the node is not to be trusted: it is started again.
                    self.bus.wait_for_ready(other_than=pid)

    def test_events_are_read_from_where_they_are_asked(self):
        bus = self.bus
        bus.wait_for_kind("ChannelReady")  # the last event of a start
        bus.emit(100, kind="Mark")
        wait_for(lambda: len(bus.read_kinds("Mark")) == 100, "the events")
        events = bus.read_all()
        page = bus.call("events.read", {"after": 0, "limit": 7})
        self.assertEqual([event["header"]["seq"] for event in page["events"]], list(range(1, 8)))
        self.assertEqual((page["next"], page["oldest"], page["head"]), (7, 1, len(events)))
        self.assertEqual(page["epoch"], events[0].header["epoch"])
        oldest = bus.call("events.read", {"from": "oldest", "limit": 7})
        self.assertEqual(oldest["events"], page["events"])
        now = bus.call("events.read", {"from": "now"})
        self.assertEqual((now["events"], now["next"]), ([], len(events)))
        marks = bus.call("events.read", {"after": 0, "kinds": ["Mark"], "limit": 10})
        self.assertEqual({event["header"]["kind"] for event in marks["events"]}, {"Mark"})
        self.assertEqual(len(marks["events"]), 10)
        named = bus.call("events.read", {"after": 0, "limit": 7, "network": "dev", "account": "demo",
                                         "epoch": page["epoch"]})
        self.assertEqual(named["events"], page["events"])
        end = bus.call("events.read", {"after": len(events)})
        self.assertEqual((end["events"], end["next"]), ([], len(events)))
        error = self.assert_error(*CHANGED, bus.call, "events.read", {"after": len(events) + 1})
        self.assertEqual(error.data["head"], len(events))
        self.assertEqual(error.data["epoch"], page["epoch"])


if __name__ == "__main__":
    unittest.main()
