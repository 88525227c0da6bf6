"""Networks: what the supervisor reads from the node's own file, and the currency that follows from its chain."""

import json
import subprocess
import unittest

from bus import PROGRAMS, BusTest

PARAMS = (-32602, "invalid_params")
CURRENCIES = {"mainnet": "Fibb", "testnet": "Fibt", "dev": "Fibd"}


class NetworksTest(BusTest):
    def run_program(self, bus, command):
        """A command of nodebus with the bus's configuration: exit code, stdout, stderr lines without the directory."""
        run = subprocess.run([PROGRAMS / "nodebus", command, "--config", bus.config], cwd=bus.directory,
                             capture_output=True, text=True, timeout=60)
        return run.returncode, run.stdout, run.stderr.replace(str(bus.directory), "@").splitlines()

    def edit(self, bus, change, network="dev"):
        """Changes the parsed file of a network's node."""
        path = bus.directory / f"{network}.yml"
        node = json.loads(path.read_text())
        change(node)
        path.write_text(json.dumps(node, indent=1) + "\n")

    def test_an_invoice_has_the_currency_of_the_chain_and_no_other_reaches_the_node(self):
        for chain, currency in CURRENCIES.items():
            with self.subTest(chain=chain):
                bus = self.make_bus(chains={"dev": chain})
                bus.start()
                network = bus.call("network.list")["networks"][0]
                self.assertEqual((network["chain"], network["currency"]), (chain, currency))
                for given in ({}, {"currency": currency}, {"currency": None}):
                    invoice = bus.call("fiber.new_invoice", {"amount": "5", **given})["invoice"]
                    self.assertTrue(invoice.startswith(f"{currency.lower()}51"), invoice)
                calls = bus.counters()["calls"]["fiber_new_invoice"]
                self.assertEqual(calls, 3)
                for other in set(CURRENCIES.values()) - {currency}:
                    error = self.assert_error(*PARAMS, bus.call, "fiber.new_invoice",
                                              {"amount": "5", "currency": other})
                    self.assertEqual(error.data["path"], "currency")
                    self.assertIn(f"must be {currency} on", error.message)
                    self.assertIn("Fibb on mainnet, Fibt on testnet, Fibd on any other chain", error.message)
                self.assertEqual(bus.counters()["calls"]["fiber_new_invoice"], calls, "the node saw none of them")

    def test_two_simulated_networks_stand_side_by_side(self):
        bus = self.make_bus(chains={"dev": "dev", "trial": "testnet"})
        bus.start()
        networks = bus.call("network.list")["networks"]
        self.assertEqual([(each["name"], each["chain"], each["currency"], each["simulated"], each["active"])
                          for each in networks],
                         [("dev", "dev", "Fibd", True, True), ("trial", "testnet", "Fibt", True, False)])
        self.assertTrue(bus.call("fiber.new_invoice", {"amount": "5"})["invoice"].startswith("fibd"))
        bus.call("account.create", {"network": "trial", "account": "alice"})
        bus.call("bus.switch", {"network": "trial", "account": "alice"})
        self.assertEqual([each["active"] for each in bus.call("network.list")["networks"]], [False, True])
        self.assertTrue(bus.call("fiber.new_invoice", {"amount": "5"})["invoice"].startswith("fibt"))
        self.assert_error(*PARAMS, bus.call, "fiber.new_invoice", {"amount": "5", "currency": "Fibd"})

    def test_a_network_that_does_not_fit_is_refused_before_anything_starts(self):
        bus = self.make_bus(chains={"dev": "dev", "trial": "testnet"})

        def spoil(node):
            node["services"] = ["fiber", "ckd"]
            del node["fiber"]["chain"]
            node["ckb"] = None

        self.edit(bus, spoil, "trial")
        expected = [
            "@/trial.yml:2:11: fiber.chain: is missing; write chain: testnet, mainnet or the path of a chain's "
            "specification",
            '@/trial.yml:5:9: ckb: is missing; write ckb: {rpc_url: "http://127.0.0.1:8114/"}',
            "@/trial.yml:6:14: services: must hold ckb; write [fiber, ckb]",
            '@/trial.yml:8:3: services[1]: must be fiber, ckb, rpc or cch, not "ckd"',
        ]
        for command in ["check", "run"]:
            code, out, lines = self.run_program(bus, command)
            self.assertEqual((code, out, lines), (11, "", expected), command)
        self.assertFalse(bus.root.exists(), "nothing was made")

    def test_who_only_looks_for_the_bus_needs_no_sound_node_file(self):
        bus = self.make_bus()
        bus.start()
        self.edit(bus, lambda node: node.pop("services"))
        code, out, _ = self.run_program(bus, "status")
        self.assertEqual(code, 0)
        self.assertIn("ready", out)
        self.assertEqual(self.run_program(bus, "check")[0], 11)

    def test_a_warning_is_printed_and_logged_and_stops_nothing(self):
        bus = self.make_bus()

        def unusual(node):
            node["services"].append("rpc")
            node["fiber"]["base_dir"] = "elsewhere"

        self.edit(bus, unusual)
        code, out, lines = self.run_program(bus, "check")
        self.assertEqual(code, 0)
        self.assertIn("is good", out)
        self.assertEqual(lines, [
            "warning: @/dev.yml:5:15: fiber.base_dir: has no effect: the node's data stands in its account's directory",
            "warning: @/dev.yml:13:3: services[2]: has no effect in an embedded node: no port is opened for it",
        ])
        bus.start()
        for line in lines:
            text = line.removeprefix("warning: ").replace("@", str(bus.directory))
            self.assertIn(f"warning configuration: {text}", bus.log())

    def test_a_file_that_only_a_real_node_may_read_is_not_called_wrong(self):
        bus = self.make_bus(library="/nowhere/libfiber_ffi.so")
        bus.node_config.write_text("fiber: &fiber {chain: testnet}\nckb: {}\nservices: [fiber, ckb]\n")
        code, _, lines = self.run_program(bus, "check")
        self.assertEqual(code, 0)
        self.assertEqual(lines, [
            "warning: @/dev.yml:1:8: an anchor (&name) stands here; anchors and aliases are not read; the node may take "
            "this; the file is not checked, and the chain not known"])
        # To the simulated node, which reads as we do, it is wrong.
        bus.write_config()
        self.assertEqual(self.run_program(bus, "check")[0], 11)


if __name__ == "__main__":
    unittest.main()
