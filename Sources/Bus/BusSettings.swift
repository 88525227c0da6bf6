import Wire
import ZeroMQ

/// Where the bus listens, and its limits. Everything has one.
public struct BusSettings: Sendable {
    /// Where events are published: `ipc://` and an absolute path of at most 107 bytes.
    public var eventEndpoints: [String]
    /// Where commands are taken, in the same form.
    public var commandEndpoints: [String]
    /// How often heartbeats are published.
    public var heartbeat: Duration

    /// The largest frame of a command, in bytes; a larger one closes the connection.
    public var maxRequestBytes = 1 << 20
    /// Connections of both sockets together; those past it are shut down at once.
    public var maxConnections = 4096
    /// Descriptors that this process must be allowed: libzmq 4.3.4 aborts when accept on a Unix socket finds none.
    public var minDescriptors: UInt = 16384

    /// Events that wait for one subscriber, some 3 MB of 230-byte payloads. Whoever wakes has to read them before it can
    /// see that more were lost, and must see that within two seconds: at a receive mark of 1 libzmq hands over some 17,000
    /// a second (seen on two busy cores).
    public var eventSendHighWaterMark: Int32 = 5_000
    /// Replies that wait for one client inside libzmq, where only their number is limited and not their size: few.
    public var replySendHighWaterMark: Int32 = 256
    /// Replies that wait for one client after those, in bytes. Past it what it asks is refused (`overloaded`), at twice
    /// that it is cut. The first of them may be larger.
    public var maxParkedReplyBytes = 8 << 20
    /// Those of all clients together, with the same consequences for whoever has some of them waiting.
    public var maxParkedReplyBytesOfAll = 256 << 20
    /// Requests of one client that wait for us in libzmq; its connection stands still after that, and nothing is lost.
    public var requestReceiveHighWaterMark: Int32 = 128
    /// How often peers are pinged, and how long they may take. A client that reads nothing for so long, with everything
    /// full, is cut.
    public var pingInterval = Duration.seconds(5)
    /// See `pingInterval`.
    public var pingTimeout = Duration.seconds(30)
    /// How long a peer may take for its handshake.
    public var handshakeTimeout = Duration.seconds(10)

    /// Subscriptions of one connection (a million cost 1.5 GB in libzmq); past it, it is shut down.
    public var maxSubscriptions = 1000
    /// Messages that one connection to the event socket may send between two heartbeats; past it, it is shut down.
    public var maxSubscriptionMessages = 10_000

    /// Requests of one client that wait for their reply.
    public var maxInFlightPerClient = 4096
    /// Requests of all clients that do.
    public var maxInFlight = 65536
    /// Bytes of all those requests.
    public var maxInFlightBytes = 64 << 20
    /// Bytes of events that wait to be published; past it, `Bus.publish` waits.
    public var maxQueuedEventBytes = 64 << 20
    /// How long it does at most.
    public var publishTimeout = Duration.seconds(10)

    /// How long a caller waits that does not say so itself, by method; all others: `callTimeout`. A long poll may take
    /// a minute, and its page some time after that.
    public var methodTimeouts: [String: Duration] = ["events.read": .seconds(90)]
    /// How long a caller waits that does not say so itself.
    public var callTimeout = Duration.seconds(60)

    /// Settings with the limits above; change what differs.
    public init(eventEndpoints: [String], commandEndpoints: [String], heartbeat: Duration = .seconds(1)) {
        self.eventEndpoints = eventEndpoints
        self.commandEndpoints = commandEndpoints
        self.heartbeat = heartbeat
    }

    private var socketLimits: SocketLimits {
        var limits = SocketLimits()
        limits.handshakeInterval = handshakeTimeout
        limits.heartbeatInterval = pingInterval
        limits.heartbeatTimeout = pingTimeout
        return limits
    }

    var eventLimits: SocketLimits {
        var limits = socketLimits
        limits.sendHighWaterMark = eventSendHighWaterMark
        // Subscriptions are at most 256 bytes, and a handshake has to pass: with CURVE and an identity it is some 700.
        limits.maxMessageSize = 1024
        return limits
    }

    var commandLimits: SocketLimits {
        var limits = socketLimits
        limits.sendHighWaterMark = replySendHighWaterMark
        limits.receiveHighWaterMark = requestReceiveHighWaterMark
        limits.maxMessageSize = Int64(maxRequestBytes)
        return limits
    }

    func timeout(of method: String) -> Duration { methodTimeouts[method] ?? callTimeout }
}
