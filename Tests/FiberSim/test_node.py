"""What the node does: peers, channels, payments, invoices, and what of it survives a restart."""

import ctypes
import json
import os
import re
import signal
import threading

import abi
from abi import SIMULATION, Node, options
from fresh import FreshCase, fresh

CKB = 10**8
STRANGER = "02" + "33" * 32
SLOW_CHAIN = SIMULATION.replace("30ms", "1h")


def message(text):
    """The message of an ErrorObject, unescaped."""
    found = re.fullmatch(
        r'ErrorObject \{ code: ServerError\(-32000\), message: ("(?:[^"\\]|\\.)*"), '
        r'data: Some\(RawValue\((.*)\)\) \}', text)
    assert found, text
    json.loads(found.group(2))
    return json.loads(found.group(1))


class NodeCase(FreshCase):
    def assertRefused(self, text, call, *arguments, **named):
        """Status 2 with an ErrorObject around a message that begins like this."""
        whole = self.assertFails(2, "ErrorObject", call, *arguments, **named)
        self.assertTrue(message(whole).startswith(text), whole)

    def ready(self, library, **arguments):
        node = self.node(library, **arguments)
        node.wait_kind("ChannelReady")
        node.wait_kind("PeerConnected", pubkey=node.peers()["dave"]["pubkey"])
        return node


class Peers(NodeCase):
    def connect(self, node, **members):
        node.call("fiber_connect_peer", ctypes.byref(options("FiberConnectPeerOptions", **members)))

    @fresh
    def test_connect_list_and_disconnect(self, library):
        node = self.ready(library)
        carol = node.peers()["carol"]
        for members in ({"address": carol["address"]}, {"pubkey": carol["pubkey"]},
                        {"address": carol["address"].split("/p2p/")[0]}, {"pubkey": "0x" + carol["pubkey"]}):
            count = sum(kind == "PeerConnected" for kind in node.kinds())
            self.connect(node, **members)
            node.wait_kind("PeerConnected", count + 1)
            listed = node.json("fiber_list_peers")["peers"]
            self.assertIn({"pubkey": carol["pubkey"], "address": carol["address"]}, listed)
            self.assertEqual(len(listed), 3)
            gone = sum(kind == "PeerDisConnected" for kind in node.kinds())
            node.call("fiber_disconnect_peer", carol["pubkey"].encode())
            event = node.wait_kind("PeerDisConnected", gone + 1)
            self.assertEqual((event["pubkey"], event["addr"]), (carol["pubkey"], carol["address"]))
            self.assertEqual(len(node.json("fiber_list_peers")["peers"]), 2)
        node.stop()

    @fresh
    def test_refusals(self, library):
        node = self.ready(library)
        bob = node.peers()["bob"]
        for members, text in [
                ({}, "exactly one of address or pubkey must be set"),
                ({"address": bob["address"], "pubkey": bob["pubkey"]}, "exactly one of address or pubkey must be set"),
                ({"address": "", "pubkey": bob["pubkey"]}, "address must not be empty"),
                ({"pubkey": ""}, "pubkey must not be empty"), ({"address": "bob"}, "invalid multiaddr"),
                ({"address": "/ip4/1.2.3.4/tcp/99999"}, "invalid multiaddr"),
                ({"address": "/ip4/1.2.3.4/tcp/1/p2p/"}, "invalid multiaddr"),
                ({"pubkey": "zz"}, "invalid pubkey hex: "),
                ({"pubkey": "02" * 32}, "pubkey must be 33 bytes compressed secp256k1 key"),
                ({"pubkey": "04" + "11" * 32}, "invalid pubkey: "),
                ({"pubkey": bob["pubkey"], "addr_type": "udp"}, "addr_type must be tcp, ws, or wss"),
                ({"pubkey": STRANGER}, "Peer not found error: Pubkey(%s)" % STRANGER)]:
            self.assertFails(2, text, self.connect, node, **members)
        self.connect(node, address=bob["address"], addr_type="udp")
        self.connect(node, address="/ip4/203.0.113.1/tcp/8228")
        for key, text in [(STRANGER, "peer Pubkey(%s) is not connected" % STRANGER), ("", "pubkey must be 33 bytes"),
                          (node.peers()["carol"]["pubkey"], "is not connected")]:
            self.assertFails(2, text, node.call, "fiber_disconnect_peer", key.encode())
        self.assertEqual(sum(kind == "PeerConnected" for kind in node.kinds()), 2)
        node.stop()

    def test_a_saved_peer_is_dialled_at_the_next_start(self):
        def start(save):
            def body(library):
                node = self.ready(library)
                carol = node.peers()["carol"]
                self.assertEqual(carol["connected"], save is None)
                if save is not None:
                    self.connect(node, address=carol["address"], save=save)
                    node.wait_kind("PeerConnected", pubkey=carol["pubkey"])
                node.stop()
            return body
        self.succeed(start(0))
        self.succeed(start(1))

        def third(library):
            node = self.ready(library)
            node.wait_kind("PeerConnected", pubkey=node.peers()["carol"]["pubkey"])
            node.stop()
        self.succeed(third)

    @fresh
    def test_a_lost_peer_takes_its_channel_offline_and_brings_it_back(self, library):
        node = self.ready(library)
        bob = node.peers()["bob"]["pubkey"]
        channel = node.channels()[0]
        node.call("fiber_disconnect_peer", bob.encode())
        event = node.wait_kind("ChannelOffline")
        self.assertEqual(event["channel_id"], channel["channel_id"])
        self.assertEqual(event["out_point"], "OutPoint(%s)" % channel["channel_outpoint"])
        self.connect(node, pubkey=bob)
        node.wait_kind("ChannelReady", 2)
        kinds = [event["kind"] for event in node.events if event.get("pubkey") == bob]
        self.assertEqual(kinds[-4:], ["PeerConnected", "ChannelCreated", "ChannelOnline", "ChannelReady"])
        node.stop()


