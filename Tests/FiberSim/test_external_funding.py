"""Channels whose funding transaction somebody else signs."""

import copy
import ctypes
import json

from abi import SIMULATION, options
from fresh import fresh
from test_channels import SCRIPT, ChannelCase
from test_node import CKB, STRANGER

DEPS = [{"out_point": {"tx_hash": "0x" + "cd" * 32, "index": "0x0"}, "dep_type": "dep_group"}]


class ExternalFunding(ChannelCase):
    def funded_elsewhere(self, node, peer="dave", amount=200 * CKB, deps=DEPS, **members):
        pubkey = node.peers()[peer]["pubkey"] if peer != STRANGER else STRANGER
        wanted = dict(
            pubkey=pubkey, funding_amount=amount, shutdown_script_json=SCRIPT, funding_lock_script_json=SCRIPT,
            funding_lock_script_cell_deps_json=json.dumps(deps))
        wanted.update(members)
        return node.json("fiber_open_channel_with_external_funding", ctypes.byref(options(
            "FiberOpenChannelWithExternalFundingOptions", **wanted)))

    def submit(self, node, channel_id, transaction):
        return node.json("fiber_submit_signed_funding_tx", ctypes.byref(options(
            "FiberSubmitSignedFundingTxOptions", channel_id=channel_id,
            signed_funding_tx_json=json.dumps(transaction))))

    @fresh
    def test_the_whole_way(self, library):
        node = self.ready(library)
        before, dave = self.wallet(node), node.peers()["dave"]["pubkey"]
        begun = self.funded_elsewhere(node)
        self.assertEqual(set(begun), {"channel_id", "unsigned_funding_tx"})
        self.assertNotEqual(node.wait_kind("ChannelCreated", pubkey=dave)["channel_id"], begun["channel_id"])
        found = self.find(node, begun["channel_id"])
        self.assertEqual(found["state"], {
            "state_name": "NegotiatingFunding",
            "state_flags": "OUR_INIT_SENT|THEIR_INIT_SENT|INIT_SENT|AWAITING_EXTERNAL_FUNDING"})
        transaction = begun["unsigned_funding_tx"]
        self.assertEqual(set(transaction), {
            "version", "cell_deps", "header_deps", "inputs", "outputs", "outputs_data", "witnesses"})
        self.assertEqual((transaction["version"], transaction["cell_deps"]), ("0x0", DEPS))
        self.assertEqual(transaction["outputs"][0]["capacity"], hex(299 * CKB), "both sides' funding")
        self.assertEqual(transaction["outputs"][1]["lock"], json.loads(SCRIPT))
        self.assertEqual(set(transaction["inputs"][0]), {"previous_output", "since"})
        transaction["witnesses"] = ["0x5500"]
        done = self.submit(node, begun["channel_id"][2:], transaction)
        self.assertEqual(set(done), {"channel_id", "funding_tx_hash"})
        self.assertEqual(done["channel_id"], begun["channel_id"])
        ready = node.wait_kind("ChannelReady", pubkey=dave)
        self.assertEqual(ready["out_point"], "OutPoint(%s00000000)" % done["funding_tx_hash"])
        channel = node.channels()[0]
        self.assertEqual((channel["channel_id"], channel["local_balance"]), (begun["channel_id"], hex(101 * CKB)))
        self.shutdown(node, begun["channel_id"])
        node.wait_kind("ChannelClosed")
        self.assertEqual(self.wallet(node), before, "the wallet has no part in it")
        node.stop()

    @fresh
    def test_refusals(self, library):
        node = self.ready(library, config=SIMULATION + "  chain: {behind: 5, catch_up: 0}\n")
        for arguments, text in [
                ({"amount": CKB}, "InvalidParameter: The funding amount (100000000)"),
                ({"peer": "carol"}, "InvalidParameter: Peer Pubkey("),
                ({"peer": STRANGER}, "InvalidParameter: Peer Pubkey("),
                ({"funding_udt_type_script_json": SCRIPT}, "InvalidParameter: Invalid UDT type script")]:
            self.assertRefused(text, self.funded_elsewhere, node, **arguments)
        for deps, text in [({}, "invalid type: map"), ([{}], "missing field `out_point`"),
                           ([dict(DEPS[0], dep_type="all")], "unknown variant"),
                           ([dict(DEPS[0], out_point={"tx_hash": "0x00", "index": "0x0"})], "invalid length of tx"),
                           ([dict(DEPS[0], out_point={"tx_hash": "0x" + "00" * 32})], "missing field `index`")]:
            self.assertFails(2, "invalid native options: " + text, self.funded_elsewhere, node, deps=deps)
        self.assertFails(2, "invalid native options: invalid type: integer `1`", self.funded_elsewhere, node,
                         commitment_delay_epoch=1, has_commitment_delay_epoch=1)
        self.assertEqual(len(node.channels()), 1)
        begun = self.funded_elsewhere(node)
        self.assertEqual(len(node.channels()), 2, "it waits for no readiness")
        channel, unsigned = begun["channel_id"], begun["unsigned_funding_tx"]
        self.assertRefused("InvalidParameter: The funding transaction is not signed", self.submit, node, channel,
                           unsigned)
        signed = dict(unsigned, witnesses=["0x55"])
        for field in ("version", "cell_deps", "header_deps", "inputs", "outputs", "outputs_data"):
            other = copy.deepcopy(signed)
            other[field] = "0x1" if field == "version" else other[field] + ["0x00"]
            self.assertRefused("InvalidParameter: The signed funding transaction differs from the unsigned one in "
                               + field, self.submit, node, channel, other)
            self.assertFails(2, "invalid native options: missing field `%s`" % field, self.submit, node, channel,
                             {name: value for name, value in signed.items() if name != field})
        self.assertFails(2, "invalid native options: invalid type", self.submit, node, channel, [])
        self.assertFails(2, "invalid native options: hex string", self.submit, node, channel,
                         dict(unsigned, witnesses=["55"]))
        self.assertRefused("Channel not found error: ", self.submit, node, "12" * 32, signed)
        self.submit(node, channel, signed)
        self.assertRefused("InvalidState: ", self.submit, node, channel, signed)
        node.stop()

    @fresh
    def test_what_is_not_signed_in_time_or_given_up_is_over(self, library):
        config = SIMULATION.replace("  chain: testnet\n", "  chain: testnet\n  external_funding_timeout_seconds: 1\n")
        self.assertNotEqual(config, SIMULATION)
        node = self.ready(library, config=config)
        begun = [self.funded_elsewhere(node) for _ in range(2)]
        self.abandon(node, begun[0]["channel_id"])
        self.assertEqual(node.wait_kind("ChannelAbandon")["channel_id"], begun[0]["channel_id"])
        self.assertEqual(node.wait_kind("ChannelFundingAborted")["channel_id"], begun[1]["channel_id"])
        failed = self.find(node, begun[1]["channel_id"])
        self.assertEqual(failed["failure_detail"], "Funding transaction aborted")
        for one in begun:
            self.assertRefused("InvalidState: ", self.submit, node, one["channel_id"],
                               dict(one["unsigned_funding_tx"], witnesses=["0x55"]))
        node.stop()

    def test_a_restart_ends_it(self):
        def first(library):
            node = self.ready(library)
            self.funded_elsewhere(node)
            node.stop()

        def second(library):
            node = self.ready(library)
            node.wait_kind("ChannelFundingAborted")
            node.stop()
        self.succeed(first)
        self.succeed(second)
