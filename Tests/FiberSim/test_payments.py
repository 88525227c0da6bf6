"""Lists of payments."""

import ctypes

from abi import options
from fresh import fresh
from test_node import NodeCase

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
