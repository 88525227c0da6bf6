"""Invoices read, cancelled and settled; payments that come in."""

import ctypes
import os
import signal

from abi import options
from fresh import fresh
from test_node import CKB, NodeCase

PREIMAGE = "0x" + "5a" * 32
SCRIPT = '{"code_hash":"0x%s","hash_type":"type","args":"0x0102"}' % ("ab" * 32)
# The molecule of SCRIPT: size, three offsets, code hash, type, length and bytes of the arguments.
MOLECULE = "0x" + "37000000" "10000000" "30000000" "31000000" + "ab" * 32 + "01" + "02000000" + "0102"


class InvoiceCase(NodeCase):
    def make(self, node, **members):
        members.setdefault("currency", 2)
        members.setdefault("amount", 3 * CKB)
        return node.text("fiber_new_invoice", ctypes.byref(options("FiberNewInvoiceOptions", **members)))

    def parse(self, node, text):
        return node.json("fiber_parse_invoice", text.encode())["invoice"]

    def hash_of(self, node, text):
        return self.parse(node, text)["data"]["payment_hash"]

    def get(self, node, payment_hash):
        return node.json("fiber_get_invoice", payment_hash.encode())

    def cancel(self, node, payment_hash):
        return node.json("fiber_cancel_invoice", payment_hash.encode())

    def settle(self, node, payment_hash, preimage):
        node.call("fiber_settle_invoice", payment_hash.encode(), preimage.encode())

    def wait_status(self, node, payment_hash, status):
        node.poll(lambda: self.get(node, payment_hash)["status"], lambda found: found == status)

    def funded(self, library, **arguments):
        """A node whose peer bob has 50 CKB in their channel."""
        node = self.ready(library, **arguments)
        if node.channels()[0]["remote_balance"] == "0x0":
            node.pay(target_pubkey=node.peers()["bob"]["pubkey"], amount=50 * CKB, has_amount=1, keysend=1,
                     has_keysend=1)
            node.wait_kind("PreimageRemoved")
            node.wait_kind("RemoteCommitmentSigned", 3)
        return node

    def hold(self, library, node):
        """A hold invoice and its hash."""
        payment_hash = library.control(hash={"preimage": PREIMAGE})["payment_hash"]
        return self.make(node, payment_hash=payment_hash), payment_hash

    def balances(self, node):
        channel = node.channels()[0]
        return tuple(int(channel[name], 16) // CKB for name in (
            "local_balance", "offered_tlc_balance", "remote_balance", "received_tlc_balance"))


