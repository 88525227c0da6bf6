"""Lists of payments, routes, and payments over a given route."""

import ctypes
import json

from abi import options
from fresh import fresh
from test_node import CKB, STRANGER, NodeCase

SHAPE = {"payment_hash", "status", "created_at", "last_updated_at", "failed_error", "fee", "custom_records"}


class PaymentCase(NodeCase):
    def list(self, node, **members):
        return node.json("fiber_list_payments", ctypes.byref(options("FiberListPaymentsOptions", **members)))

    def keysend(self, node, peer="bob", amount=1000, **members):
        return node.pay(
            target_pubkey=node.peers()[peer]["pubkey"], amount=amount, has_amount=1, keysend=1, has_keysend=1,
            **members)

    def outcome(self, node, payment_hash):
        return node.poll(lambda: node.payment(payment_hash), lambda p: p["status"] in ("Success", "Failed"))


class Lists(PaymentCase):
    def walk(self, node, limit):
        """All pages, each from the cursor of the one before."""
        rows, members = [], {}
        while True:
            page = self.list(node, limit=limit, has_limit=1, **members)
            self.assertEqual(set(page), {"payments", "last_cursor"})
            self.assertLessEqual(len(page["payments"]), limit)
            if not page["payments"]:
                self.assertIsNone(page["last_cursor"])
                return rows
            self.assertEqual(page["last_cursor"], page["payments"][-1]["payment_hash"])
            rows += page["payments"]
            members = {"after": page["last_cursor"]}

    def test_pages_filters_and_a_restart(self):
        def first(library):
            node = self.ready(library)
            self.assertEqual(self.list(node), {"payments": [], "last_cursor": None})
            hashes = [self.keysend(node, amount=n + 1)["payment_hash"] for n in range(17)]
            unknown = "0x" + "55" * 32
            node.pay(target_pubkey=node.peers()["bob"]["pubkey"], amount=9, has_amount=1, payment_hash=unknown)
            for payment_hash in hashes + [unknown]:
                self.outcome(node, payment_hash)
            self.keysend(node, dry_run=1, has_dry_run=1)
            self.assertEqual(len(self.list(node)["payments"]), 15, "15 unless another limit is given")
            rows = self.walk(node, 4)
            self.assertEqual([row["payment_hash"] for row in rows], sorted(hashes + [unknown]))
            self.assertEqual(rows, self.walk(node, 100))
            for row in rows:
                self.assertEqual(set(row), SHAPE)
                self.assertEqual(row, node.payment(row["payment_hash"]))
            for status, name, count in ((1, "Created", 0), (2, "Inflight", 0), (3, "Success", 17), (4, "Failed", 1)):
                found = self.list(node, status=status, limit=100, has_limit=1)["payments"]
                self.assertEqual([row["status"] for row in found], [name] * count)
            self.assertEqual(self.list(node, limit=0, has_limit=1), {"payments": [], "last_cursor": None})
            self.assertEqual(self.list(node, limit=2**64 - 1, has_limit=1)["payments"], rows)
            self.assertEqual(self.list(node, limit=3)["payments"], rows[:15], "a limit without its flag is none")
            # Exclusive, with or without 0x, and the hash need not be there.
            self.assertEqual(self.list(node, after=rows[3]["payment_hash"][2:])["payments"], rows[4:19])
            self.assertEqual(self.list(node, after="ff" * 32)["payments"], [])
            self.assertFails(2, "invalid native options: invalid hash hex '12'", self.list, node, after="12")
            node.stop()

        def second(library):
            node = self.ready(library)
            self.assertEqual(len(self.walk(node, 5)), 18)
            node.stop()
        self.succeed(first)
        self.succeed(second)


