import Linux
import Wire
import ZeroMQ

/// The XPUB socket: events in order, heartbeats, announcements; and what subscribers say, within limits. A subscriber
/// that cannot take an event at its high-water mark loses it and sees the hole: never XPUB_NODROP, with which one could
/// stop all others.
final class Publisher {
    let socket: Socket
    private let inbox: Inbox
    private let settings: BusSettings

    /// The next one last, so that what is done is let go.
    private var orders: [Inbox.Order] = []
    private var nextEvent = 0
    private var journals: [Profile: Journal] = [:]
    private var upstream: [Int32: Upstream] = [:]

    /// A journal in use, for its heartbeats.
    private struct Journal {
        var epoch: String
        /// The last seq that was published.
        var head: Int64
        var run: Int64
        let topic: [UInt8]
    }

    /// What one connection has said.
    private struct Upstream {
        /// Hashes of what it is subscribed to.
        var subscriptions: Set<Int> = []
        /// Messages since the last heartbeat.
        var messages = 0
    }

    init(_ context: Context, _ settings: BusSettings, _ inbox: Inbox) throws(ZeroMQError) {
        socket = try Socket(context, .xpub, limits: settings.eventLimits)
        // Every subscription is passed up, not just the first to a topic, so that they can be counted by connection.
        try socket.set(.verboser, true)
        try socket.set(.welcomeMessage, Array("bus/Welcome".utf8))
        self.settings = settings
        self.inbox = inbox
    }

    /// Publishes what is queued, until it is time to do something else; true when there is more.
    func publish(until end: Instant) throws(ZeroMQError) -> Bool {
        while true {
            if orders.isEmpty { orders = inbox.takeOrders().reversed() }
            guard let order = orders.last else { return false }
            switch order {
            case .batch(let batch): if try !publish(batch, until: end) { return true }
            case .announce(let kind, let payload): try announce(kind, payload)
            case .openJournal(let profile, let epoch, let head, let run):
                open(profile, epoch, head, run)
            case .closeJournal(let profile): journals[profile] = nil
            case .missed(let profile, let epoch, let head): advance(profile, epoch, head)
            }
            orders.removeLast()
            if Instant.now >= end { return true }
        }
    }

    /// False when the time was up before all of the batch was out.
    private func publish(_ batch: EventBatch, until end: Instant) throws(ZeroMQError) -> Bool {
        let socket = socket
        var at = nextEvent
        // A Result, since typed throws do not pass through withUnsafeBytes.
        let outcome = batch.headers.withUnsafeBytes { headers in
            batch.payloads.withUnsafeBytes { payloads in
                Result { () throws(ZeroMQError) in
                    while at < batch.events.count {
                        let event = batch.events[at]
                        at += 1
                        try socket.send(event.topic, more: true)
                        try socket.send(UnsafeRawBufferPointer(rebasing: headers[event.header]), more: true)
                        try socket.send(UnsafeRawBufferPointer(rebasing: payloads[event.payload]))
                        if at % 64 == 0, Instant.now >= end { return }
                    }
                }
            }
        }
        nextEvent = at
        try outcome.get()
        guard at == batch.events.count else { return false }
        nextEvent = 0
        advance(batch.profile, batch.epoch, batch.head)
        inbox.published(batch)
        return true
    }

    private func open(_ profile: Profile, _ epoch: String, _ head: Int64, _ run: Int64) {
        // For a journal that is open, batches published since the caller read its head must not be taken back.
        let known = journals[profile].flatMap { $0.epoch == epoch ? $0.head : nil } ?? 0
        let topic = Topic(profile: profile, source: Topic.supervisor, kind: "Heartbeat")
        journals[profile] = Journal(
            epoch: epoch, head: max(head, known), run: run, topic: Array(topic.description.utf8))
    }

    private func advance(_ profile: Profile, _ epoch: String, _ head: Int64) {
        journals[profile]?.epoch = epoch
        journals[profile]?.head = head
    }

    /// Publishes `bus/<kind>`, which no journal holds.
    func announce(_ kind: String, _ payload: JSON) throws(ZeroMQError) {
        let header: JSON = ["v": 1, "time": .string(time), "source": "bus", "kind": .string(kind)]
        try socket.send(frames: [Array("bus/\(kind)".utf8), header.bytes, payload.bytes])
    }

    /// A heartbeat for each journal in use, so that a lost last event is noticed, and one of the bus with the state of
    /// the supervisor.
    func heartbeat(_ status: JSON) throws(ZeroMQError) {
        for (profile, journal) in journals {
            let header: JSON = [
                "v": 1, "epoch": .string(journal.epoch), "head": .integer(journal.head), "time": .string(time),
                "network": .string(profile.network), "account": .string(profile.account),
                "source": .string(Topic.supervisor), "kind": "Heartbeat", "run": .integer(journal.run),
            ]
            let payload: JSON = ["epoch": .string(journal.epoch), "head": .integer(journal.head)]
            try socket.send(frames: [journal.topic, header.bytes, payload.bytes])
        }
        // The interval, so that a subscriber knows when it has missed three.
        let interval = settings.heartbeat.milliseconds
        try announce("Heartbeat", supervisorState(status).with("interval_ms", .integer(interval)))
        for descriptor in upstream.keys { upstream[descriptor]?.messages = 0 }
    }

    private func supervisorState(_ status: JSON) -> JSON {
        var payload: JSON = ["state": status["state"] ?? .null]
        for key in ["network", "account", "epoch", "head"] {
            if let value = status[key], !value.isNull { payload = payload.with(key, value) }
        }
        guard let network = status["network"]?.text, let account = status["account"]?.text,
            let journal = Profile(network: network, account: account).flatMap({ journals[$0] })
        else { return payload }
        return payload.with("epoch", .string(journal.epoch)).with("head", .integer(journal.head))
    }

    private var time: String { Timestamp.text(WallClock.microseconds) }

    /// Reads what subscribers said; `excess` is told whose connection has to go. True when there is more.
    func readSubscriptions(until end: Instant, excess: (Int32) -> Void) throws(ZeroMQError) -> Bool {
        // The first byte says what it is (rfc.zeromq.org/spec/29); whatever else there is means nothing to a publisher.
        while let frame = try socket.receive(source: true) {
            if let descriptor = frame.sourceDescriptor, note(frame.bytes, descriptor) { excess(descriptor) }
            if Instant.now >= end { return true }
        }
        return false
    }

    /// True when the connection is past its limits.
    private func note(_ message: [UInt8], _ descriptor: Int32) -> Bool {
        var entry = upstream.removeValue(forKey: descriptor) ?? Upstream()
        entry.messages += 1
        switch message.first {
        case 1:
            if entry.subscriptions.count <= settings.maxSubscriptions {
                entry.subscriptions.insert(message.dropFirst().hashValue)
            }
        case 0: entry.subscriptions.remove(message.dropFirst().hashValue)
        default: break
        }
        upstream[descriptor] = entry
        return entry.subscriptions.count > settings.maxSubscriptions
            || entry.messages > settings.maxSubscriptionMessages
    }

    /// A connection is gone, and its number may be another's soon.
    func forget(_ descriptor: Int32) { upstream[descriptor] = nil }
}
