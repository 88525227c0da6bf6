"""How channels are accepted, changed, closed and given up."""

import ctypes
import os
import random
import signal

from abi import SIMULATION, options
from fresh import fresh
from test_invoices import PREIMAGE, InvoiceCase
from test_node import CKB, SLOW_CHAIN, STRANGER

FEE = 1000
GONE = "Messaging failed because channel is closed"
SCRIPT = '{"code_hash":"0x%s","hash_type":"type","args":"0x"}' % ("ab" * 32)
OPEN_STATES = ["NegotiatingFunding", "CollaboratingFundingTx", "SigningCommitment", "AwaitingTxSignatures",
               "AwaitingChannelReady", "ChannelReady"]


class ChannelCase(InvoiceCase):
    def all(self, node):
        return node.channels(include_closed=1, has_include_closed=1)

    def find(self, node, channel_id):
        return next((c for c in self.all(node) if c["channel_id"] == channel_id), None)

    def wait_state(self, node, channel_id, name, flags=None):
        state = {"state_name": name} if flags is None else {"state_name": name, "state_flags": flags}
        return node.poll(lambda: self.find(node, channel_id), lambda c: c and c["state"] == state)

    def wallet(self, node):
        return int(node.json("fiber_ckb_balance")["capacity_shannons"])

    def shutdown(self, node, channel_id, **members):
        node.call("fiber_shutdown_channel", ctypes.byref(options(
            "FiberShutdownChannelOptions", channel_id=channel_id, **members)))

    def force(self, node, channel_id, **members):
        self.shutdown(node, channel_id, force=1, has_force=1, **members)

    def update(self, node, channel_id, **members):
        node.call("fiber_update_channel", ctypes.byref(options(
            "FiberUpdateChannelOptions", channel_id=channel_id, **members)))

    def abandon(self, node, channel_id):
        node.call("fiber_abandon_channel", channel_id.encode())

    def accept(self, node, temporary, funding=99 * CKB, **members):
        return node.text("fiber_accept_channel", ctypes.byref(options(
            "FiberAcceptChannelOptions", temporary_channel_id=temporary, funding_amount=funding, **members)))

    def open(self, node, peer="dave", amount=200 * CKB, **members):
        return node.text("fiber_open_channel", ctypes.byref(options(
            "FiberOpenChannelOptions", pubkey=node.peers()[peer]["pubkey"], funding_amount=amount, **members)))

    def met(self, library, **arguments):
        """A node that has met dave, with its channel to bob ready or on its way."""
        node = self.node(library, **arguments)
        node.wait_kind("LocalCommitmentSigned")
        node.poll(lambda: len(node.json("fiber_list_peers")["peers"]), lambda count: count == 2)
        return node

    def keysend(self, node, amount):
        return node.pay(target_pubkey=node.peers()["bob"]["pubkey"], amount=amount, has_amount=1, keysend=1,
                        has_keysend=1)


