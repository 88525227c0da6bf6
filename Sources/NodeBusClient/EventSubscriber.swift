import Wire
import ZeroMQ

/// Receives what is published, as it comes: a slow reader loses messages at its high-water mark. `EventStream` makes up
/// for that.
public final class EventSubscriber {
    /// What a subscriber can tell.
    public enum Delivery: Sendable, Equatable {
        /// The connection stands: the first thing, and again after each `disconnected`.
        case connected
        /// The connection ended; it is tried again.
        case disconnected
        /// An event, heartbeats included.
        case event(Event)
    }

    /// The single frame that a new subscriber to `bus/` gets first.
    public static let welcome = "bus/Welcome"

    /// Where events are published.
    public let endpoint: String
    private let socket: Socket
    private let monitor: Monitor
    private var poller = Poller()
    private var isWelcomeHeldBack = false

    /// Subscribes to topics that start with one of `prefixes` (`""`: everything), and always to `bus/`. `queueLimit` is
    /// the high-water mark.
    public init(endpoint: String, prefixes: [String], context: Context, queueLimit: Int32 = 10_000) throws(ClientError)
    {
        self.endpoint = endpoint
        var limits = SocketLimits()
        // An event's frames are 255 bytes, a header and at most max_payload.
        limits.maxMessageSize = 4 << 20
        limits.receiveHighWaterMark = queueLimit
        let made: (Socket, Monitor) = try transport { () throws(ZeroMQError) in
            let socket = try Socket(context, .sub, limits: limits)
            for prefix in Set(prefixes + ["bus/"]) { try socket.set(.subscribe, Array(prefix.utf8)) }
            let monitor = try Monitor(of: socket)
            try socket.connect(endpoint)
            return (socket, monitor)
        }
        (socket, monitor) = made
        _ = poller.add(socket)
        _ = poller.add(monitor.socket)
    }

    /// The next thing that happens; nil when nothing does within `timeout`.
    public func next(timeout: Duration) throws(ClientError) -> Delivery? {
        let deadline = ContinuousClock.now + timeout
        while true {
            if let delivery = try transport({ () throws(ZeroMQError) in try ready() }) { return delivery }
            let left = deadline - .now
            guard left > .zero else { return nil }
            _ = try transport { () throws(ZeroMQError) in try poller.wait(left) }
        }
    }

    /// What has come already. Messages go first: those of a connection that ended were published before it did. But the
    /// welcome of a new connection comes after the end of the old one.
    private func ready() throws(ZeroMQError) -> Delivery? {
        if isWelcomeHeldBack {
            isWelcomeHeldBack = false
            return .connected
        }
        while let message = try socket.receiveMessage(frameLimit: 4) {
            let frames = message.frames
            let topic = String(decoding: frames[0], as: UTF8.self)
            if topic == EventSubscriber.welcome {
                guard try connectionEnded() else { return .connected }
                isWelcomeHeldBack = true
                return .disconnected
            }
            // Anything else than three frames is no event of this contract; a later version may add such messages.
            guard frames.count == 3 else { continue }
            return .event(Event(topic: topic, header: frames[1], payload: frames[2]))
        }
        return try connectionEnded() ? .disconnected : nil
    }

    private func connectionEnded() throws(ZeroMQError) -> Bool {
        var ended = false
        while let event = try monitor.next() { if event.kind == .disconnected { ended = true } }
        return ended
    }
}
