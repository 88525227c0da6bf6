"""What the node says of the chain: readiness, how long it may take, and what the wallet holds."""

import ctypes
import json
import os

from abi import SIMULATION, Failure, options
from fresh import fresh
from test_node import CKB, NodeCase

TIP = 18000000
WALLET = 10**6 * CKB
FEE = 1000


def chain(text):
    return SIMULATION + "  chain: {%s}\n" % text


class ChainCase(NodeCase):
    def readiness(self, node):
        return node.json("fiber_ckb_readiness")

    def balance(self, node):
        return node.json("fiber_ckb_balance")

    def open(self, node, peer="dave", amount=200 * CKB, **members):
        return node.text("fiber_open_channel", ctypes.byref(options(
            "FiberOpenChannelOptions", pubkey=node.peers()[peer]["pubkey"], funding_amount=amount, **members)))

    def move(self, library, **members):
        return library.control(chain=members)


class Readiness(ChainCase):
    @fresh
    def test_ready(self, library):
        node = self.ready(library)
        self.assertEqual(self.readiness(node), {
            "ready": True, "mode": "external_rpc", "tip_block_number": TIP, "indexed_block_number": TIP, "lag": 0,
            "max_acceptable_lag": 0})
        node.stop()

    @fresh
    def test_behind(self, library):
        node = self.ready(library, config=chain("behind: 10, catch_up: 0"))
        expected = {
            "ready": False, "mode": "external_rpc", "tip_block_number": TIP, "indexed_block_number": TIP - 10,
            "lag": 10, "max_acceptable_lag": 0,
            "wait_estimate": {"lower_seconds": 3, "upper_seconds": 60, "retry_after_seconds": 3, "confidence": "low"},
            "reason": "CKB indexer is 10 block(s) behind the chain tip; maximum acceptable lag is 0"}
        self.assertEqual(self.readiness(node), expected)
        with self.assertRaises(Failure) as raised:
            self.open(node)
        self.assertEqual(raised.exception.status, 6)
        prefix = "CKB backend is not ready: "
        self.assertTrue(raised.exception.text.startswith(prefix))
        self.assertEqual(json.loads(raised.exception.text[len(prefix):]), expected)
        self.assertFails(2, "invalid native options", self.open, node, shutdown_script_json="{}")
        self.assertEqual(len(node.channels(has_only_pending=1, only_pending=1)), 0)
        self.assertEqual(self.move(library, behind=0)["indexed_block_number"], TIP)
        self.open(node)
        node.wait_kind("ChannelReady", 2)
        node.stop()

    @fresh
    def test_a_long_way_behind(self, library):
        node = self.ready(library, config=chain("behind: 2001, catch_up: 0"))
        for lag, lower, upper in ((2001, 9, 180), (100000, 300, 1800), (1000, 3, 60)):
            self.move(library, behind=lag)
            estimate = self.readiness(node)["wait_estimate"]
            self.assertEqual((estimate["lower_seconds"], estimate["upper_seconds"]), (lower, upper))
            self.assertEqual(estimate["confidence"], "low")
        node.stop()

    @fresh
    def test_progress_is_measured(self, library):
        node = self.ready(library, config=chain("behind: 10000, catch_up: 10"))
        self.assertEqual(self.readiness(node)["wait_estimate"]["confidence"], "low")
        self.move(library, advance_seconds=50)
        measured = self.readiness(node)
        estimate, lag = measured["wait_estimate"], measured["lag"]
        self.assertAlmostEqual(lag, 9500, delta=50)
        # 10 blocks a second, give or take what passed between question and question.
        self.assertEqual(estimate["confidence"], "measured")
        self.assertAlmostEqual(estimate["lower_seconds"], lag / 20, delta=10)
        self.assertAlmostEqual(estimate["upper_seconds"], lag / 5 + 3, delta=40)
        expected, rest = divmod(estimate["upper_seconds"] - 3, 2)
        self.assertEqual((rest, estimate["lower_seconds"]), (0, expected // 2))
        self.move(library, advance_seconds=121)
        self.assertEqual(self.readiness(node)["wait_estimate"]["confidence"], "low", "after a gap")
        self.move(library, advance_seconds=2000)
        self.assertTrue(self.readiness(node)["ready"])
        for _ in range(3):
            self.move(library, advance_seconds=31536000)
        self.assertTrue(self.readiness(node)["ready"])
        node.stop()

    @fresh
    def test_a_stall_is_noticed(self, library):
        node = self.ready(library, config=chain("behind: 500, catch_up: 0"))
        for seconds, confidence, upper in ((0, "low", 60), (59, "low", 60), (2, "stalled", 120), (60, "stalled", 120)):
            self.move(library, advance_seconds=seconds)
            estimate = self.readiness(node)["wait_estimate"]
            self.assertEqual(
                (estimate["confidence"], estimate["lower_seconds"], estimate["upper_seconds"],
                 estimate["retry_after_seconds"]), (confidence, 3, upper, 3))
        node.stop()

    @fresh
    def test_it_catches_up_by_itself(self, library):
        node = self.ready(library, config=chain("behind: 1000000, catch_up: 1000000"))
        node.poll(lambda: self.readiness(node)["ready"], bool)
        node.stop()

    @fresh
    def test_every_new_block_makes_it_flap(self, library):
        node = self.ready(library, config=chain("block_every: 100ms, index_delay: 50ms"))
        for wanted in (True, False, True, False):
            found = node.poll(lambda: self.readiness(node), lambda answer: answer["ready"] is wanted)
            self.assertEqual(found["lag"], 0 if wanted else 1)
            self.assertEqual("reason" in found, not wanted)
        self.assertGreater(self.readiness(node)["tip_block_number"], TIP)
        node.stop()

    @fresh
    def test_faults_of_the_chain(self, library):
        node = self.ready(library, config=chain("fault: tip-rpc"))
        for fault, reason, known in [
                ("tip-rpc", "failed to query CKB chain tip: ", set()),
                ("no-indexer", "CKB indexer tip is not available", {"tip_block_number"}),
                ("indexer-rpc", "failed to query CKB indexer tip: ", {"tip_block_number"}),
                ("stale", "CKB chain tip is not current", {"tip_block_number", "indexed_block_number", "lag"})]:
            self.move(library, fault=fault)
            found = self.readiness(node)
            self.assertTrue(found["reason"].startswith(reason), found)
            self.assertEqual(set(found), {"ready", "mode", "max_acceptable_lag", "reason"} | known)
            self.assertIs(found["ready"], False)
            self.assertFails(6, reason, self.open, node)
            if fault != "stale":
                self.assertFails(2, "failed to query CKB wallet cells: ", self.balance, node)
        self.move(library, fault="none")
        self.assertTrue(self.readiness(node)["ready"])
        self.assertFails(2, "chain.fault is one of", self.move, library, fault="flood")
        self.assertFails(2, "chain.behind must be a number", self.move, library, behind=-1)
        node.stop()

    @fresh
    def test_what_a_configuration_may_not_say(self, library):
        for text, words in [("dance: 1", "unknown field `dance`"), ("behind: 18000001", "at most 18000000"),
                            ("block_every: 0s", "no duration"), ("index_delay: soon", "no duration"),
                            ("fault: flood", "expected one of"), ("wallet: 5", "invalid type: integer"),
                            ("wallet: 5 UDT", "no amount")]:
            self.assertFails(3, words, self.node, library, config=chain(text))


class Balance(ChainCase):
    @fresh
    def test_shape(self, library):
        node = self.ready(library, config=chain('wallet: "1000.00000001 CKB"'))
        found = self.balance(node)
        shannons = 500 * CKB + 1 - FEE
        self.assertRegex(found.pop("address"), "^ckt1q[qpzry9x8gf2tvdw0s3jn54khce6mua7l]+$")
        self.assertRegex(found.pop("lock_args"), "^0x[0-9a-f]{40}$")
        self.assertEqual(found, {
            "ready": True, "mode": "external_rpc", "tip_block_number": TIP, "indexed_block_number": TIP, "lag": 0,
            "cell_count": 1, "capacity_shannons": str(shannons), "capacity_ckb": "499.99999001",
            "scope": "base_ckb_only", "simulated": True})
        node.stop()

    @fresh
    def test_it_needs_the_password(self, library):
        node = self.ready(library)
        for password, words in [(None, "please set FIBER_SECRET_KEY_PASSWORD"), ("wrong", "decryption failed")]:
            os.environ.pop("FIBER_SECRET_KEY_PASSWORD")
            if password:
                os.environ["FIBER_SECRET_KEY_PASSWORD"] = password
            text = self.assertFails(
                2, "failed to derive the CKB funding lock script: Secret key file error: ", self.balance, node)
            self.assertIn(words, text)
            os.environ["FIBER_SECRET_KEY_PASSWORD"] = "correct horse"
        self.balance(node)
        node.stop()

    def test_an_opening_takes_funding_and_fee_and_so_does_it_after_a_restart(self):
        def first(library):
            node = self.ready(library)
            self.assertEqual(self.balance(node)["capacity_shannons"], str(WALLET - 500 * CKB - FEE))
            self.open(node, funding_fee_rate=5000, has_funding_fee_rate=1)
            node.wait_kind("ChannelReady", 2)
            self.assertEqual(self.balance(node)["capacity_shannons"], str(WALLET - 700 * CKB - FEE - 5000))
            node.stop()

        def second(library):
            node = self.ready(library)
            self.assertEqual(self.balance(node)["capacity_shannons"], str(WALLET - 700 * CKB - FEE - 5000))
            node.stop()
        self.succeed(first)
        self.succeed(second)

    @fresh
    def test_what_the_wallet_does_not_have_aborts_the_opening_late(self, library):
        node = self.ready(library, config=chain('wallet: "699 CKB"'))
        temporary = self.open(node)
        self.assertEqual(node.wait_kind("ChannelFundingAborted")["channel_id"], temporary)
        failed = node.channels(has_only_pending=1, only_pending=1)[0]
        self.assertEqual(failed["failure_detail"], "Funding transaction aborted")
        self.assertEqual(failed["state"], {"state_name": "Closed", "state_flags": "FUNDING_ABORTED"})
        self.assertEqual(self.balance(node)["capacity_shannons"], str(199 * CKB - FEE))
        node.stop()