class Closing(ChannelCase):
    @fresh
    def test_with_the_peers_consent(self, library):
        node = self.funded(library)
        before, channel = self.wallet(node), node.channels()[0]
        self.shutdown(node, channel["channel_id"])
        event = node.wait_kind("ChannelClosed")
        self.assertEqual(set(event), {"kind", "pubkey", "channel_id", "tx_hash"})
        closed = self.find(node, channel["channel_id"])
        self.assertEqual(closed["state"], {"state_name": "Closed", "state_flags": "COOPERATIVE"})
        self.assertEqual(event["tx_hash"], "Byte32(%s)" % closed["shutdown_transaction_hash"])
        self.assertEqual((event["channel_id"], event["pubkey"]), (channel["channel_id"], channel["pubkey"]))
        self.assertEqual((closed["enabled"], closed["failure_detail"]), (False, None))
        self.assertEqual(node.channels(), [])
        # 351 CKB of balance and the reserve of 99, without the fee of the closing transaction.
        self.assertEqual(self.wallet(node) - before, 450 * CKB - FEE)
        self.assertRefused(GONE, self.shutdown, node, channel["channel_id"])
        self.assertRefused(GONE, self.update, node, channel["channel_id"])
        self.assertRefused(
            "Send payment error: Failed to build route, PathFind error: no path found", self.keysend, node, CKB)
        self.assertEqual(node.json("fiber_node_info")["channel_count"], 0)
        node.stop()

    @fresh
    def test_a_fee_rate_and_another_script(self, library):
        node = self.ready(library)
        before = self.wallet(node)
        self.open(node)
        dave = node.wait_kind("ChannelReady", pubkey=node.peers()["dave"]["pubkey"])["channel_id"]
        self.shutdown(node, dave, fee_rate=2500, has_fee_rate=1)
        self.wait_state(node, dave, "Closed", "COOPERATIVE")
        self.assertEqual(before - self.wallet(node), FEE + 2500)
        bob = node.channels()[0]["channel_id"]
        self.shutdown(node, bob, close_script_json=SCRIPT)
        self.wait_state(node, bob, "Closed", "COOPERATIVE")
        self.assertEqual(before - self.wallet(node), FEE + 2500, "the money went elsewhere")
        node.stop()

    @fresh
    def test_refusals(self, library):
        node = self.met(library, config=SLOW_CHAIN)
        channel = node.channels()[0]["channel_id"]
        state = "InvalidState: Trying to send shutdown message while in invalid state"
        self.assertRefused(state, self.shutdown, node, channel)
        self.assertRefused(state, self.force, node, channel)
        self.assertRefused(GONE, self.shutdown, node, "12" * 32)
        both = "close_script and fee_rate should not be set when force is true"
        self.assertRefused(both, self.force, node, "12" * 32, fee_rate=1, has_fee_rate=1)
        self.assertRefused(both, self.force, node, channel, close_script_json=SCRIPT)
        self.assertFails(2, "invalid native options: invalid hash hex 'zz'", self.shutdown, node, "zz")
        self.assertFails(2, "invalid native options: missing field", self.shutdown, node, channel,
                         close_script_json="{}")
        self.assertEqual(self.find(node, channel)["state"]["state_name"], "AwaitingChannelReady")
        node.stop()

    @fresh
    def test_more_refusals_when_ready(self, library):
        node = self.ready(library)
        channel = node.channels()[0]["channel_id"]
        self.assertRefused(
            "InvalidParameter: Local balance is not enough to pay the fee", self.shutdown, node, channel,
            fee_rate=2**63, has_fee_rate=1)
        node.call("fiber_disconnect_peer", node.peers()["bob"]["pubkey"].encode())
        self.assertRefused("Peer Pubkey(", self.shutdown, node, channel)
        self.assertEqual(self.find(node, channel)["state"], {"state_name": "ChannelReady"})
        self.force(node, channel)
        self.wait_state(node, channel, "Closed", "UNCOOPERATIVE_LOCAL")
        node.stop()

    @fresh
    def test_what_is_under_way_is_waited_for(self, library):
        node = self.funded(library)
        text, payment_hash = self.hold(library, node)
        channel = node.channels()[0]["channel_id"]
        library.control(pay={"peer": "bob", "invoice": text})
        self.wait_status(node, payment_hash, "Received")
        self.shutdown(node, channel)
        self.wait_state(node, channel, "ShuttingDown", "OUR_SHUTDOWN_SENT|THEIR_SHUTDOWN_SENT|AWAITING_PENDING_TLCS")
        self.assertRefused("InvalidState: ", self.shutdown, node, channel)
        self.assertRefused("InvalidState: ", self.update, node, channel)
        self.assertFails(2, "no channel through which", library.control, pay={"peer": "bob", "amount": 1})
        self.settle(node, payment_hash, PREIMAGE)
        closed = self.wait_state(node, channel, "Closed", "COOPERATIVE")
        self.assertEqual(
            (closed["local_balance"], closed["remote_balance"]), (hex(354 * CKB), hex(47 * CKB)))
        node.stop()

    @fresh
    def test_by_force(self, library):
        node = self.funded(library, config=SIMULATION.replace("30ms", "200ms"))
        text, payment_hash = self.hold(library, node)
        before, channel = self.wallet(node), node.channels()[0]["channel_id"]
        library.control(pay={"peer": "bob", "invoice": text})
        self.wait_status(node, payment_hash, "Received")
        self.force(node, channel)
        forced = self.wait_state(node, channel, "ShuttingDown", "WAITING_COMMITMENT_CONFIRMATION")
        self.assertRegex(forced["shutdown_transaction_hash"], "^0x[0-9a-f]{64}$")
        self.wait_state(node, channel, "Closed", "UNCOOPERATIVE_LOCAL|WAITING_ONCHAIN_SETTLEMENT")
        self.assertEqual(self.wallet(node), before, "the delay has yet to pass")
        closed = self.wait_state(node, channel, "Closed", "UNCOOPERATIVE_LOCAL")
        self.assertEqual(self.wallet(node) - before, 450 * CKB - FEE)
        self.assertEqual((closed["local_balance"], closed["received_tlc_balance"], closed["remote_balance"]),
                         (hex(351 * CKB), "0x0", hex(50 * CKB)))
        self.assertEqual(self.get(node, payment_hash)["status"], "Cancelled")
        self.assertNotIn("ChannelClosed", node.kinds())
        self.assertRefused(GONE, self.force, node, channel)
        node.stop()

    def test_a_closing_goes_on_after_a_kill(self):
        def first(library):
            node = self.ready(library, config=SIMULATION)
            self.open(node)
            node.wait_kind("ChannelReady", 2)
            for channel in node.channels():
                (self.force if channel["pubkey"] == node.peers()["bob"]["pubkey"] else self.shutdown)(
                    node, channel["channel_id"])
            os.kill(os.getpid(), signal.SIGKILL)

        def second(library):
            node = self.node(library)
            node.wait_kind("ChannelClosed")
            node.poll(lambda: [c["state"].get("state_flags") for c in self.all(node)],
                      lambda flags: sorted(flags[-2:]) == ["COOPERATIVE", "UNCOOPERATIVE_LOCAL"])
            node.stop()
        self.assertEqual(self.child(first).signal, signal.SIGKILL)
        self.succeed(second)


