"""The command socket against everything that is not a request: frames, JSON, ids, floods. After each the bus still answers."""

import itertools
import json
import socket
import time
import unittest

import zmq

from bus import BusTest, resident_bytes, wait_for

PARSE = (-32700, "parse_error")
REQUEST = (-32600, "invalid_request")
PARAMS = (-32602, "invalid_params")


def request(**members):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "bus.ping", "params": {}, **members}).encode()


NOT_JSON = {
    "nothing": b" ",
    "a word": b"hello",
    "cut": request()[:-1],
    "two texts": request() + request(),
    "a trailing comma": b'{"jsonrpc":"2.0","id":1,"method":"bus.ping",}',
    "single quotes": b"{'jsonrpc':'2.0'}",
    "a comment": b'{"jsonrpc":"2.0",/* */"id":1,"method":"bus.ping"}',
    "bad UTF-8": b'{"jsonrpc":"2.0","id":"\xff\xfe","method":"bus.ping"}',
    "a lone surrogate": b'{"jsonrpc":"2.0","id":"\\ud800","method":"bus.ping"}',
    "a raw NUL": b'{"jsonrpc":"2.0","id":1,"method":"bus.\0ping"}',
    "a byte order mark": b"\xef\xbb\xbf" + request(),
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"bus.ping","params":{"a":NaN}}',
    "a leading zero": b'{"jsonrpc":"2.0","id":01,"method":"bus.ping"}',
    "a duplicate member": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"bus.ping"}',
    "a duplicate deep inside": b'{"jsonrpc":"2.0","id":1,"method":"bus.ping","params":{"a":[{"b":1,"b":2}]}}',
    "a duplicate by escape": b'{"jsonrpc":"2.0","id":1,"method":"bus.ping","params":{"a":1,"\\u0061":2}}',
    "depth 65": b'{"jsonrpc":"2.0","id":1,"method":"bus.ping","params":{"a":' + b"[" * 63 + b"]" * 63 + b"}}",
    "depth 100,000": b"[" * 100_000,
}

NOT_A_REQUEST = {
    "a number": b"5",
    "a string": b'"bus.ping"',
    "null": b"null",
    "an empty object": b"{}",
    "an empty batch": b"[]",
    "a batch": b"[" + request() + b"," + request() + b"]",
    "no version": b'{"id":1,"method":"bus.ping"}',
    "version 1.0": request(jsonrpc="1.0"),
    "a version that is a number": request(jsonrpc=2.0),
    "no id": b'{"jsonrpc":"2.0","method":"bus.ping"}',
    "id null": request(id=None),
    "id true": request(id=True),
    "id 1.5": request(id=1.5),
    "an id that is a list": request(id=[1]),
    "an id of 65 bytes": request(id="x" * 65),
    "an id of 65 bytes in 33 characters": request(id="é" * 32 + "x"),
    "no method": b'{"jsonrpc":"2.0","id":1,"params":{}}',
    "a method that is a number": request(method=5),
    "a stranger": request(methode="bus.ping"),
    "a response": b'{"jsonrpc":"2.0","id":1,"result":{}}',
    "timeout_ms zero": request(timeout_ms=0),
    "timeout_ms as text": request(timeout_ms="5"),
    "timeout_ms too long": request(timeout_ms=3_600_001),
    "an idempotency key, which this version has not": request(idempotency_key="k"),
}


