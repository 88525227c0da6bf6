"""What a program does with a Fiber node over the bus: invoices on both sides, payments, the chain behind it."""

import unittest

from bus import BusTest, wait_for

NODE = (-32003, "node_error")
CKB = 10**8
PREIMAGE = "0x" + "5e" * 32


class FiberTest(BusTest):
    def setUp(self):
        self.bus = self.make_bus()
        self.bus.start()
        self.bus.wait_for_kind("ChannelReady")

    def call(self, method, **params):
        return self.bus.call(f"fiber.{method}", params)

    def refused(self, reason, method, **params):
        error = self.assert_error(*NODE, self.call, method, **params)
        self.assertEqual(error.data["reason"], reason, error.message)
        return error

    def pay_us(self, **request):
        return self.bus.call("fiber.sim", {"pay": {"peer": "bob", **request}})["payment_hash"]

    def wait_for_invoice(self, hash, status):
        return wait_for(lambda: self.call("get_invoice", payment_hash=hash)["status"] == status, f"an invoice {status}")

    def fill(self):
        """Pays bob enough that he can pay us."""
        invoice = self.bus.call("fiber.sim", {"invoice": {"peer": "bob", "amount": 50 * CKB}})
        self.call("send_payment", invoice=invoice["invoice"])
        wait_for(lambda: self.call("get_payment", payment_hash=invoice["payment_hash"])["status"] == "Success",
                 "the payment to bob")


class InvoiceTest(FiberTest):
    def test_an_invoice_says_what_it_was_made_of(self):
        made = self.call("new_invoice", amount="1.5 CKB", description="café ☕", expiry=3600)["invoice"]
        invoice = self.call("parse_invoice", invoice=made)["invoice"]
        self.assertEqual((invoice["currency"], int(invoice["amount"], 16)), ("Fibt", 150000000))
        said = {name: value for attribute in invoice["data"]["attrs"] for name, value in attribute.items()}
        self.assertEqual((said["description"], int(said["expiry_time"], 16)), ("café ☕", 3600))
        self.assertEqual(said["payee_public_key"], self.call("node_info")["pubkey"])
        stands = self.call("get_invoice", payment_hash=invoice["data"]["payment_hash"])
        self.assertEqual(stands, {"invoice_address": made, "invoice": invoice, "status": "Open"})
        self.refused("invoice_invalid", "parse_invoice", invoice=made[:-1])
        self.refused("invoice_invalid", "parse_invoice", invoice="☕")

    def test_an_invoice_is_paid_and_cannot_be_cancelled_then(self):
        self.fill()
        made = self.call("new_invoice", amount="2 CKB")["invoice"]
        hash = self.pay_us(invoice=made)
        self.wait_for_invoice(hash, "Paid")
        self.refused("invoice_state", "cancel_invoice", payment_hash=hash)

    def test_a_cancelled_invoice_stays_cancelled(self):
        made = self.call("new_invoice", amount="2 CKB")["invoice"]
        hash = self.call("parse_invoice", invoice=made)["invoice"]["data"]["payment_hash"]
        self.assertEqual(self.call("cancel_invoice", payment_hash=hash)["status"], "Cancelled")
        self.assertEqual(self.call("get_invoice", payment_hash=hash)["status"], "Cancelled")
        self.refused("invoice_state", "cancel_invoice", payment_hash=hash)
        self.refused("invoice_unknown", "get_invoice", payment_hash="0x" + "12" * 32)

    def test_a_held_payment_is_taken_with_its_preimage_alone(self):
        self.fill()
        hash = self.bus.call("fiber.sim", {"hash": {"preimage": PREIMAGE}})["payment_hash"]
        made = self.call("new_invoice", amount="2 CKB", payment_hash=hash)["invoice"]
        self.assert_error(*NODE, self.call, "settle_invoice", payment_hash=hash, payment_preimage=PREIMAGE)
        before = self.balance()
        self.pay_us(invoice=made)
        self.wait_for_invoice(hash, "Received")
        error = self.assert_error(*NODE, self.call, "settle_invoice", payment_hash=hash,
                                  payment_preimage="0x" + "5f" * 32)
        self.assertNotIn("5f5f", error.message)
        self.assertEqual(self.balance(), before, "nothing is ours before the preimage is out")
        self.assertEqual(self.call("settle_invoice", payment_hash=hash, payment_preimage=PREIMAGE), {})
        self.wait_for_invoice(hash, "Paid")
        self.assertEqual(self.balance(), before + 2 * CKB)
        wait_for(lambda: hash in [event.payload["payment_hash"] for event in self.bus.read_kinds("PreimageCreated")],
                 "the preimage to come out")
        self.assertNotIn("5e5e", self.bus.log())

    def balance(self):
        return int(self.call("list_channels")["channels"][0]["local_balance"], 16)