class Routes(PaymentCase):
    def build(self, node, hops, **members):
        hops = hops if isinstance(hops, str) else json.dumps(hops)
        return node.json("fiber_build_router", ctypes.byref(options(
            "FiberBuildRouterOptions", hops_info_json=hops, **members)))["router_hops"]

    def pay_by(self, node, router, **members):
        return node.json("fiber_send_payment_with_router", ctypes.byref(options(
            "FiberSendPaymentWithRouterOptions", router_json=json.dumps(router), **members)))

    def hops(self, node, *names, outpoint=None):
        return [{"pubkey": node.peers()[name]["pubkey"], "channel_outpoint": outpoint} for name in names]

    @fresh
    def test_amounts_and_expiries_grow_towards_the_payer(self, library):
        node = self.ready(library)
        router = self.build(node, self.hops(node, "bob", "dave", "carol"), amount=10**6, has_amount=1,
                            final_tlc_expiry_delta=9600000, has_final_tlc_expiry_delta=1)
        peers = node.peers()
        self.assertTrue(all(set(hop) == {
            "target", "channel_outpoint", "amount_received", "incoming_tlc_expiry"} for hop in router))
        self.assertEqual([hop["target"] for hop in router], [peers[n]["pubkey"] for n in ("bob", "dave", "carol")])
        self.assertEqual(router[0]["channel_outpoint"], node.channels()[0]["channel_outpoint"])
        self.assertTrue(all(len(hop["channel_outpoint"]) == 74 for hop in router))
        self.assertEqual([int(hop["amount_received"], 16) for hop in router], [1002001, 1001000, 1000000])
        self.assertEqual([int(hop["incoming_tlc_expiry"], 16) for hop in router], [38400000, 24000000, 9600000])
        one = self.build(node, self.hops(node, "bob"))[0]
        self.assertEqual((one["amount_received"], one["incoming_tlc_expiry"]), ("0x1", hex(86400000)))
        given = self.hops(node, "bob", outpoint=node.channels()[0]["channel_outpoint"])
        self.assertEqual(self.build(node, given), [one])
        node.stop()

    @fresh
    def test_what_makes_no_route(self, library):
        node = self.ready(library)
        no_path = "Failed to build route, PathFind error: no path found"
        wrong = "0x" + "12" * 36
        for hops, members, text in [
                ([], {}, "InvalidParameter: Hops are empty"),
                (self.hops(node, "bob"), {"amount": 0, "has_amount": 1}, "InvalidParameter: Invalid amount"),
                (self.hops(node, "bob"), {"amount": 2**128 - 1, "has_amount": 1}, "InvalidParameter: Invalid amount"),
                (self.hops(node, "bob"), {"final_tlc_expiry_delta": 1, "has_final_tlc_expiry_delta": 1},
                 "InvalidParameter: final_tlc_expiry_delta"),
                (self.hops(node, "dave"), {}, no_path), (self.hops(node, "bob", "bob"), {}, no_path),
                (self.hops(node, "bob", outpoint=wrong), {}, no_path),
                (self.hops(node, "bob") + self.hops(node, "dave", outpoint=wrong), {}, no_path),
                (self.hops(node, "bob") + [{"pubkey": STRANGER}], {}, no_path),
                (self.hops(node, "bob"), {"amount": 401 * CKB + 1, "has_amount": 1}, no_path),
                (self.hops(node, "bob", "dave"), {"amount": 401 * CKB, "has_amount": 1}, no_path)]:
            self.assertRefused(text, self.build, node, hops, **members)
        for hops, text in [("{}", "invalid type: map"), ("[{}]", "missing field `pubkey`"),
                           ('[{"pubkey":"zz"}]', "invalid pubkey hex 'zz'"), ('[{"pubkey":1}]', "invalid pubkey hex"),
                           ([{"pubkey": STRANGER, "channel_outpoint": "0x12"}], "invalid length of an outpoint"),
                           ([{"pubkey": STRANGER, "channel_outpoint": "12"}], "hex string does not start with 0x")]:
            self.assertFails(2, "invalid native options: " + text, self.build, node, hops)
        node.stop()

    @fresh
    def test_paying_over_a_route(self, library):
        node = self.ready(library)
        router = self.build(node, self.hops(node, "bob", "dave"), amount=CKB, has_amount=1)
        fee = CKB // 1000
        dry = self.pay_by(node, router, keysend=1, has_keysend=1, dry_run=1, has_dry_run=1)
        self.assertEqual((dry["status"], dry["fee"], set(dry)), ("Created", hex(fee), SHAPE))
        self.assertEqual(library.control(counters={})["payments_made"], 0)
        paid = self.pay_by(node, router, keysend=1, has_keysend=1, custom_records_json='{"0x1":"0x02"}')
        done = self.outcome(node, paid["payment_hash"])
        self.assertEqual((done["status"], done["fee"], done["custom_records"]), ("Success", hex(fee), {"0x1": "0x02"}))
        made = library.control(invoice={"peer": "dave", "amount": CKB})
        self.assertEqual(self.pay_by(node, router, invoice=made["invoice"])["payment_hash"], made["payment_hash"])
        self.assertRefused("InvalidParameter: Payment session already exists: " + made["payment_hash"], self.pay_by,
                           node, router, invoice=made["invoice"])
        self.assertEqual(self.outcome(node, made["payment_hash"])["status"], "Success")
        channel = node.channels()[0]
        self.assertEqual((channel["local_balance"], channel["remote_balance"]),
                         (hex(401 * CKB - 2 * (CKB + fee)), hex(2 * (CKB + fee))))
        unknown = self.pay_by(node, router, payment_hash="55" * 32)
        self.assertEqual(self.outcome(node, unknown["payment_hash"])["failed_error"],
                         "IncorrectOrUnknownPaymentDetails")
        node.stop()

    @fresh
    def test_a_route_that_was_tampered_with_fails_on_the_way(self, library):
        node = self.ready(library)
        for index, member, value, error in [
                (0, "amount_received", hex(CKB + CKB // 1000 - 1), "FeeInsufficient"),
                (0, "incoming_tlc_expiry", hex(100799999), "IncorrectTlcExpiry"),
                (1, "channel_outpoint", "0x" + "12" * 36, "UnknownNextPeer"),
                (1, "incoming_tlc_expiry", "0x1", "FinalIncorrectExpiryDelta")]:
            router = self.build(node, self.hops(node, "bob", "dave"), amount=CKB, has_amount=1)
            router[index][member] = value
            done = self.outcome(node, self.pay_by(node, router, keysend=1, has_keysend=1)["payment_hash"])
            self.assertEqual((done["status"], done["failed_error"]), ("Failed", error))
        node.poll(lambda: node.channels()[0]["local_balance"], lambda balance: balance == hex(401 * CKB))
        away = self.build(node, self.hops(node, "bob", "carol"), amount=CKB, has_amount=1)
        done = self.outcome(node, self.pay_by(node, away, keysend=1, has_keysend=1)["payment_hash"])
        self.assertEqual(done["failed_error"], "UnknownNextPeer")
        node.stop()

    @fresh
    def test_refusals(self, library):
        node = self.ready(library)
        router = self.build(node, self.hops(node, "bob", "dave"), amount=CKB, has_amount=1)
        keysend = {"keysend": 1, "has_keysend": 1}
        of_dave = library.control(invoice={"peer": "dave", "amount": CKB - 1})["invoice"]
        of_bob = library.control(invoice={"peer": "bob", "amount": CKB})["invoice"]
        small = [dict(router[0], amount_received="0x1"), router[1]]
        for hops, members, text in [
                ([], keysend, "Hops are empty"), (router, {}, "payment_hash is missing"),
                (router, {"payment_hash": "55" * 32, **keysend}, "keysend payment should not have payment_hash"),
                (router, {"invoice": of_dave, **keysend}, "keysend payment should not have invoice"),
                (router, {"invoice": of_dave}, "amount does not match the invoice"),
                (router, {"invoice": of_bob}, "target_pubkey does not match the invoice"),
                (router, {"invoice": "fibt"}, "invoice is invalid"), (small, keysend, "Invalid amount"),
                (router[:1] + [dict(router[1], amount_received="0x0")], keysend, "amount must be greater than 0"),
                (router, {"custom_records_json": '{"0x1":"0x%s"}' % ("00" * 2049), **keysend}, "the sum size")]:
            self.assertRefused(
                'InvalidParameter: Failed to validate payment request: "' + text, self.pay_by, node, hops, **members)
        for hop, text in [({}, "missing field `target`"), (dict(router[0], target="zz"), "invalid pubkey hex 'zz'"),
                          (dict(router[0], amount_received="0x01"), "uint hex string starts with redundant"),
                          (dict(router[0], incoming_tlc_expiry="0x" + "f" * 17), "invalid uint hex string"),
                          (dict(router[0], amount_received=1), "invalid type: integer")]:
            self.assertFails(2, "invalid native options: " + text, self.pay_by, node, [hop], **keysend)
        elsewhere = [dict(router[0], channel_outpoint="0x" + "12" * 36), router[1]]
        self.assertRefused("Send payment error: Failed to build route, PathFind error: no path found", self.pay_by,
                           node, elsewhere, **keysend)
        self.assertEqual(node.channels()[0]["local_balance"], hex(401 * CKB))
        node.stop()