class WireTest(BusTest):
    def setUp(self):
        self.bus = self.make_bus(peers=())
        self.bus.start()

    def check_end(self, bus):
        self.assertEqual(bus.call("bus.ping"), {}, "the bus still answers")
        super().check_end(bus)

    def socket(self, kind, *options):
        socket = self.bus.context.socket(kind)
        socket.linger = 0
        for option, value in options:
            socket.setsockopt(option, value)
        socket.connect(self.bus.commands)
        self.addCleanup(socket.close)
        return socket

    def receive(self, socket, seconds=10):
        self.assertTrue(socket.poll(seconds * 1000), "no reply")
        return socket.recv_multipart()

    def error(self, frames):
        """Sends frames on a REQ; the error that comes back and the id."""
        reply = json.loads(self.bus.request(frames))
        self.assertNotIn("result", reply, frames)
        self.assertEqual(reply["jsonrpc"], "2.0")
        return (reply["error"]["code"], reply["error"]["data"]["name"]), reply["id"]

    def test_what_is_not_json(self):
        for name, frame in NOT_JSON.items():
            with self.subTest(name):
                self.assertEqual(self.error([frame]), (PARSE, None))

    def test_what_is_json_and_no_request(self):
        for name, frame in NOT_A_REQUEST.items():
            with self.subTest(name):
                error, id = self.error([frame])
                self.assertEqual(error, REQUEST)
                self.assertIn(id, (None, 1))

    def test_params_must_be_named(self):
        for params in [[], [1], None, "x", 5, True]:
            with self.subTest(params=params):
                self.assertEqual(self.error([request(params=params)]), (PARAMS, 1))

    def test_params_may_be_left_out(self):
        self.assertEqual(json.loads(self.bus.request([b'{"jsonrpc":"2.0","id":1,"method":"bus.ping"}']))["result"], {})

    def test_depth_64_is_taken(self):
        frame = b'{"jsonrpc":"2.0","id":1,"method":"bus.ping","params":{"a":' + b"[" * 62 + b"]" * 62 + b"}}"
        self.assertEqual(self.error([frame]), (PARAMS, 1))

    def test_an_id_comes_back_as_it_was_sent(self):
        for id in ['"x"', '""', '"' + "x" * 64 + '"', '"\\u00e9"', "0", "-1", "9007199254740993", "9223372036854775807",
                   "-9223372036854775808"]:
            with self.subTest(id=id):
                reply = self.bus.request([b'{"jsonrpc":"2.0","id":%s,"method":"bus.ping"}' % id.encode()])
                self.assertEqual(json.loads(reply)["id"], json.loads(id))
                self.assertNotIn(b"error", reply)

    def test_an_empty_frame_or_two_frames_are_no_request(self):
        dealer = self.socket(zmq.DEALER)
        for frames in [[b"", b""], [b"", request(), request()], [b"", request(), b""], [b"a", b"", request(), b"b"],
                       [b"", b"", request()]]:
            with self.subTest(frames=len(frames)):
                dealer.send_multipart(frames)
                reply = self.receive(dealer)
                place = reply.index(b"")
                self.assertEqual(frames[:place + 1], reply[:place + 1], "the envelope comes back")
                self.assertEqual(len(reply), place + 2)
                parsed = json.loads(reply[-1])
                self.assertIn(parsed["error"]["code"], (-32600, -32700))
                self.assertIsNone(parsed["id"])

    def test_a_dealer_with_an_envelope_gets_it_back(self):
        dealer = self.socket(zmq.DEALER)
        dealer.send_multipart([b"one", b"two", b"", request(id="e")])
        reply = self.receive(dealer)
        self.assertEqual(reply[:3], [b"one", b"two", b""])
        self.assertEqual(json.loads(reply[3])["id"], "e")

    def test_a_dealer_may_leave_the_empty_frame_out(self):
        dealer = self.socket(zmq.DEALER)
        dealer.send(request(id="bare"))
        reply = self.receive(dealer)
        self.assertEqual(json.loads(reply[-1])["id"], "bare")
        self.assertEqual(len(reply), 1, "as it was sent, so without the empty frame")
        dealer.send(b"")
        self.assertIn(json.loads(self.receive(dealer)[-1])["error"]["code"], (-32600, -32700))

    def test_a_thousand_pipelined_requests_are_answered_once_each(self):
        dealer = self.socket(zmq.DEALER, (zmq.SNDHWM, 0), (zmq.RCVHWM, 0))
        methods = itertools.cycle(["bus.ping", "fiber.node_info", "bus.status", "events.read", "bus.none"])
        asked = {}
        for id, method in zip(range(1000), methods):
            params = {"after": 0, "limit": 3} if method == "events.read" else {}
            dealer.send_multipart([b"", request(id=id, method=method, params=params)])
            asked[id] = method
        answered = {}
        while len(answered) < 1000:
            reply = json.loads(self.receive(dealer)[1])
            self.assertNotIn(reply["id"], answered, "answered twice")
            answered[reply["id"]] = reply
        self.assertFalse(dealer.poll(100), "more replies than requests")
        for id, reply in answered.items():
            if "error" in reply and asked[id] != "bus.none":
                # Too much at once is refused, and said so; nothing is dropped.
                self.assertEqual(reply["error"]["data"]["name"], "overloaded")
            else:
                self.assertEqual("error" in reply, asked[id] == "bus.none", reply)

    def test_a_slow_native_call_holds_nobody_up(self):
        self.bus.fault("fiber_node_info", "slow:1s")
        dealer = self.socket(zmq.DEALER)
        dealer.send_multipart([b"", request(id="slow", method="fiber.node_info")])
        began = time.monotonic()
        self.assertEqual(self.bus.call("bus.ping"), {})
        self.bus.call("events.read", {"after": 0, "limit": 5})
        self.assertLess(time.monotonic() - began, 0.8)
        self.assertEqual(json.loads(self.receive(dealer)[1])["id"], "slow")

    def test_a_req_socket_with_relaxed_and_correlate_can_ask_again(self):
        req = self.socket(zmq.REQ, (zmq.REQ_RELAXED, 1), (zmq.REQ_CORRELATE, 1))
        self.bus.fault("fiber_node_info", "slow:500ms")
        req.send(request(id="slow", method="fiber.node_info"))
        self.assertFalse(req.poll(50))
        req.send(request(id="again"))
        reply = self.receive(req)
        self.assertEqual(json.loads(reply[0])["id"], "again")
        for id in range(100):
            req.send(request(id=id))
            self.assertEqual(json.loads(self.receive(req)[0])["id"], id)

    def test_a_caller_that_waits_only_so_long_is_told(self):
        self.bus.fault("fiber_node_info", "slow:1s")
        began = time.monotonic()
        error = self.assert_error(-32002, "timeout", self.bus.call, "fiber.node_info", timeout_ms=200)
        self.assertLess(time.monotonic() - began, 0.9)
        self.assertEqual(error.data["outcome"], "unknown")
        # One that waits behind it never began.
        error = self.assert_error(-32002, "timeout", self.bus.call, "fiber.list_peers", timeout_ms=100)
        self.assertEqual(error.data["outcome"], "not_started")
        self.assertIs(error.data["retryable"], True)
        self.assertIn("pubkey", self.bus.call("fiber.node_info"))

    def test_a_frame_of_64_mib_closes_the_connection_and_costs_no_memory(self):
        before = resident_bytes(self.bus.process.pid)
        dealer = self.socket(zmq.DEALER)
        monitor = dealer.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        dealer.send(b" " * (64 << 20))
        self.assertTrue(monitor.poll(10_000), "the connection was not closed")
        dealer.disable_monitor()
        self.assertFalse(dealer.poll(100), "a reply that nobody can match")
        after = resident_bytes(self.bus.process.pid)
        self.assertLess(after - before, 8 << 20, f"{before} to {after} bytes resident")

    def test_a_frame_of_just_under_1_mib_is_taken(self):
        frame = request()
        frame += b" " * ((1 << 20) - len(frame))
        self.assertEqual(json.loads(self.bus.request([frame]))["result"], {})

    def test_noise_that_is_not_zeromq(self):
        path = self.bus.commands.removeprefix("ipc://")
        for noise in [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, b"\xff" * 100, bytes(range(256)), b"\xff" + b"\0" * 8 + b"\x7f"]:
            with self.subTest(noise=noise[:10]), socket.socket(socket.AF_UNIX) as raw:
                raw.connect(path)
                raw.sendall(noise)
            self.assertEqual(self.bus.call("bus.ping"), {})

    def test_clients_that_go_away_with_their_requests_open(self):
        self.bus.fault("fiber_node_info", "slow:300ms")
        for _ in range(20):
            dealer = self.socket(zmq.DEALER)
            dealer.send_multipart([b"", request(method="fiber.node_info")])
            dealer.close()
        self.assertIn("pubkey", self.bus.call("fiber.node_info"))

    def test_a_subscriber_that_never_reads_does_not_slow_the_rest(self):
        stuck = self.bus.subscribe("", options=[(zmq.RCVHWM, 1)])
        self.addCleanup(stuck.close)
        live = self.bus.subscribe("dev/demo/fiber/")
        self.addCleanup(live.close)
        self.bus.emit(20_000, per_second=10_000)
        for _ in range(20_000):
            live.receive(lambda event: event.topic == "dev/demo/fiber/Storm")
        wait_for(lambda: self.bus.status()["journal"] == "ok", "a sound journal")


if __name__ == "__main__":
    unittest.main()