class ChannelTest(FiberTest):
    def setUp(self):
        super().setUp()
        self.pid = self.bus.status()["pid"]
        ready = self.bus.read_kinds("ChannelReady")[0].payload
        self.bob, self.channel = ready["pubkey"], ready["channel_id"]

    def find(self, channel, **params):
        channels = self.call("list_channels", **params)["channels"]
        return next((found for found in channels if found["channel_id"] == channel), None)

    def wait_for_close(self, channel, flag):
        def closed():
            state = self.find(channel, include_closed=True)["state"]
            return state["state_name"] == "Closed" and state["state_flags"].split("|") == [flag]
        wait_for(closed, f"a channel that is closed, {flag}")

    def check_end(self, bus):
        self.assertEqual(bus.status()["pid"], self.pid, "no refusal was taken for a dead node")
        super().check_end(bus)

    def test_what_an_update_leaves_out_stays(self):
        def terms():
            found = self.find(self.channel)
            fee, delta = found["tlc_fee_proportional_millionths"], found["tlc_expiry_delta"]
            return found["enabled"], int(fee, 16), int(delta, 16)
        self.assertEqual(terms(), (True, 1000, 14400000))
        self.call("update_channel", channel_id=self.channel, enabled=False)
        self.assertEqual(terms(), (False, 1000, 14400000))
        self.call("update_channel", channel_id=self.channel, tlc_fee_proportional_millionths=2500)
        self.assertEqual(terms(), (False, 2500, 14400000))
        self.call("update_channel", channel_id=self.channel, enabled=True, tlc_expiry_delta=9600000)
        self.assertEqual(terms(), (True, 2500, 9600000))
        self.call("update_channel", channel_id=self.channel, tlc_minimum_value="5")
        self.assertEqual(terms(), (True, 2500, 9600000))
        self.refused("channel_unknown", "update_channel", channel_id="0x" + "12" * 32, enabled=True)

    def test_terms_of_a_private_channel_are_not_changed(self):
        self.call("open_channel", pubkey=self.bob, funding_amount="200 CKB", public=False)
        private = self.bus.wait_for_kind("ChannelReady", 2)[-1].payload["channel_id"]
        self.refused("channel_not_public", "update_channel", channel_id=private, tlc_expiry_delta=9600000)

    def test_a_channel_is_closed_with_its_peer(self):
        self.refused("channel_unknown", "shutdown_channel", channel_id="0x" + "12" * 32)
        self.refused("channel_state", "abandon_channel", channel_id=self.channel)
        before = int(self.call("ckb_balance")["capacity_shannons"])
        self.assertEqual(self.call("shutdown_channel", channel_id=self.channel, fee_rate=2000), {})
        self.assertEqual(self.bus.wait_for_kind("ChannelClosed")[0].payload["channel_id"], self.channel)
        self.wait_for_close(self.channel, "COOPERATIVE")
        self.assertIsNone(self.find(self.channel))
        self.assertEqual(int(self.call("ckb_balance")["capacity_shannons"]) - before, 500 * CKB - 2000)
        self.refused("channel_unknown", "shutdown_channel", channel_id=self.channel)

    def test_a_channel_is_closed_without_its_peer(self):
        self.call("disconnect_peer", pubkey=self.bob)
        self.refused("not_connected", "shutdown_channel", channel_id=self.channel)
        self.assertEqual(self.call("shutdown_channel", channel_id=self.channel, force=True), {})
        self.wait_for_close(self.channel, "UNCOOPERATIVE_LOCAL")
        self.assertEqual(self.bus.read_kinds("ChannelClosed"), [])

    def ask_for_channel(self):
        return self.bus.call("fiber.sim", {"open": {"peer": "bob", "amount": 99 * CKB + 1}})["temporary_channel_id"]

    def test_a_channel_that_a_peer_asks_for_is_accepted(self):
        temporary = self.ask_for_channel()
        pending = self.bus.wait_for_kind("ChannelPendingToBeAccepted")[0].payload
        self.assertEqual((pending["pubkey"], pending["channel_id"]), (self.bob, temporary))
        self.assertEqual(self.find(temporary, only_pending=True)["state"]["state_name"], "NegotiatingFunding")
        self.refused("funding_too_small", "accept_channel", temporary_channel_id=temporary, funding_amount="1")
        final = self.call("accept_channel", temporary_channel_id=temporary, funding_amount=str(150 * CKB))["channel_id"]
        ready = self.bus.wait_for_kind("ChannelReady", 2)[-1].payload
        self.assertEqual(ready["channel_id"], final)
        self.assertEqual(int(self.find(final)["local_balance"], 16), 51 * CKB)
        self.refused("channel_unknown", "accept_channel", temporary_channel_id=temporary, funding_amount=str(150 * CKB))

    def test_a_channel_that_a_peer_asks_for_is_given_up(self):
        temporary = self.ask_for_channel()
        self.bus.wait_for_kind("ChannelPendingToBeAccepted")
        self.assertEqual(self.call("abandon_channel", channel_id=temporary), {})
        self.assertEqual(self.bus.wait_for_kind("ChannelAbandon")[0].payload["channel_id"], temporary)
        self.refused("channel_unknown", "accept_channel", temporary_channel_id=temporary, funding_amount=str(150 * CKB))
        self.refused("channel_unknown", "abandon_channel", channel_id="0x" + "12" * 32)


    def test_a_channel_is_paid_for_by_another_key(self):
        script = {"code_hash": "0x" + "ab" * 32, "hash_type": "type", "args": "0x"}
        deps = [{"out_point": {"tx_hash": "0x" + "cd" * 32, "index": "0x0"}, "dep_type": "dep_group"}]
        before = self.call("ckb_balance")["capacity_shannons"]
        begun = self.call("open_channel_with_external_funding", pubkey=self.bob, funding_amount="200 CKB",
                          shutdown_script=script, funding_lock_script=script, funding_lock_script_cell_deps=deps)
        transaction = begun["unsigned_funding_tx"]
        self.assertEqual(transaction["cell_deps"], deps)
        self.refused("channel_unknown", "submit_signed_funding_tx", channel_id="0x" + "12" * 32,
                     signed_funding_tx={**transaction, "witnesses": ["0x55"]})
        self.refused("invalid_argument", "submit_signed_funding_tx", channel_id=begun["channel_id"],
                     signed_funding_tx={**transaction, "version": "0x1"})
        done = self.call("submit_signed_funding_tx", channel_id=begun["channel_id"],
                         signed_funding_tx={**transaction, "witnesses": ["0x55"]})
        self.assertEqual(done["channel_id"], begun["channel_id"])
        ready = self.bus.wait_for_kind("ChannelReady", 2)[-1].payload
        self.assertEqual(ready["out_point"], f"OutPoint({done['funding_tx_hash']}00000000)")
        self.assertEqual(self.call("ckb_balance")["capacity_shannons"], before, "our own wallet paid nothing")