class Reading(InvoiceCase):
    @fresh
    def test_everything_that_was_asked_for_is_in_the_text(self, library):
        node = self.ready(library)
        text = self.make(
            node, amount=2**100, description="coffee", expiry=3600, has_expiry=1, fallback_address="ckt1qq",
            final_expiry_delta=9600001, has_final_expiry_delta=1, udt_type_script_json=SCRIPT, hash_algorithm=2,
            allow_mpp=1, has_allow_mpp=1, allow_trampoline_routing=1, has_allow_trampoline_routing=1)
        parsed = self.parse(node, text)
        self.assertEqual(set(parsed), {"currency", "amount", "signature", "data"})
        self.assertEqual((parsed["currency"], parsed["amount"], parsed["signature"]), ("Fibt", hex(2**100), None))
        data = parsed["data"]
        self.assertEqual(set(data), {"timestamp", "payment_hash", "attrs"})
        self.assertRegex(data["timestamp"], "^0x[1-9a-f][0-9a-f]*$")
        self.assertRegex(data["payment_hash"], "^0x[0-9a-f]{64}$")
        self.assertTrue(all(len(attribute) == 1 for attribute in data["attrs"]))
        attributes = {name: value for attribute in data["attrs"] for name, value in attribute.items()}
        self.assertRegex(attributes.pop("payment_secret"), "^0x[0-9a-f]{64}$")
        self.assertEqual(attributes, {
            "description": "coffee", "expiry_time": "0xe10", "final_htlc_minimum_expiry_delta": "0x927c01",
            "fallback_addr": "ckt1qq", "udt_script": MOLECULE, "hash_algorithm": "sha256",
            "payee_public_key": node.json("fiber_node_info")["pubkey"],
            "feature": ["BASIC_MPP_OPTIONAL", "TRAMPOLINE_ROUTING_OPTIONAL"]})
        node.stop()

    @fresh
    def test_what_was_not_asked_for_is_absent(self, library):
        node = self.ready(library)
        attributes = self.parse(node, self.make(node))["data"]["attrs"]
        self.assertEqual(
            [next(iter(a)) for a in attributes], ["final_htlc_minimum_expiry_delta", "payee_public_key"])
        of_bob = self.parse(node, library.control(invoice={"peer": "bob", "amount": 7})["invoice"])
        self.assertIn({"payee_public_key": node.peers()["bob"]["pubkey"]}, of_bob["data"]["attrs"])
        node.stop()

    @fresh
    def test_garbage_is_refused_with_the_words_of_a_decoder(self, library):
        node = self.ready(library)
        text = self.make(node)
        other = text[:-1] + ("p" if text[-1] == "q" else "q")
        for garbage, words in [("", "Bech32 error: missing human-readable separator"), ("fibt", "Bech32 error: "),
                               (other, "Bech32 error: invalid checksum"), (text + "b", "Bech32 error: invalid char"),
                               ("fibt1qq", "Bech32 error: invalid length"), (text[:-7], "Bech32 error: ")]:
            self.assertRefused(words, self.parse, node, garbage)
        node.stop()

    @fresh
    def test_own_invoices_only(self, library):
        node = self.ready(library)
        text = self.make(node)
        payment_hash = self.hash_of(node, text)
        got = self.get(node, payment_hash[2:])
        self.assertEqual(got, {"invoice_address": text, "invoice": self.parse(node, text), "status": "Open"})
        of_bob = library.control(invoice={"peer": "bob", "amount": 7})["payment_hash"]
        self.assertRefused("invoice not found", self.get, node, of_bob)
        self.assertRefused("invoice not found", self.cancel, node, of_bob)
        self.assertRefused("Invoice not found", self.settle, node, of_bob, PREIMAGE)
        self.assertFails(2, "invalid hash length", self.get, node, "12")
        self.assertFails(2, "invalid hash hex", self.settle, node, "zz", PREIMAGE)
        node.stop()

    @fresh
    def test_an_invoice_is_cancelled_once_and_an_expired_one_says_so(self, library):
        node = self.ready(library)
        text = self.make(node)
        payment_hash = self.hash_of(node, text)
        self.assertEqual(self.cancel(node, payment_hash), {
            "invoice_address": text, "invoice": self.parse(node, text), "status": "Cancelled"})
        self.assertRefused("invoice can not be canceled, current status: Cancelled", self.cancel, node, payment_hash)
        expired = self.hash_of(node, self.make(node, expiry=0, has_expiry=1))
        self.assertEqual(self.get(node, expired)["status"], "Expired")
        self.assertEqual(self.cancel(node, expired)["status"], "Cancelled")
        node.stop()