class GivingUp(ChannelCase):
    @fresh
    def test_an_opening(self, library):
        node = self.ready(library)
        before = self.wallet(node)
        temporary = self.open(node)
        self.abandon(node, temporary)
        event = node.wait_kind("ChannelAbandon")
        self.assertEqual(set(event), {"kind", "channel_id"})
        failed = node.channels(has_only_pending=1, only_pending=1)[0]
        self.assertEqual(failed["state"], {"state_name": "Closed", "state_flags": "ABANDONED"})
        self.assertEqual(failed["failure_detail"], "Channel was abandoned")
        self.assertEqual((self.wallet(node), len(node.channels()), len(self.all(node))), (before, 1, 2))
        self.assertRefused("Channel %s is in state Closed, cannot be abandoned" % temporary, self.abandon, node,
                           temporary)
        node.stop()

    @fresh
    def test_refusals(self, library):
        node = self.met(library, config=SLOW_CHAIN)
        channel = node.channels()[0]["channel_id"]
        text = "Channel %s is in state %s, cannot be abandoned, please shutdown the channel instead"
        self.assertRefused(text % (channel, "AwaitingChannelReady"), self.abandon, node, channel)
        self.assertRefused("Channel 0x%s not found" % ("12" * 32), self.abandon, node, "12" * 32)
        self.assertFails(2, "invalid hash length", self.abandon, node, "12")
        node.call("fiber_disconnect_peer", node.peers()["bob"]["pubkey"].encode())
        self.assertRefused("Channel %s not found" % channel, self.abandon, node, channel)
        node.stop()

    @fresh
    def test_ready_channels_and_signed_openings_are_not_given_up(self, library):
        node = self.ready(library)
        channel = node.channels()[0]["channel_id"]
        self.assertRefused("Channel %s is in state ChannelReady, cannot be abandoned" % channel, self.abandon, node,
                           channel)
        seen = set()
        for _ in range(60):
            self.open(node, amount=99 * CKB)
            row = node.poll(lambda: node.channels()[0], lambda c: c["state"]["state_name"] in OPEN_STATES[3:])
            if row["state"]["state_name"] == "AwaitingTxSignatures":
                self.assertEqual(row["state"]["state_flags"], "OUR_TX_SIGNATURES_SENT|TX_SIGNATURES_SENT")
                try:
                    self.abandon(node, row["channel_id"])
                except Exception as failure:
                    seen.add("our signature has been sent. It cannot be abandoned." in failure.text)
            if True in seen:
                break
        self.assertIn(True, seen)
        self.assertNotIn("ChannelAbandon", node.kinds())
        node.stop()


