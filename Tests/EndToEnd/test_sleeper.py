"""A subscriber that sleeps through a burst ends with an exact copy: see subscriber.py, the model for clients."""

import threading
import time
import unittest

import zmq

from bus import SANITIZED, BusTest, wait_for
from subscriber import Subscriber

# The supervisor keeps up to 5,000 messages for a slow reader; what is more than that and the buffers on the way is lost.
BURST = 40_000
# So fast that a reader which is awake keeps up, on a busy machine too.
RATE = 20_000
NOTICE_SECONDS = 2.0


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
    def setUp(self):
        # Without peers: after its start the node says nothing but what it is told to.
        self.bus = self.make_bus(peers=())
        self.bus.start()
        self.bus.wait_until_quiet()
        self.received = []

    def sleeper(self, kinds=None):
        """A correct subscriber at a high-water mark of 1, which has read the journal and is about to sleep."""
        # The mark has to stand before the connection is made.
        context = zmq.Context()
        context.setsockopt(zmq.RCVHWM, 1)
        sleeper = Subscriber(
            context, self.bus.events, self.bus.commands, "dev/demo",
            lambda topic, header, payload: self.received.append((topic.encode(), header, payload)), kinds)
        self.addCleanup(context.destroy, linger=0)
        self.drive(sleeper, lambda: sleeper.epoch, 10)
        return sleeper

    def drive(self, sleeper, condition, seconds):
        """Lets the subscriber work until a condition holds; answers how long it took."""
        began = time.monotonic()
        while not condition():
            sleeper.run_once(0.05)
            self.assertLess(time.monotonic() - began, seconds, f"the subscriber stands at {sleeper.position}")
        return time.monotonic() - began

    def say(self, kind, count):
        """Lets the node say so many events, and answers the head when all of them were published."""
        head = self.bus.status()["head"] + count
        self.bus.emit(count, kind=kind, per_second=RATE)
        heartbeats = self.bus.subscribe("dev/demo/supervisor/Heartbeat")
        heartbeats.receive(lambda beat: "head" in beat.payload and beat.payload["head"] == head, 60, heartbeats=True)
        heartbeats.close()
        return head

    def test_the_sleeper_notices_its_loss_within_two_seconds_and_ends_with_an_exact_copy(self):
        awake = Awake(self.bus)
        awake.start()
        sleeper = self.sleeper()
        known = sleeper.position
        head = self.say("Storm", BURST)
        wait_for(lambda: awake.messages and sequence(awake.messages[-1]) == head, "the one that is awake", 60)
        awake.end()

        # Nothing follows the burst: what is lost is its tail, and only the heartbeat can show it.
        noticed = self.drive(sleeper, lambda: sleeper.holes > 0, 30)
        self.drive(sleeper, lambda: sleeper.position >= head, 60)
        print(f"the sleeper noticed after {noticed:.2f} s")
        if not SANITIZED:
            self.assertLess(noticed, NOTICE_SECONDS)

        missed = [event for event in self.received if sequence(event) > known]
        expected = [event for event in awake.messages if sequence(event) > known]
        self.assertEqual((len(missed), len(expected)), (BURST, BURST))
        self.assertTrue(missed == expected, "the copy is not exact")

    def test_an_event_after_the_loss_shows_it_too(self):
        sleeper = self.sleeper()
        self.say("Storm", BURST)
        # Awake again, and the next event does not follow on what it has.
        self.drive(sleeper, lambda: sleeper.position > 3_000, 30)
        self.bus.emit(1, kind="Bell")
        self.drive(sleeper, lambda: self.received[-1][0].endswith(b"/Bell"), 60)
        seqs = [sequence(event) for event in self.received]
        self.assertEqual(seqs, list(range(1, seqs[-1] + 1)))
        self.assertGreater(sleeper.holes, 0)

    def test_a_subscriber_of_one_kind_has_each_of_it_once(self):
        sleeper = self.sleeper(kinds=["Storm"])
        self.say("Other", 1000)
        self.say("Storm", BURST)
        head = self.say("StormWarning", 1000)
        self.drive(sleeper, lambda: sleeper.position >= head, 60)
        self.assertEqual(len(self.received), BURST)
        self.assertEqual({event[0] for event in self.received}, {b"dev/demo/fiber/Storm"})
        # Each names the one before it, so nothing is missing and nothing came twice.
        seqs = [sequence(event) for event in self.received]
        self.assertEqual([previous(event) for event in self.received], [0] + seqs[:-1])


def sequence(event):
    return int(event[1].split(b'"seq":')[1].split(b",")[0])


def previous(event):
    return int(event[1].split(b'"prev":')[1].split(b",")[0])


if __name__ == "__main__":
    unittest.main()