class PaymentTest(FiberTest):
    def test_a_payment_goes_the_way_that_was_built(self):
        ready = self.bus.read_kinds("ChannelReady")[0].payload
        hops = self.call("build_router", hops_info=[{"pubkey": ready["pubkey"], "channel_outpoint": None}],
                         amount="1.5 CKB")["router_hops"]
        self.assertEqual([(hop["target"], int(hop["amount_received"], 16)) for hop in hops],
                         [(ready["pubkey"], 150000000)])
        self.assertEqual(f"OutPoint({hops[0]['channel_outpoint']})", ready["out_point"])
        self.assertEqual(self.call("send_payment_with_router", router=hops, keysend=True, dry_run=True)["status"],
                         "Created")
        self.assertEqual(self.call("list_payments")["payments"], [])
        invoice = self.bus.call("fiber.sim", {"invoice": {"peer": "bob", "amount": 150000000}})
        for params in [{"keysend": True}, {"invoice": invoice["invoice"]}]:
            hash = self.call("send_payment_with_router", router=hops, **params)["payment_hash"]
            wait_for(lambda: self.call("get_payment", payment_hash=hash)["status"] == "Success", "the payment")
        self.assertEqual(hash, invoice["payment_hash"])
        self.assertEqual(int(self.call("list_channels")["channels"][0]["local_balance"], 16), 401 * CKB - 2 * 150000000)
        self.refused("payment_exists", "send_payment_with_router", router=hops, invoice=invoice["invoice"])
        self.refused("no_route", "build_router", hops_info=[{"pubkey": "02" + "ab" * 32, "channel_outpoint": None}])

    def test_payments_are_listed_page_by_page(self):
        bob = self.bus.read_kinds("ChannelReady")[0].payload["pubkey"]
        made = [self.call("send_payment", target_pubkey=bob, amount="1 CKB", keysend=True)["payment_hash"]
                for _ in range(5)]
        for hash in made:
            wait_for(lambda: self.call("get_payment", payment_hash=hash)["status"] == "Success", "the outcome")
        seen, after = [], None
        while True:
            page = self.call("list_payments", limit=2, after=after)
            seen += page["payments"]
            after = page["last_cursor"]
            if len(page["payments"]) < 2:
                break
            self.assertEqual(after, page["payments"][-1]["payment_hash"])
        self.assertEqual([payment["payment_hash"] for payment in seen], sorted(made))
        self.assertEqual(seen[0], self.call("get_payment", payment_hash=seen[0]["payment_hash"]))
        self.assertEqual(len(self.call("list_payments", status="Success")["payments"]), 5)
        self.assertEqual(self.call("list_payments", status="Failed")["payments"], [])


