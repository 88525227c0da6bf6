"""The figures that were promised: start, memory, answer time. They are printed, and they are limits."""

import statistics
import time
import unittest

import zmq

from bus import SANITIZED, BusTest, resident_bytes, wait_for

START_LIMIT_SECONDS = 0.5
RESIDENT_LIMIT_BYTES = 80 << 20
STATUS_LIMIT_SECONDS = 0.001


@unittest.skipIf(SANITIZED, "figures of a sanitizer build mean nothing")
class FiguresTest(BusTest):
    def test_from_start_to_ready(self):
        times = []
        for _ in range(5):
            bus = self.make_bus()
            began = time.monotonic()
            bus.spawn()
            bus.wait_for_state("ready")
            times.append(time.monotonic() - began)
            self.assertEqual(bus.terminate(), 0)
        median = statistics.median(times)
        print(f"start to ready: median {median * 1000:.0f} ms of {[round(t * 1000) for t in times]}")
        self.assertLess(median, START_LIMIT_SECONDS)

    def test_resident_memory_at_rest(self):
        bus = self.make_bus()
        status = bus.start()
        subscription = bus.subscribe("dev/demo/supervisor/Heartbeat")
        # At rest: the channel is ready, and two heartbeats have told the same head.
        wait_for(lambda: bus.read_kinds("ChannelReady"), "the channel")
        wait_for(lambda: subscription.receive(heartbeats=True).payload.get("head")
                 == subscription.receive(heartbeats=True).payload.get("head"), "rest")
        subscription.close()
        supervisor = resident_bytes(bus.process.pid)
        host = resident_bytes(status["pid"])
        print(f"resident: supervisor {supervisor / 1e6:.1f} MB, host {host / 1e6:.1f} MB")
        self.assertLess(supervisor + host, RESIDENT_LIMIT_BYTES)

    def test_the_time_of_a_status(self):
        bus = self.make_bus()
        bus.start()
        request = b'{"jsonrpc":"2.0","id":1,"method":"bus.status","params":{}}'
        times = []
        with bus.context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(bus.commands)
            for _ in range(1000):
                began = time.perf_counter()
                socket.send(request)
                socket.recv()
                times.append(time.perf_counter() - began)
        median = statistics.median(times)
        print(f"bus.status: median {median * 1e6:.0f} us, 99th percentile {sorted(times)[990] * 1e6:.0f} us")
        self.assertLess(median, STATUS_LIMIT_SECONDS)


if __name__ == "__main__":
    unittest.main()