class Terms(ChannelCase):
    @fresh
    def test_an_update_enables_unless_it_says_otherwise(self, library):
        node = self.ready(library)
        channel = node.channels()[0]["channel_id"]
        self.update(node, channel, enabled=0, has_enabled=1)
        self.assertIs(node.channels()[0]["enabled"], False)
        self.assertRefused(
            "Send payment error: Failed to build route, PathFind error: no path found", self.keysend, node, CKB)
        self.update(node, channel, tlc_fee_proportional_millionths=2500, has_tlc_fee_proportional_millionths=1,
                    tlc_expiry_delta=9600000, has_tlc_expiry_delta=1, tlc_minimum_value=5, has_tlc_minimum_value=1)
        found = node.channels()[0]
        self.assertEqual((found["enabled"], found["tlc_expiry_delta"], found["tlc_fee_proportional_millionths"]),
                         (True, hex(9600000), hex(2500)))
        self.keysend(node, CKB)
        self.assertRefused("InvalidParameter: TLC expiry delta is too small", self.update, node, channel,
                           tlc_expiry_delta=9599999, has_tlc_expiry_delta=1)
        self.assertRefused(GONE, self.update, node, "12" * 32)
        node.stop()

    @fresh
    def test_public_channels_only(self, library):
        node = self.ready(library)
        self.open(node, public_=0, has_public=1)
        node.wait_kind("ChannelReady", 2)
        private = node.channels()[0]
        self.assertIs(private["is_public"], False)
        self.assertRefused("InvalidParameter: Only public channel can be updated", self.update, node,
                           private["channel_id"], enabled=0, has_enabled=1)
        self.assertEqual(node.channels()[0], private)
        node.stop()

    def test_terms_survive_a_restart(self):
        def first(library):
            node = self.ready(library)
            self.update(node, node.channels()[0]["channel_id"], enabled=0, has_enabled=1)
            os.kill(os.getpid(), signal.SIGKILL)

        def second(library):
            node = self.ready(library)
            self.assertIs(node.channels()[0]["enabled"], False)
            node.stop()
        self.assertEqual(self.child(first).signal, signal.SIGKILL)
        self.succeed(second)


