"""Every parameter of every method of the node, wrong in every way that its type knows.

The error names it, and the node never hears of it. The ways come from what the methods say of themselves, so that a new
method is tested as soon as it is there.
"""

import json
import unittest

from bus import BusTest

KEY = "02" + "ab" * 32
HASH = "0x" + "cd" * 32


class Raw(str):
    """JSON text that no Python value is written as."""


NUMBERS = [Raw("1e400"), Raw("1.5"), Raw("-0.0"), Raw("1E2"), Raw("9" * 400)]
NO_TEXT = [5, True, [], {}, ["x"]]

# A good value of each type, and the bad ones.
GOOD = {"text": "x", "boolean": True, "amount": "1", "hash": HASH, "public_key": KEY, "object": {}, "array": [],
        "texts": []}
BAD = {
    "text": NO_TEXT + NUMBERS + ["a\0b", "\0"],
    "boolean": ["true", 0, 1, "", [], {}] + NUMBERS,
    "integer": ["", " 1", "+1", "-1", -1, "0x", "0xzz", "1.0", "one", True, [], {}, 2**64, str(2**64),
                hex(2**64)] + NUMBERS,
    "amount": ["", " 1", "+1", "-1", -1, 2**53 + 1, str(2**128), hex(2**128), "0x", "0xzz", "1.5", "1,5", "1e3",
               "1 ckb", " CKB", "1.123456789 CKB", "1. CKB", ".5 CKB", "-1 CKB", "1  CKB", f"{2**128} CKB", True, [],
               {}] + NUMBERS,
    "hash": NO_TEXT + NUMBERS + ["", "0x", "x", HASH[:-1], HASH + "0", HASH[:-1] + "g", "0x0x" + "ab" * 31,
                                 HASH + "\0"],
    "public_key": NO_TEXT + NUMBERS + ["", "0x", "x", KEY[:-1], KEY + "0", KEY[:-1] + "g", "04" + KEY[2:], KEY[2:],
                                       KEY + "\0"],
    "choice": NO_TEXT + NUMBERS + ["", "nothing of the kind", "\0"],
    "object": ["", "{}", 5, True, [], {"a\0": 1}, {"a": "\0"}, {"a": [{"b": "\0"}]}] + NUMBERS,
    "array": ["", "[]", 5, True, {}, ["\0"], [{"a": "\0"}]] + NUMBERS,
    "refused": NO_TEXT + NUMBERS + ["", "0x1"],
    "texts": ["", "x", 5, True, {}, [5], ["a\0"], [None], [[]]] + NUMBERS,
}


def text(params):
    """The parameters as JSON, with raw text where it stands."""
    members = (f"{json.dumps(name)}:{value if isinstance(value, Raw) else json.dumps(value)}"
               for name, value in params.items())
    return "{" + ",".join(members) + "}"


def good(parameter):
    kind = parameter["type"]
    return {"integer": parameter.get("min"), "choice": parameter.get("choices", [None])[0]}.get(kind) or GOOD.get(kind)


def bad(parameter):
    yield from BAD[parameter["type"]]
    if parameter["type"] == "text":
        yield "x" * (parameter["max_bytes"] + 1)
        yield "€" * (parameter["max_bytes"] // 3 + 1)
    if parameter["type"] == "integer":
        lowest, highest = int(parameter["min"]), int(parameter["max"])
        yield from [highest + 1, str(highest + 1), hex(highest + 1)]
        if lowest:
            yield from [lowest - 1, str(lowest - 1)]


class ParametersTest(BusTest):
    def setUp(self):
        self.bus = self.make_bus()
        self.bus.start()
        self.bus.wait_for_kind("ChannelReady")
        self.methods = [method for method in self.bus.call("bus.methods")["methods"]
                        if method["name"].startswith("fiber.") and method["name"] != "fiber.sim"]
        self.assertGreaterEqual(len(self.methods), 24)

    def required(self, method):
        """Good values for what must be given."""
        return {parameter["name"]: good(parameter) for parameter in method["parameters"] if parameter["required"]}

    def ask(self, method, params):
        request = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{text(params)}}}'
        return json.loads(self.bus.request([request.encode()]))

    def assert_refused(self, method, params, name):
        reply = self.ask(method, params)
        self.assertIn("error", reply, f"{method} took {text(params):.200}")
        error = reply["error"]
        self.assertEqual(error["code"], -32602, f"{method} {text(params):.200}: {error}")
        self.assertEqual(error["data"]["path"].partition("[")[0], name, f"{method} {text(params):.200}: {error}")
        self.assertLess(len(error["message"]), 2000)
        return error

    def test_a_bad_value_is_refused_by_the_name_of_its_parameter(self):
        before = self.calls()
        count = 0
        for method in self.methods:
            required = self.required(method)
            for parameter in method["parameters"]:
                name = parameter["name"]
                for value in bad(parameter):
                    with self.subTest(method=method["name"], parameter=name, value=str(value)[:80]):
                        error = self.assert_refused(method["name"], {**required, name: value}, name)
                        if parameter.get("secret") and isinstance(value, str) and len(value) > 8:
                            self.assertNotIn(value[2:20], json.dumps(error))
                        count += 1
        self.assertGreater(count, 1000)
        self.assertEqual(self.calls(), before, "the node never hears of it")

    def test_what_is_required_and_missing_is_named(self):
        before = self.calls()
        for method in self.methods:
            required = self.required(method)
            for name in required:
                without = {key: value for key, value in required.items() if key != name}
                for params in [without, {**required, name: None}]:
                    with self.subTest(method=method["name"], parameter=name):
                        self.assert_refused(method["name"], params, name)
        self.assertEqual(self.calls(), before, "the node never hears of it")

    def test_udt_amounts_are_not_written_in_ckb(self):
        before = self.calls()
        count = 0
        for method in self.methods:
            types = {parameter["name"]: parameter for parameter in method["parameters"]}
            required = self.required(method)
            for name, parameter in types.items():
                if parameter["type"] == "amount":
                    udt = parameter["udt_when"]
                    with self.subTest(method=method["name"], parameter=name):
                        self.assert_refused(
                            method["name"], {**required, udt: good(types[udt]), name: "1 CKB"}, name)
                        count += 1
        self.assertGreater(count, 10)
        self.assertEqual(self.calls(), before, "the node never hears of it")

    def calls(self):
        """The native calls so far, by name."""
        return self.bus.counters()["calls"]


if __name__ == "__main__":
    unittest.main()