class Channels(NodeCase):
    def open(self, node, peer="dave", amount=200 * CKB, **members):
        value = options("FiberOpenChannelOptions", pubkey=node.peers()[peer]["pubkey"], funding_amount=amount)
        for name, member in members.items():
            setattr(value, "has_" + name.rstrip("_"), 1)
            setattr(value, name, abi.STRUCTS["FiberU128"](member) if name == "tlc_min_value" else member)
        return node.text("fiber_open_channel", ctypes.byref(value))

    def open_when_met(self, node, peer="dave", **arguments):
        """A peer that has just connected has yet to say Init."""
        def attempt():
            try:
                return self.open(node, peer, **arguments)
            except abi.Failure as failure:
                return None if "waiting for peer to send Init message" in failure.text else self.fail(failure.text)
        return node.poll(attempt, lambda answer: answer is not None)

    @fresh
    def test_opening(self, library):
        node = self.ready(library)
        dave = node.peers()["dave"]["pubkey"]
        temporary = self.open_when_met(node)
        self.assertRegex(temporary, "^0x[0-9a-f]{64}$")
        self.assertEqual(node.wait_kind("ChannelCreated", pubkey=dave)["channel_id"], temporary)
        ready = node.wait_kind("ChannelReady", pubkey=dave)
        self.assertNotEqual(ready["channel_id"], temporary)
        final = [e for e in node.events if e.get("channel_id") == ready["channel_id"]]
        self.assertEqual([e["kind"] for e in final], [
            "RemoteTxComplete", "RemoteCommitmentSigned", "LocalCommitmentSigned", "ChannelReady"])
        self.assertEqual([e.get("redacted") for e in final], [True, True, True, None])
        self.assertNotIn("pubkey", final[2])
        newest, oldest = node.channels()
        self.assertEqual(newest["channel_id"], ready["channel_id"])
        self.assertEqual(set(newest), {
            "channel_id", "is_public", "is_acceptor", "is_one_way", "channel_outpoint", "pubkey",
            "funding_udt_type_script", "state", "local_balance", "offered_tlc_balance", "remote_balance",
            "received_tlc_balance", "pending_tlcs", "latest_commitment_transaction_hash", "created_at", "enabled",
            "tlc_expiry_delta", "tlc_fee_proportional_millionths", "shutdown_transaction_hash", "failure_detail"})
        self.assertEqual(newest["local_balance"], hex(101 * CKB), "99 CKB stay locked")
        self.assertEqual(oldest["local_balance"], "0x956257100")
        self.assertEqual(newest["state"], {"state_name": "ChannelReady"})
        self.assertEqual((newest["is_public"], newest["remote_balance"]), (True, "0x0"))
        self.assertRegex(newest["channel_outpoint"], "^0x[0-9a-f]{64}00000000$")
        self.assertEqual([c["channel_id"] for c in node.channels(pubkey=dave)], [newest["channel_id"]])
        self.assertEqual(node.json("fiber_node_info")["channel_count"], 2)
        node.stop()

    @fresh
    def test_refusals(self, library):
        node = self.ready(library)
        self.open_when_met(node)
        for arguments, text in [
                ({"amount": 98 * CKB}, "InvalidParameter: The funding amount (9800000000) should be greater than "
                                       "or equal to 9900000000"),
                ({"public_": 1, "one_way": 1}, "InvalidParameter: An one-way channel cannot be public"),
                ({"one_way": 1}, "InvalidParameter: An one-way channel cannot be public"),
                ({"tlc_expiry_delta": 9599999}, "InvalidParameter: TLC expiry delta is too small"),
                ({"max_tlc_number_in_flight": 254}, "InvalidParameter: The max tlc number"),
                ({"peer": "carol"}, "InvalidParameter: Peer Pubkey(")]:
            self.assertRefused(text, self.open, node, **arguments)
        value = options(
            "FiberOpenChannelOptions", pubkey=node.peers()["dave"]["pubkey"], funding_amount=1,
            funding_udt_type_script_json='{"code_hash":"0x%s","hash_type":"type","args":"0x"}' % ("00" * 32))
        self.assertRefused(
            "InvalidParameter: Invalid UDT type script", node.text, "fiber_open_channel", ctypes.byref(value))
        self.assertEqual(len([e for e in node.events if e["kind"] == "ChannelCreated"]), 2)
        node.stop()

    @fresh
    def test_a_peer_has_to_say_init_first(self, library):
        node = Node(library, self.directory)
        failures = []
        node.start()
        node.wait_kind("PeerConnected")
        carol = node.peers()["carol"]["pubkey"]
        value = options("FiberConnectPeerOptions", pubkey=carol)
        node.call("fiber_connect_peer", ctypes.byref(value))
        self.assertRefused("InvalidParameter: Peer Pubkey(%s)'s feature not found, waiting for peer to send Init "
                           "message" % carol, self.open, node, "carol")
        self.open_when_met(node, "carol")
        node.wait_kind("ChannelReady", pubkey=carol)
        node.stop()

    @fresh
    def test_pending_channels(self, library):
        node = self.node(library, config=SLOW_CHAIN)
        node.wait_kind("LocalCommitmentSigned")
        info = node.json("fiber_node_info")
        self.assertEqual((info["channel_count"], info["pending_channel_count"]), (0, 1))
        pending = node.channels(has_only_pending=1, only_pending=1)
        self.assertEqual(pending[0]["state"]["state_name"], "AwaitingChannelReady")
        self.assertEqual(pending, node.channels())
        self.assertRefused(
            "only_pending and include_closed are mutually exclusive", node.channels, has_only_pending=1,
            only_pending=1, has_include_closed=1, include_closed=1)
        node.channels(has_only_pending=1, only_pending=0, include_closed=1)
        node.stop()

    @fresh
    def test_a_disconnection_during_the_opening_aborts_it(self, library):
        node = self.ready(library)
        self.open_when_met(node)
        dave = node.peers()["dave"]["pubkey"]
        node.call("fiber_disconnect_peer", dave.encode())
        aborted = node.wait_kind("ChannelFundingAborted")
        self.assertNotIn("pubkey", aborted)
        self.assertEqual(len(node.channels()), 1)
        failed = node.channels(has_only_pending=1, only_pending=1)[0]
        self.assertEqual(failed["failure_detail"], "Peer disconnected during channel opening")
        self.assertEqual(failed["state"], {"state_name": "Closed", "state_flags": "FUNDING_ABORTED"})
        node.stop()

    def test_a_restart_goes_on_with_what_the_chain_has_yet_to_confirm(self):
        def first(library):
            node = self.node(library, config=SLOW_CHAIN)
            node.wait_kind("LocalCommitmentSigned")
            os.kill(os.getpid(), signal.SIGKILL)

        def second(library):
            node = self.node(library)
            node.wait_kind("ChannelReady")
            self.assertEqual(len(node.channels(has_include_closed=1, include_closed=1)), 1)
            node.stop()
        self.assertEqual(self.child(first).signal, signal.SIGKILL)
        self.succeed(second)

    def test_a_kill_during_the_opening_aborts_it_and_the_configured_channel_is_opened_anew(self):
        def first(library):
            node = Node(library, self.directory)
            node.hook = lambda pointer, event: event["kind"] == "RemoteTxComplete" and os.kill(
                os.getpid(), signal.SIGKILL)
            node.start()
            node.wait_kind("ChannelReady")

        def second(library):
            node = self.node(library)
            node.wait_kind("ChannelFundingAborted")
            node.wait_kind("ChannelReady")
            channels = node.channels(has_include_closed=1, include_closed=1)
            self.assertEqual([c["state"]["state_name"] for c in channels], ["ChannelReady", "Closed"])
            node.stop()
        self.assertEqual(self.child(first).signal, signal.SIGKILL)
        self.succeed(second)