class ChainTest(FiberTest):
    def test_a_chain_that_is_behind_is_not_ready(self):
        ready = self.call("ckb_readiness")
        self.assertEqual((ready["ready"], ready["lag"]), (True, 0))
        self.assertNotIn("reason", ready)
        self.bus.call("fiber.sim", {"chain": {"fault": "stale"}})
        behind = self.call("ckb_readiness")
        self.assertIs(behind["ready"], False)
        bob = self.bus.read_kinds("ChannelReady")[0].payload["pubkey"]
        error = self.assert_error(-32006, "not_ready", self.call, "open_channel", pubkey=bob, funding_amount="200 CKB")
        self.assertEqual(error.data["readiness"], behind)
        self.assertIs(error.data["retryable"], True)
        self.bus.call("fiber.sim", {"chain": {"fault": "none"}})
        self.assertIs(self.call("ckb_readiness")["ready"], True)
        self.assertRegex(self.call("open_channel", pubkey=bob, funding_amount="200 CKB")["temporary_channel_id"], "^0x")

    def test_the_wallet_tells_what_it_holds(self):
        balance = self.call("ckb_balance")
        self.assertEqual(balance["scope"], "base_ckb_only")
        self.assertTrue(balance["address"].startswith("ckt1"), balance)
        whole, part = balance["capacity_ckb"].split(".")
        self.assertEqual(int(whole) * CKB + int(part.ljust(8, "0")), int(balance["capacity_shannons"]))
        self.bus.call("fiber.sim", {"chain": {"fault": "tip-rpc"}})
        self.refused("chain_unreachable", "ckb_balance")


if __name__ == "__main__":
    unittest.main()
