import CZeroMQ

/// An option of a socket and the type of its value (http://api.zeromq.org/4-3:zmq-setsockopt).
public struct SocketOption<Value>: Sendable {
    let number: Int32
    let name: String

    init(_ number: Int32, _ name: String) {
        self.number = number
        self.name = name
    }
}

extension SocketOption<Duration> {
    /// How long a closed socket goes on trying to send what it holds.
    public static var linger: Self { Self(ZMQ_LINGER, "linger") }
    /// How long a `receive` that waits does so.
    public static var receiveTimeout: Self { Self(ZMQ_RCVTIMEO, "receive timeout") }
    /// How long a `send` that waits does so.
    public static var sendTimeout: Self { Self(ZMQ_SNDTIMEO, "send timeout") }
    /// How long a peer may take for its handshake.
    public static var handshakeInterval: Self { Self(ZMQ_HANDSHAKE_IVL, "handshake interval") }
    /// How often the peer is pinged; zero: never.
    public static var heartbeatInterval: Self { Self(ZMQ_HEARTBEAT_IVL, "heartbeat interval") }
    /// How long a ping may stay unanswered.
    public static var heartbeatTimeout: Self { Self(ZMQ_HEARTBEAT_TIMEOUT, "heartbeat timeout") }
    /// After how long without a ping the peer shall give this end up; at most 6,553 s.
    public static var heartbeatTimeToLive: Self { Self(ZMQ_HEARTBEAT_TTL, "heartbeat time to live") }
    /// The pause before a lost connection is tried again.
    public static var reconnectInterval: Self { Self(ZMQ_RECONNECT_IVL, "reconnect interval") }
    /// What that pause grows to.
    public static var reconnectIntervalLimit: Self { Self(ZMQ_RECONNECT_IVL_MAX, "reconnect interval limit") }
}

extension SocketOption<Int32> {
    /// How many messages wait for one peer; 0: without limit.
    public static var sendHighWaterMark: Self { Self(ZMQ_SNDHWM, "send high-water mark") }
    /// How many messages of one peer wait for us; 0: without limit.
    public static var receiveHighWaterMark: Self { Self(ZMQ_RCVHWM, "receive high-water mark") }
    /// How many connections wait to be accepted.
    public static var backlog: Self { Self(ZMQ_BACKLOG, "backlog") }
}

extension SocketOption<Int64> {
    /// The largest frame taken, in bytes; a peer that sends a larger one is disconnected. -1: without limit.
    public static var maxMessageSize: Self { Self(ZMQ_MAXMSGSIZE, "max message size") }
}

extension SocketOption<Bool> {
    /// Whether IPv6 addresses are taken too.
    public static var ipv6: Self { Self(ZMQ_IPV6, "IPv6") }
    /// Whether messages are queued only for connections that stand.
    public static var immediate: Self { Self(ZMQ_IMMEDIATE, "immediate") }
    /// ROUTER: whether sending to an unknown peer is an error (`isUnroutable`) instead of a silent drop.
    public static var routerMandatory: Self { Self(ZMQ_ROUTER_MANDATORY, "router mandatory") }
    /// ROUTER: whether a peer may take over the identity of another.
    public static var routerHandover: Self { Self(ZMQ_ROUTER_HANDOVER, "router handover") }
    /// XPUB: whether every subscription is passed up, not just the first for a topic.
    public static var verbose: Self { Self(ZMQ_XPUB_VERBOSE, "verbose") }
    /// XPUB: whether every subscription and every end of one is passed up.
    public static var verboser: Self { Self(ZMQ_XPUB_VERBOSER, "verboser") }
    /// REQ: whether a request may follow one that was not answered.
    public static var requestRelaxed: Self { Self(ZMQ_REQ_RELAXED, "request relaxed") }
    /// REQ: whether replies are matched to requests.
    public static var requestCorrelate: Self { Self(ZMQ_REQ_CORRELATE, "request correlate") }
}

extension SocketOption<[UInt8]> {
    /// SUB: adds a prefix of topics.
    public static var subscribe: Self { Self(ZMQ_SUBSCRIBE, "subscribe") }
    /// SUB: takes one added prefix away.
    public static var unsubscribe: Self { Self(ZMQ_UNSUBSCRIBE, "unsubscribe") }
    /// XPUB: the frame that a new subscriber gets first, if it has subscribed to a prefix of it.
    public static var welcomeMessage: Self { Self(ZMQ_XPUB_WELCOME_MSG, "welcome message") }
    /// The identity this end has at a ROUTER, 1 to 255 bytes.
    public static var routingID: Self { Self(ZMQ_ROUTING_ID, "routing id") }
}

/// What every socket must set for itself, since libzmq's defaults are either unlimited or off.
public struct SocketLimits: Sendable, Equatable {
    /// How long a closed socket goes on sending.
    public var linger = Duration.zero
    /// Messages that wait for one peer.
    public var sendHighWaterMark: Int32 = 1000
    /// Messages of one peer that wait for us.
    public var receiveHighWaterMark: Int32 = 1000
    /// The largest frame taken, in bytes.
    public var maxMessageSize: Int64 = 1 << 20
    /// How long a peer may take for its handshake.
    public var handshakeInterval = Duration.seconds(10)
    /// How often a peer is pinged.
    public var heartbeatInterval = Duration.seconds(2)
    /// How long a ping may stay unanswered; also what the peer is told to allow for ours.
    public var heartbeatTimeout = Duration.seconds(6)

    /// Limits as above; change what differs.
    public init() {}
}
