"""A correct subscriber: every event of one account, or of some of its kinds, exactly once, whatever is lost on the way.

This is the model for clients in any language; it needs nothing but ZeroMQ and JSON. A PUB socket drops messages for a reader that is slow
or away, and says nothing. What a client needs to notice stands in every message:

* `seq` counts an account's events from 1 without a hole; `prev` is the seq of the last event on the same topic;
* a heartbeat once a second carries `head`, the last published seq, so that the loss of the last event is noticed too;
* `bus/Welcome` comes to whoever subscribes `bus/`: the connection stands (again).

The rule: read the journal once (`events.read`) when the welcome comes. Then whatever does not follow on what you have is a hole, and you
read again from where you are. Events are in the journal before they are published, so a hole can always be filled.
"""

import json
import time

import zmq


class Subscriber:
    """Hands events to `deliver(topic, header, payload)` as the bytes that were published.

    Of a whole account (`kinds` None) they come in the order of seq; of some kinds in the order of seq on each topic.
    """

    def __init__(self, context, events, commands, profile, deliver, kinds=None, source="fiber"):
        self.profile = profile
        self.kinds = kinds
        self.deliver = deliver
        self.epoch = None
        self.position = 0  # every event of ours up to here was delivered
        self.beyond = {}  # topic: the last seq delivered above the position
        self.holes = 0  # how often something was missing

        self.commands = context.socket(zmq.DEALER)
        self.commands.linger = 0
        self.commands.connect(commands)
        self.ids = 0

        self.events = context.socket(zmq.SUB)
        self.events.linger = 0
        self.events.connect(events)
        for topic in [f"{source}/{kind}" for kind in kinds] if kinds else [""]:
            self.events.subscribe(f"{profile}/{topic}")
        self.events.subscribe(f"{profile}/supervisor/Heartbeat")
        self.events.subscribe("bus/")  # last: when its welcome comes, the others are on their way

    def run_once(self, seconds):
        """Waits at most so long for one message and does what it asks for. False: nothing came."""
        if not self.events.poll(int(seconds * 1000)):
            return False
        frames = self.events.recv_multipart()
        topic = frames[0].decode()
        if topic == "bus/Welcome":
            self.catch_up()
        elif topic == f"{self.profile}/supervisor/Heartbeat":
            self.take_heartbeat(json.loads(frames[2]))
        elif not topic.startswith("bus/"):
            self.take_event(topic, frames)
        return True

    def take_event(self, topic, frames):
        """An event as it was published."""
        header = json.loads(frames[1])
        if header["epoch"] != self.epoch:
            return self.catch_up()  # before the first welcome, or the history was lost
        had = max(self.position, self.beyond.get(topic, 0))
        if header["seq"] <= had:
            return  # it came with the journal already
        # Of a whole account nothing may be missing in between; of some kinds only what `prev` names.
        missing = header["prev"] > had if self.kinds else header["seq"] != self.position + 1
        if missing:
            self.holes += 1
            return self.catch_up()  # which delivers this event too
        if self.kinds:
            if self.is_ours(header["kind"]):
                self.beyond[topic] = header["seq"]
                self.deliver(topic, frames[1], frames[2])
        else:
            self.position = header["seq"]
            self.deliver(topic, frames[1], frames[2])

    def take_heartbeat(self, heartbeat):
        """A head above what we have: the last events were lost (or, of some kinds, none of ours was among them)."""
        if heartbeat["epoch"] != self.epoch or heartbeat["head"] > self.position:
            self.holes += not self.kinds
            self.catch_up()

    def is_ours(self, kind):
        # A subscription is a prefix: ChannelReady brings ChannelReadyAgain too.
        return self.kinds is None or kind in self.kinds

    def catch_up(self):
        """Reads the journal from where we are to its end."""
        while True:
            wanted = {"after": self.position}
            wanted |= {"epoch": self.epoch} if self.epoch else {}
            wanted |= {"kinds": self.kinds} if self.kinds else {}
            try:
                page = self.ask("events.read", wanted)
            except HistoryChanged:
                # Another history: what we have is of the old one. Begin again; what to do with it is the application's to say.
                self.epoch, self.position, self.beyond = None, 0, {}
                continue
            self.epoch = page["epoch"]
            for topic, header_bytes, payload_bytes in page["events"]:
                header = json.loads(header_bytes)
                if header["seq"] > self.beyond.get(topic, 0):
                    self.deliver(topic, header_bytes, payload_bytes)
            self.position = page["next"]
            if self.position >= page["head"]:
                self.beyond = {topic: seq for topic, seq in self.beyond.items() if seq > self.position}
                return

    def ask(self, method, params):
        """One call on the DEALER, which pipelines: replies are told apart by their id."""
        self.ids += 1
        request = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}
        self.commands.send_multipart([b"", json.dumps(request).encode()])
        deadline = time.monotonic() + 10
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not self.commands.poll(int(left * 1000) + 1):
                raise TimeoutError(f"no reply to {method}")
            reply = members(self.commands.recv_multipart()[1].decode())
            if json.loads(reply["id"]) == self.ids:  # else the late answer to a call that we gave up
                break
        if "error" in reply:
            error = json.loads(reply["error"])
            raise HistoryChanged() if error["data"]["name"] == "history_changed" else RuntimeError(error)
        return page(reply["result"])

    def close(self):
        self.events.close()
        self.commands.close()


class HistoryChanged(Exception):
    """Our position is of another epoch, or above the head."""


def page(text):
    """A result of events.read; each event as (topic, header, payload), the last two as the bytes they are."""
    result = members(text)
    events = []
    for element in elements(result["events"]):
        parts = members(element)
        events.append((json.loads(parts["topic"]), parts["header"].encode(), parts["payload"].encode()))
    return {name: json.loads(value) for name, value in result.items() if name != "events"} | {"events": events}


def members(text):
    """The members of a JSON object as raw text by name: json.loads alone would not keep the bytes. We write no blanks."""
    scan = json.JSONDecoder().raw_decode
    found = {}
    place = 1
    while text[place] != "}":
        name, place = scan(text, place + (text[place] == ","))
        start = place + 1  # the colon
        _, place = scan(text, start)
        found[name] = text[start:place]
    return found


def elements(text):
    """The elements of a JSON array as raw text."""
    scan = json.JSONDecoder().raw_decode
    found = []
    place = 1
    while text[place] != "]":
        start = place + (text[place] == ",")
        _, place = scan(text, start)
        found.append(text[start:place])
    return found