class Accepting(ChannelCase):
    @fresh
    def test_what_is_large_enough_is_accepted_by_the_node(self, library):
        node = self.ready(library)
        before, dave = self.wallet(node), node.peers()["dave"]["pubkey"]
        library.control(open={"peer": "dave", "amount": 300 * CKB})
        ready = node.wait_kind("ChannelReady", pubkey=dave)
        kinds = [e["kind"] for e in node.events if e.get("channel_id") == ready["channel_id"]]
        self.assertEqual(kinds, ["ChannelCreated", "RemoteTxComplete", "RemoteCommitmentSigned",
                                 "LocalCommitmentSigned", "ChannelReady"])
        found = node.channels()[0]
        self.assertEqual((found["is_acceptor"], found["is_public"], found["local_balance"], found["remote_balance"]),
                         (True, True, "0x0", hex(201 * CKB)))
        self.assertEqual(before - self.wallet(node), 99 * CKB, "the peer pays the fee")
        library.control(pay={"peer": "dave", "amount": CKB})
        node.poll(lambda: node.channels()[0]["local_balance"], lambda balance: balance == hex(CKB))
        self.shutdown(node, ready["channel_id"])
        node.wait_kind("ChannelClosed")
        self.assertEqual(self.wallet(node) - before, CKB)
        node.stop()

    @fresh
    def test_the_rest_waits_for_the_program(self, library):
        node = self.ready(library)
        before, dave = self.wallet(node), node.peers()["dave"]["pubkey"]
        temporary = library.control(open={"peer": "dave", "amount": 99 * CKB + 1, "public": False})[
            "temporary_channel_id"]
        event = node.wait_kind("ChannelPendingToBeAccepted")
        self.assertEqual(event, {"kind": "ChannelPendingToBeAccepted", "pubkey": dave, "channel_id": temporary})
        self.assertEqual(len(node.channels()), 1)
        pending = node.channels(only_pending=1, has_only_pending=1)[0]
        self.assertEqual(pending["state"], {
            "state_name": "NegotiatingFunding", "state_flags": "THEIR_INIT_SENT|INIT_SENT"})
        self.assertEqual(
            (pending["channel_id"], pending["is_acceptor"], pending["remote_balance"], pending["channel_outpoint"]),
            (temporary, True, hex(99 * CKB + 1), None))
        self.assertRefused("InvalidParameter: No channel with temp id Hash256(0x%s) found" % ("12" * 32),
                           self.accept, node, "12" * 32)
        self.assertRefused("InvalidParameter: The funding amount (1) should be", self.accept, node, temporary, 1)
        self.assertRefused("InvalidParameter: TLC expiry delta is too small", self.accept, node, temporary,
                           tlc_expiry_delta=1, has_tlc_expiry_delta=1)
        final = self.accept(node, temporary[2:], 150 * CKB, tlc_fee_proportional_millionths=7,
                            has_tlc_fee_proportional_millionths=1)
        self.assertRegex(final, "^0x[0-9a-f]{64}$")
        self.assertNotEqual(final, temporary)
        self.assertEqual(node.wait_kind("ChannelReady", pubkey=dave)["channel_id"], final)
        found = node.channels()[0]
        self.assertEqual(
            (found["local_balance"], found["remote_balance"], found["tlc_fee_proportional_millionths"],
             found["is_public"]), (hex(51 * CKB), "0x1", "0x7", False))
        self.assertEqual(before - self.wallet(node), 150 * CKB)
        self.assertRefused("InvalidParameter: No channel with temp id", self.accept, node, temporary)
        node.stop()

    @fresh
    def test_a_request_is_given_up_or_lost_with_the_connection(self, library):
        node = self.ready(library)
        ids = [library.control(open={"peer": "dave", "amount": 99 * CKB})["temporary_channel_id"] for _ in range(2)]
        self.abandon(node, ids[0])
        self.assertEqual(node.wait_kind("ChannelAbandon")["channel_id"], ids[0])
        node.call("fiber_disconnect_peer", node.peers()["dave"]["pubkey"].encode())
        self.assertEqual(node.wait_kind("ChannelFundingAborted")["channel_id"], ids[1])
        for temporary in ids:
            self.assertRefused("InvalidParameter: No channel with temp id", self.accept, node, temporary)
        for members, words in [({"peer": "dave", "amount": 99 * CKB}, "dave is not connected"),
                               ({"peer": "bob", "amount": 99 * CKB - 1}, "at least 9900000000"),
                               ({"peer": STRANGER, "amount": 99 * CKB}, "no peer named"),
                               ({"peer": "bob", "amount": 99 * CKB, "public": 1}, "must be true or false")]:
            self.assertFails(2, words, library.control, open=members)
        node.stop()

    @fresh
    def test_the_wallet_is_asked_late(self, library):
        node = self.ready(library, config=SIMULATION + '  chain: {wallet: "598 CKB"}\n')
        temporary = library.control(open={"peer": "dave", "amount": 99 * CKB})["temporary_channel_id"]
        final = self.accept(node, temporary)
        self.assertEqual(node.wait_kind("ChannelFundingAborted")["channel_id"], final)
        failed = node.channels(only_pending=1, has_only_pending=1)[0]
        self.assertEqual(failed["failure_detail"], "Funding transaction aborted")
        node.stop()