class Receiving(InvoiceCase):
    @fresh
    def test_a_peer_pays_an_invoice_once(self, library):
        node = self.funded(library)
        self.assertEqual(self.balances(node), (351, 0, 50, 0))
        text = self.make(node)
        payment_hash = library.control(pay={"peer": "bob", "invoice": text})["payment_hash"]
        self.assertEqual(payment_hash, self.hash_of(node, text))
        node.wait_kind("PreimageCreated", payment_hash=payment_hash, redacted=True)
        node.wait_kind("PreimageRemoved", payment_hash=payment_hash)
        self.assertEqual(self.get(node, payment_hash)["status"], "Paid")
        self.assertEqual(self.balances(node), (354, 0, 47, 0))
        self.assertRefused("invoice can not be canceled, current status: Paid", self.cancel, node, payment_hash)
        before = len(node.kinds())
        library.control(pay={"peer": "bob", "invoice": text})
        node.wait(lambda events: len(events) == before + 6, "the coming and going of a second payment")
        self.assertEqual(self.balances(node), (354, 0, 47, 0))
        node.stop()

    @fresh
    def test_without_an_invoice_and_through_another_peer(self, library):
        node = self.funded(library)
        for count, peer in enumerate(("bob", "dave", "carol"), 1):
            library.control(pay={"peer": peer, "amount": CKB})
            node.poll(lambda: self.balances(node), lambda found: found == (351 + count, 0, 50 - count, 0))
        node.stop()

    @fresh
    def test_what_cannot_be_paid(self, library):
        node = self.funded(library)
        text = self.make(node)
        of_bob = library.control(invoice={"peer": "bob", "amount": 7})["invoice"]
        for members, words in [({"peer": "eve", "amount": 1}, "no peer named"), ({"peer": "bob"}, "takes an invoice"),
                               ({"peer": "bob", "invoice": of_bob}, "is not of this node"),
                               ({"peer": "bob", "invoice": text, "amount": 1}, "takes an invoice"),
                               ({"peer": "bob", "invoice": text[:-1]}, "pay.invoice: Bech32"),
                               ({"peer": "bob", "amount": 51 * CKB}, "no channel through which bob")]:
            self.assertFails(2, words, library.control, pay=members)
        self.assertEqual(self.balances(node), (351, 0, 50, 0))
        node.stop()

    @fresh
    def test_a_cancelled_or_expired_invoice_sends_the_payment_back(self, library):
        node = self.funded(library)
        cancelled = self.make(node)
        self.cancel(node, self.hash_of(node, cancelled))
        for text in (cancelled, self.make(node, expiry=0, has_expiry=1)):
            before = len(node.kinds())
            library.control(pay={"peer": "bob", "invoice": text})
            node.wait(lambda events: len(events) == before + 6, "the coming and going")
            self.assertEqual(self.balances(node), (351, 0, 50, 0))
        node.stop()

    @fresh
    def test_a_hold_invoice_waits_for_its_preimage(self, library):
        node = self.funded(library)
        text, payment_hash = self.hold(library, node)
        self.assertRefused("Invoice is still open", self.settle, node, payment_hash, PREIMAGE)
        library.control(pay={"peer": "bob", "invoice": text})
        self.wait_status(node, payment_hash, "Received")
        self.assertEqual(self.balances(node), (351, 0, 47, 3))
        tlc = node.channels()[0]["pending_tlcs"][0]
        self.assertEqual(set(tlc), {
            "id", "amount", "payment_hash", "expiry", "forwarding_channel_id", "forwarding_tlc_id", "status"})
        self.assertEqual(
            (tlc["amount"], tlc["payment_hash"], tlc["status"]),
            (hex(3 * CKB), payment_hash, {"Inbound": "Committed"}))
        before = len(node.kinds())
        library.control(pay={"peer": "bob", "invoice": text})
        node.wait(lambda events: len(events) == before + 6, "the coming and going of a second payment")
        self.assertEqual(self.balances(node), (351, 0, 47, 3))
        self.assertRefused("Hash mismatch", self.settle, node, payment_hash, "0x" + "5b" * 32)
        self.settle(node, payment_hash, PREIMAGE)
        self.wait_status(node, payment_hash, "Paid")
        node.wait_kind("PreimageRemoved", payment_hash=payment_hash)
        created = [e for e in node.events if e["kind"] == "PreimageCreated" and e["payment_hash"] == payment_hash]
        self.assertEqual(len(created), 1)
        self.assertEqual(self.balances(node), (354, 0, 47, 0))
        self.assertRefused("Invoice is already paid", self.settle, node, payment_hash, PREIMAGE)
        node.stop()

    @fresh
    def test_a_cancelled_hold_invoice_gives_the_payment_back(self, library):
        node = self.funded(library)
        text, payment_hash = self.hold(library, node)
        library.control(pay={"peer": "bob", "invoice": text})
        self.wait_status(node, payment_hash, "Received")
        self.assertEqual(self.cancel(node, payment_hash)["status"], "Cancelled")
        node.poll(lambda: self.balances(node), lambda found: found == (351, 0, 50, 0))
        self.assertRefused("Invoice is already cancelled", self.settle, node, payment_hash, PREIMAGE)
        self.assertNotIn(payment_hash, [e["payment_hash"] for e in node.events if e["kind"] == "PreimageCreated"])
        node.stop()

    def test_a_held_payment_survives_a_kill(self):
        def first(library):
            node = self.funded(library)
            text, payment_hash = self.hold(library, node)
            library.control(pay={"peer": "bob", "invoice": text})
            self.wait_status(node, payment_hash, "Received")
            os.kill(os.getpid(), signal.SIGKILL)

        def second(library):
            node = self.ready(library)
            payment_hash = library.control(hash={"preimage": PREIMAGE})["payment_hash"]
            self.assertEqual(self.get(node, payment_hash)["status"], "Received")
            self.assertEqual(self.balances(node), (351, 0, 47, 3))
            node.call("fiber_disconnect_peer", node.peers()["bob"]["pubkey"].encode())
            self.settle(node, payment_hash, PREIMAGE)
            self.assertEqual(self.get(node, payment_hash)["status"], "Received", "the peer is not there to take it")
            value = options("FiberConnectPeerOptions", pubkey=node.peers()["bob"]["pubkey"])
            node.call("fiber_connect_peer", ctypes.byref(value))
            self.wait_status(node, payment_hash, "Paid")
            self.assertEqual(self.balances(node), (354, 0, 47, 0))
            node.stop()

        self.assertEqual(self.child(first).signal, signal.SIGKILL)
        self.succeed(second)
