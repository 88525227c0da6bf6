"""A subscriber that sleeps through a burst ends with an exact copy: see subscriber.py, the model for clients."""

import threading
import time
import unittest

import zmq

from bus import PATIENCE, BusTest, wait_for
from subscriber import Subscriber

BURST = 60_000
# Of a slow reader the supervisor keeps so many messages; the burst is larger than that and all buffers on the way.
RATE = 20_000


class Awake(threading.Thread):
    """A subscriber that is always awake and keeps every message as it came: what the sleeper's copy has to be."""

    def __init__(self, bus):
        super().__init__(daemon=True)
        self.subscription = bus.subscribe("dev/demo/")
        self.messages = []
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.is_set():
            if not self.subscription.socket.poll(50):
                continue
            frames = self.subscription.socket.recv_multipart()
            if len(frames) == 3 and not frames[0].endswith(b"/Heartbeat"):
                self.messages.append(tuple(frames))

    def end(self):
        self.is_over.set()
        self.join()
        self.subscription.close()


class SleeperTest(BusTest):
    def sleeper(self, bus, kinds=None):
        """A correct subscriber at a high-water mark of 1 that has read the journal and is about to sleep."""
        received = []

        def deliver(topic, header, payload):
            received.append((topic.encode(), header, payload))

        # The mark has to stand before the connection is made.
        class Sleeper(Subscriber):
            def __init__(self):
                context = zmq.Context()
                context.setsockopt(zmq.RCVHWM, 1)
                context.setsockopt(zmq.RCVBUF, 4096)
                super().__init__(context, bus.events, bus.commands, "dev/demo", deliver, kinds)

        sleeper = Sleeper()
        self.addCleanup(sleeper.close)
        wait_for(lambda: sleeper.run_once(0.1) and sleeper.epoch, "the sleeper's first read")
        return sleeper, received

    def burst(self, bus):
        """A burst, and the head of the journal when all of it was published."""
        before = bus.status()["head"]
        bus.emit(BURST, kind="Storm", bytes=230, per_second=RATE)
        bus.emit(100, kind="Drizzle", bytes=150, per_second=100)
        return wait_for(lambda: bus.status()["head"] == before + BURST + 100 and before + BURST + 100,
                        "the journal to hold the burst", 4 * PATIENCE)

    def test_the_sleeper_notices_its_loss_within_two_seconds_and_ends_with_an_exact_copy(self):
        bus = self.make_bus()
        bus.start()
        awake = Awake(bus)
        awake.start()
        sleeper, received = self.sleeper(bus)
        known = sleeper.position
        head = self.burst(bus)

        woken = time.monotonic()
        wait_for(lambda: sleeper.run_once(0.05) and sleeper.holes > 0, "the sleeper to notice", 2.0)
        noticed = time.monotonic() - woken
        wait_for(lambda: not sleeper.run_once(0.05) or sleeper.position >= head, "the sleeper to catch up")
        self.assertLess(noticed, 2.0)
        self.assertGreaterEqual(sleeper.position, head)

        wait_for(lambda: awake.messages and awake.messages[-1][1].find(b'"seq":%d,' % head) > 0, "the awake one")
        awake.end()
        missed = [event for event in received if sequence(event) > known]
        expected = [event for event in awake.messages if sequence(event) > known]
        self.assertEqual(len(missed), BURST + 100)
        self.assertEqual(missed, expected)

    def test_the_lost_tail_alone_is_noticed_by_the_heartbeat(self):
        bus = self.make_bus(heartbeat="500ms")
        bus.start()
        sleeper, received = self.sleeper(bus)
        head = self.burst(bus)
        # Nothing follows the burst: what is lost is its tail, and no event comes that could show it.
        woken = time.monotonic()
        wait_for(lambda: sleeper.run_once(0.05) and sleeper.position >= head, "the sleeper to have the tail", 10)
        self.assertEqual(sequence(received[-1]), head)
        first = next(index for index, event in enumerate(received) if event[0].endswith(b"/Storm"))
        self.assertEqual([sequence(event) for event in received[first:]],
                         list(range(sequence(received[first]), head + 1)))
        self.assertLess(time.monotonic() - woken, 10)

    def test_a_subscriber_of_one_kind_sees_a_hole_by_prev(self):
        bus = self.make_bus()
        bus.start()
        sleeper, received = self.sleeper(bus, kinds=["Drizzle"])
        self.burst(bus)
        wait_for(lambda: sleeper.run_once(0.05) and len(received) >= 100, "all of its kind")
        self.assertEqual(len(received), 100)
        self.assertEqual({event[0] for event in received}, {b"dev/demo/fiber/Drizzle"})
        seqs = [sequence(event) for event in received]
        self.assertEqual(seqs, sorted(set(seqs)))
        # Each names the one before it, so nothing is missing.
        prevs = [int(event[1].split(b'"prev":')[1].split(b",")[0]) for event in received]
        self.assertEqual(prevs, [0] + seqs[:-1])


def sequence(event):
    return int(event[1].split(b'"seq":')[1].split(b",")[0])


if __name__ == "__main__":
    unittest.main()