class States(ChannelCase):
    @fresh
    def test_every_state_of_an_opening_is_seen_by_whoever_looks_often_enough(self, library):
        node = self.ready(library)
        seen = {}
        for _ in range(40):
            temporary = self.open(node, amount=99 * CKB)
            newest = node.events and node.channels(only_pending=1, has_only_pending=1)
            while newest:
                seen[newest[0]["state"]["state_name"]] = newest[0]["state"].get("state_flags")
                newest = node.channels(only_pending=1, has_only_pending=1)
            if len(seen) == 5:
                break
        self.assertRegex(temporary, "^0x")
        self.assertEqual(seen, {
            "NegotiatingFunding": "OUR_INIT_SENT|INIT_SENT",
            "CollaboratingFundingTx": "AWAITING_REMOTE_TX_COLLABORATION_MSG",
            "SigningCommitment": "OUR_COMMITMENT_SIGNED_SENT|COMMITMENT_SIGNED_SENT",
            "AwaitingTxSignatures": "OUR_TX_SIGNATURES_SENT|TX_SIGNATURES_SENT", "AwaitingChannelReady": ""})
        node.stop()


class Conservation(ChannelCase):
    @fresh
    def test_whatever_is_paid_nothing_is_lost(self, library):
        seed = int(os.environ.get("FIBER_SIM_SEED", random.randrange(2**32)))
        print("FIBER_SIM_SEED=%d" % seed)
        choice = random.Random(seed)
        node = self.funded(library)
        wallet = self.wallet(node)
        left = {"paid": 50 * CKB, "fees": 0, "received": 0}
        total = 401 * CKB

        def parts():
            channel = node.channels()[0]
            return [int(channel[name], 16) for name in (
                "local_balance", "offered_tlc_balance", "remote_balance", "received_tlc_balance")]

        hashes = []
        for _ in range(60):
            amount = choice.randrange(1, CKB)
            if choice.random() < 0.5:
                peer = choice.choice(["bob", "dave"])
                sent = node.pay(target_pubkey=node.peers()[peer]["pubkey"], amount=amount, has_amount=1, keysend=1,
                                has_keysend=1)
                hashes.append(sent["payment_hash"])
                self.assertEqual(int(sent["fee"], 16), 0 if peer == "bob" else -(-amount // 1000))
                left["paid"] += amount
                left["fees"] += int(sent["fee"], 16)
            else:
                library.control(pay={"peer": choice.choice(["bob", "dave"]), "amount": amount})
                left["received"] += amount
            self.assertEqual(sum(parts()), total)
        local = total - left["paid"] - left["fees"] + left["received"]
        node.poll(parts, lambda found: found == [local, 0, total - local, 0])
        self.assertEqual({node.payment(payment_hash)["status"] for payment_hash in hashes} - {"Success"}, set())
        self.shutdown(node, node.channels()[0]["channel_id"])
        node.wait_kind("ChannelClosed")
        self.assertEqual(self.wallet(node) - wallet, local + 99 * CKB - FEE)
        node.stop()