class Payments(NodeCase):
    def keysend(self, node, peer="bob", amount=1000, **members):
        return node.pay(
            target_pubkey=node.peers()[peer]["pubkey"], amount=amount, has_amount=1, keysend=1, has_keysend=1,
            **members)

    def outcome(self, node, payment):
        return node.poll(
            lambda: node.payment(payment["payment_hash"]), lambda p: p["status"] in ("Success", "Failed"))

    @fresh
    def test_keysend(self, library):
        node = self.ready(library)
        before = node.channels()[0]
        payment = self.keysend(node, amount=3 * CKB)
        self.assertEqual(payment["status"], "Created")
        self.assertEqual(set(payment), {
            "payment_hash", "status", "created_at", "last_updated_at", "failed_error", "fee", "custom_records"})
        done = self.outcome(node, payment)
        self.assertEqual((done["status"], done["fee"], done["failed_error"]), ("Success", "0x0", None))
        after = node.channels()[0]
        self.assertEqual(int(after["local_balance"], 16), int(before["local_balance"], 16) - 3 * CKB)
        self.assertEqual(after["remote_balance"], hex(3 * CKB))
        self.assertEqual((after["offered_tlc_balance"], after["pending_tlcs"]), ("0x0", []))
        for kind in ("RevokeAndAckReceived", "RemoteCommitmentSigned", "LocalCommitmentSigned"):
            self.assertIs(node.wait_kind(kind, 2)["redacted"], True)
        self.assertEqual(library.control(counters={})["payments_made"], 1)
        node.stop()

    @fresh
    def test_a_payment_is_in_flight_on_the_way(self, library):
        node = self.ready(library)
        statuses = set()
        for _ in range(200):
            payment = self.keysend(node, amount=7)
            seen = node.poll(
                lambda: node.payment(payment["payment_hash"])["status"], lambda s: s in ("Inflight", "Success"))
            statuses.add(seen)
            if seen == "Inflight":
                pending = node.channels()[0]["pending_tlcs"]
                if pending:
                    self.assertEqual(pending[0]["payment_hash"], payment["payment_hash"])
                    self.assertEqual((pending[0]["amount"], pending[0]["status"]), ("0x7", {"Outbound": "Committed"}))
                    break
        self.assertIn("Inflight", statuses)
        self.outcome(node, payment)
        node.stop()

    @fresh
    def test_through_a_peer_and_to_nobody(self, library):
        node = self.ready(library)
        done = self.outcome(node, self.keysend(node, "dave", amount=CKB))
        self.assertEqual((done["status"], done["fee"]), ("Success", hex(CKB // 1000)))
        done = self.outcome(node, self.keysend(node, "carol", amount=CKB))
        self.assertEqual(
            (done["status"], done["failed_error"]),
            ("Failed", "Failed to build route, PathFind error: no path found"))
        made = library.control(counters={})["payments_made"]
        no_path = "Send payment error: Failed to build route, PathFind error: no path found"
        self.assertRefused(no_path, self.keysend, node, "dave", amount=CKB, max_fee_amount=1, has_max_fee_amount=1)
        self.assertRefused(no_path, self.keysend, node, "bob", amount=402 * CKB)
        self.assertRefused(no_path, node.pay, target_pubkey=STRANGER, amount=1, has_amount=1, keysend=1, has_keysend=1)
        self.assertEqual(library.control(counters={})["payments_made"], made + 3)
        node.stop()

    @fresh
    def test_dry_run_stores_nothing(self, library):
        node = self.ready(library)
        dry = self.keysend(node, "dave", amount=CKB, dry_run=1, has_dry_run=1)
        self.assertEqual((dry["status"], dry["fee"]), ("Created", hex(CKB // 1000)))
        self.assertRefused(
            "InvalidParameter: Payment session not found: Hash256(%s)" % dry["payment_hash"], node.payment,
            dry["payment_hash"])
        self.assertEqual(library.control(counters={})["payments_made"], 0)
        node.stop()

    @fresh
    def test_an_invoice_is_paid_once(self, library):
        node = self.ready(library)
        made = library.control(invoice={"peer": "bob", "amount": 5 * CKB})
        payment = node.pay(invoice=made["invoice"])
        self.assertEqual(payment["payment_hash"], made["payment_hash"])
        status = "InvalidParameter: Payment session already exists: %s with payment session status: "
        self.assertRefused(status % made["payment_hash"], node.pay, invoice=made["invoice"])
        self.assertEqual(self.outcome(node, payment)["status"], "Success")
        self.assertRefused(status % made["payment_hash"] + "Success", node.pay, invoice=made["invoice"])
        self.assertEqual(library.control(counters={})["payments_made"], 1)
        self.assertEqual(node.channels()[0]["remote_balance"], hex(5 * CKB))
        node.stop()

    @fresh
    def test_refusals(self, library):
        node = self.ready(library)
        bob = node.peers()["bob"]["pubkey"]
        own = node.json("fiber_node_info")["pubkey"]
        invoice = library.control(invoice={"peer": "bob", "amount": 1000})["invoice"]
        some = "0x" + "44" * 32
        one = {"amount": 1, "has_amount": 1}
        keysend = {"keysend": 1, "has_keysend": 1}
        for members, text in [
                ({}, "target_pubkey is missing"), ({"target_pubkey": bob}, "amount is missing"),
                ({"target_pubkey": bob, "amount": 1}, "amount is missing"),
                ({"target_pubkey": bob, **one}, "payment_hash is missing"),
                ({"target_pubkey": bob, "payment_hash": some, "amount": 0, "has_amount": 1},
                 "amount must be greater than 0"),
                ({"target_pubkey": bob, "payment_hash": some, "amount": 2**64, "has_amount": 1}, "The payment amount"),
                ({"target_pubkey": bob, "payment_hash": some, "amount": 2**128 - 1, "has_amount": 1},
                 "The payment amount"),
                ({"target_pubkey": bob, **one, **keysend, "payment_hash": some}, "keysend payment should not have pay"),
                ({"invoice": invoice, **keysend}, "keysend payment should not have invoice"),
                ({"invoice": invoice[:-1] + ("p" if invoice[-1] == "q" else "q")}, "invoice is invalid"),
                ({"invoice": "fibt"}, "invoice is invalid"),
                ({"invoice": invoice, "amount": 1, "has_amount": 1}, "amount does not match the invoice"),
                ({"invoice": invoice, "target_pubkey": own}, "target_pubkey does not match the invoice"),
                ({"invoice": invoice, "payment_hash": some}, "payment_hash does not match the invoice"),
                ({"invoice": invoice, "max_parts": 2, "has_max_parts": 1}, "payment invoice is not allow MPP"),
                ({"invoice": invoice, "max_parts": 25, "has_max_parts": 1}, "max_parts"),
                ({"invoice": invoice, "final_tlc_expiry_delta": 1, "has_final_tlc_expiry_delta": 1},
                 "final_tlc_expiry_delta"),
                ({"invoice": invoice, "trampoline_hops_json": "[]"}, "trampoline_hops"),
                ({"invoice": invoice, "custom_records_json": '{"0x1":"0x%s"}' % ("00" * 2049)}, "the sum size"),
                ({"target_pubkey": own, **one, **keysend}, "allow_self_payment is not enable")]:
            self.assertRefused('InvalidParameter: Failed to validate payment request: "' + text, node.pay, **members)
        self.assertEqual(library.control(counters={})["payments_made"], 0)
        node.stop()

    @fresh
    def test_a_hash_that_nobody_knows_fails_at_the_target_and_may_be_tried_again(self, library):
        node = self.ready(library)
        before = node.channels()[0]["local_balance"]
        some = "55" * 32
        order = {"target_pubkey": node.peers()["bob"]["pubkey"], "amount": 9, "has_amount": 1, "payment_hash": some}
        for count in (1, 2):
            done = self.outcome(node, node.pay(**order))
            self.assertEqual((done["status"], done["failed_error"]), ("Failed", "IncorrectOrUnknownPaymentDetails"))
            self.assertEqual(done["payment_hash"], "0x" + some)
            self.assertEqual(library.control(counters={})["payments_made"], count)
        node.poll(lambda: node.channels()[0]["local_balance"], lambda balance: balance == before)
        node.stop()

    def test_a_payment_survives_a_kill_and_is_carried_on(self):
        def first(library):
            node = self.ready(library)
            hashes = [self.keysend(node, amount=n + 1)["payment_hash"] for n in range(20)]
            print("HASHES", json.dumps(hashes))
            os.kill(os.getpid(), signal.SIGKILL)

        ended = self.child(first)
        self.assertEqual(ended.signal, signal.SIGKILL)
        hashes = json.loads(re.search("HASHES (.*)", ended.output).group(1))

        def second(library):
            node = self.ready(library)
            self.assertEqual(library.control(counters={})["payments_made"], 20)
            for payment_hash in hashes:
                self.assertEqual(self.outcome(node, {"payment_hash": payment_hash})["status"], "Success")
            channel = node.channels()[0]
            self.assertEqual((channel["remote_balance"], channel["offered_tlc_balance"]), (hex(210), "0x0"))
            node.stop()
        self.succeed(second)

    @fresh
    def test_a_full_queue_stops_the_node_until_the_callback_returns(self, library):
        node = self.ready(library)
        gate = threading.Event()
        node.hook = lambda pointer, event: gate.wait()
        made = []

        def pay():
            for _ in range(900):
                self.keysend(node, amount=1)
                made.append(1)
        thread = threading.Thread(target=pay)
        thread.start()
        # Six events a payment: a queue of 4,000 is full after fewer than 700.
        counts = []
        node.poll(lambda: counts.append(len(made)) or threading.Event().wait(0.25) or len(counts),
                  lambda _: len(counts) > 2 and counts[-1] == counts[-2] > 0)
        self.assertLess(len(made), 899)
        gate.set()
        thread.join(60)
        self.assertEqual(len(made), 900)
        node.stop()
        self.assertEqual(node.kinds()[-1], "NetworkStopped")


class Invoices(NodeCase):
    def make(self, node, **members):
        members.setdefault("currency", 2)
        return node.text("fiber_new_invoice", ctypes.byref(options("FiberNewInvoiceOptions", **members)))

    @staticmethod
    def checksum(text):
        """The reference checksum of BIP 350 over a whole text."""
        prefix, data = text.rsplit("1", 1)
        values = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
        values += ["qpzry9x8gf2tvdw0s3jn54khce6mua7l".index(c) for c in data]
        sum_ = 1
        for value in values:
            top = sum_ >> 25
            sum_ = (sum_ & 0x1FFFFFF) << 5 ^ value
            for i, g in enumerate([0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3]):
                sum_ ^= g if (top >> i) & 1 else 0
        return sum_

    @fresh
    def test_the_text(self, library):
        node = self.ready(library)
        invoice = self.make(node, amount=123, description="coffee", expiry=60, has_expiry=1)
        self.assertRegex(invoice, "^fibt1231[qpzry9x8gf2tvdw0s3jn54khce6mua7l]+$")
        self.assertEqual(self.checksum(invoice), 0x2BC830A3)
        self.assertNotEqual(invoice, self.make(node, amount=123))
        self.assertTrue(self.make(node, amount=2**100).startswith("fibt%d1" % 2**100))
        node.stop()

    @fresh
    def test_refusals(self, library):
        node = self.ready(library)
        some = "66" * 32
        for members, text in [
                ({"currency": 0}, "Currency must be Fibt with the chain network"),
                ({"currency": 1}, "Currency must be Fibt with the chain network"),
                ({"payment_hash": some, "payment_preimage": some}, "Both payment_hash and payment_preimage are set"),
                ({"description": "x" * 640}, "Description is too long"),
                ({"final_expiry_delta": 9599999, "has_final_expiry_delta": 1},
                 "final_expiry_delta must be greater than or equal to 9600000"),
                ({"final_expiry_delta": 1209600001, "has_final_expiry_delta": 1}, "final_expiry_delta must be less")]:
            self.assertRefused(text, self.make, node, amount=1, **members)
        self.assertFails(2, "invalid native options: ", self.make, node, amount=1, payment_hash="12")
        node.stop()

    def test_a_hash_is_used_once_also_after_a_restart(self):
        some = "77" * 32

        def first(library):
            node = self.ready(library)
            self.make(node, amount=1, payment_hash=some)
            self.make(node, amount=1, payment_preimage=some)
            self.assertRefused("invoice already exists", self.make, node, amount=2, payment_hash=some)
            node.stop()

        def second(library):
            node = self.ready(library)
            self.assertRefused("invoice already exists", self.make, node, amount=2, payment_hash="0x" + some)
            self.assertRefused("invoice already exists", self.make, node, amount=2, payment_preimage=some)
            node.stop()
        self.succeed(first)
        self.succeed(second)

    @fresh
    def test_an_own_or_expired_invoice_is_not_paid(self, library):
        node = self.ready(library)
        refused = 'InvalidParameter: Failed to validate payment request: "'
        self.assertRefused(refused + "allow_self_payment", node.pay, invoice=self.make(node, amount=5))
        expired = self.make(node, amount=5, expiry=0, has_expiry=1)
        self.assertRefused(refused + "invoice is expired", node.pay, invoice=expired)
        node.stop()
