import CZeroMQ

/// A ZeroMQ socket, used by one thread at a time and closed when the last reference goes.
public final class Socket {
    /// The kinds of socket in use here (http://api.zeromq.org/4-3:zmq-socket).
    public enum Kind: Sendable {
        /// Sends each message to every subscriber.
        case pub
        /// PUB that also sees subscriptions.
        case xpub
        /// Receives what it subscribed to.
        case sub
        /// Asks and waits for the answer.
        case req
        /// Answers.
        case rep
        /// Talks to many peers, each named by the first frame.
        case router
        /// Asks without waiting.
        case dealer
        /// Talks to exactly one peer.
        case pair

        var number: Int32 {
            switch self {
            case .pub: ZMQ_PUB
            case .xpub: ZMQ_XPUB
            case .sub: ZMQ_SUB
            case .req: ZMQ_REQ
            case .rep: ZMQ_REP
            case .router: ZMQ_ROUTER
            case .dealer: ZMQ_DEALER
            case .pair: ZMQ_PAIR
            }
        }
    }

    let handle: UnsafeMutableRawPointer
    /// The context it was made from.
    public let context: Context

    /// A socket with all its limits set. `isTerminated` and a lack of descriptors (EMFILE) are the errors to expect.
    public init(_ context: Context, _ kind: Kind, limits: SocketLimits = SocketLimits()) throws(ZeroMQError) {
        guard let made = zmq_socket(context.handle, kind.number) else { throw .last("make a socket") }
        handle = made
        self.context = context
        try set(.linger, limits.linger)
        try set(.sendHighWaterMark, limits.sendHighWaterMark)
        try set(.receiveHighWaterMark, limits.receiveHighWaterMark)
        try set(.maxMessageSize, limits.maxMessageSize)
        try set(.handshakeInterval, limits.handshakeInterval)
        try set(.heartbeatInterval, limits.heartbeatInterval)
        try set(.heartbeatTimeout, limits.heartbeatTimeout)
        try set(.heartbeatTimeToLive, limits.heartbeatTimeout)
        try set(.ipv6, true)
    }

    deinit {
        endMonitoring()
        zmq_close(handle)
    }

    /// Ends what a `Monitor` began. Always before either of the two is closed: libzmq's I/O thread waits for ever to
    /// tell an event to a monitor that is gone, and a socket has events until it is reaped.
    func endMonitoring() { zmq_socket_monitor(handle, nil, 0) }

    /// Sets a duration, in whole milliseconds, rounded up.
    public func set(_ option: SocketOption<Duration>, _ value: Duration) throws(ZeroMQError) {
        try set(option.number, option.name, clampedMilliseconds(value))
    }

    /// Sets a count.
    public func set(_ option: SocketOption<Int32>, _ value: Int32) throws(ZeroMQError) {
        try set(option.number, option.name, value)
    }

    /// Sets a size in bytes.
    public func set(_ option: SocketOption<Int64>, _ value: Int64) throws(ZeroMQError) {
        try set(option.number, option.name, value)
    }

    /// Turns something on or off.
    public func set(_ option: SocketOption<Bool>, _ value: Bool) throws(ZeroMQError) {
        try set(option.number, option.name, Int32(value ? 1 : 0))
    }

    /// Sets bytes.
    public func set(_ option: SocketOption<[UInt8]>, _ value: [UInt8]) throws(ZeroMQError) {
        let status = value.withUnsafeBytes { zmq_setsockopt(handle, option.number, $0.baseAddress, $0.count) }
        guard status == 0 else { throw .last("set", option.name) }
    }

    private func set<Number>(_ option: Int32, _ name: String, _ value: Number) throws(ZeroMQError) {
        let status = withUnsafeBytes(of: value) { zmq_setsockopt(handle, option, $0.baseAddress, $0.count) }
        guard status == 0 else { throw .last("set", name) }
    }

    /// Listens on `endpoint`.
    public func bind(_ endpoint: String) throws(ZeroMQError) {
        try withEndpoint(endpoint, "bind") { zmq_bind(handle, $0) }
    }

    /// Listens with a stream socket that already listens; libzmq closes it. `endpoint` only names it (and is what
    /// `unbind` takes).
    public func bind(_ endpoint: String, usingListening descriptor: Int32) throws(ZeroMQError) {
        try set(ZMQ_USE_FD, "descriptor", descriptor)
        defer {
            // Left set, the next bind would take the same descriptor, and libzmq 4.3.4 aborts on a tcp one. -1 is
            // always taken.
            try? set(ZMQ_USE_FD, "descriptor", Int32(-1))
        }
        try bind(endpoint)
    }

    /// Stops listening on `endpoint`, given as it was bound or as `lastEndpoint` told.
    public func unbind(_ endpoint: String) throws(ZeroMQError) {
        try withEndpoint(endpoint, "unbind") { zmq_unbind(handle, $0) }
    }

    /// Connects in the background, again and again. That nobody listens is no error.
    public func connect(_ endpoint: String) throws(ZeroMQError) {
        try withEndpoint(endpoint, "connect") { zmq_connect(handle, $0) }
    }

    /// Ends a connection.
    public func disconnect(_ endpoint: String) throws(ZeroMQError) {
        try withEndpoint(endpoint, "disconnect") { zmq_disconnect(handle, $0) }
    }

    private func withEndpoint(
        _ endpoint: String, _ call: String, _ body: (UnsafePointer<CChar>) -> Int32
    ) throws(ZeroMQError) {
        // C would cut the text at a NUL and take what is left.
        guard !endpoint.utf8.contains(0) else { throw ZeroMQError(code: EINVAL, call: call, subject: endpoint) }
        guard endpoint.withCString(body) == 0 else { throw .last(call, endpoint) }
    }

    /// The endpoint last bound or connected, with wildcards resolved.
    public func lastEndpoint() throws(ZeroMQError) -> String {
        var text = [CChar](repeating: 0, count: 1024)
        var size = text.count
        guard zmq_getsockopt(handle, ZMQ_LAST_ENDPOINT, &text, &size) == 0 else { throw .last("get", "last endpoint") }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Sends one frame, copied by libzmq alone: frames up to 33 bytes cost no allocation.
    ///
    /// `more` announces another frame of the same message. Without `wait`, false says that no peer can take it now;
    /// with it, that none could within `.sendTimeout`, which must have been set, or that a signal came first. A false
    /// can come only for the first frame of a message.
    @discardableResult
    public func send(_ bytes: UnsafeRawBufferPointer, more: Bool = false, wait: Bool = false) throws(ZeroMQError)
        -> Bool
    {
        let flags = (more ? ZMQ_SNDMORE : 0) | (wait ? 0 : ZMQ_DONTWAIT)
        while zmq_send(handle, bytes.baseAddress, bytes.count, flags) < 0 {
            switch zmq_errno() {
            case EAGAIN: return false
            case EINTR: if wait { return false }
            default: throw .last("send")
            }
        }
        return true
    }

    /// Sends one frame.
    @discardableResult
    public func send(_ bytes: [UInt8], more: Bool = false, wait: Bool = false) throws(ZeroMQError) -> Bool {
        try bytes.withUnsafeBufferPointer { buffer throws(ZeroMQError) in
            try send(UnsafeRawBufferPointer(buffer), more: more, wait: wait)
        }
    }

    /// Sends one message of several frames, or nothing at all (false).
    @discardableResult
    public func send(frames: [[UInt8]], wait: Bool = false) throws(ZeroMQError) -> Bool {
        for (index, frame) in frames.enumerated() {
            guard try send(frame, more: index < frames.count - 1, wait: wait) else { return false }
        }
        return true
    }

    /// The next frame; nil when there is none now. With `wait`, nil says that none came within `.receiveTimeout`, which
    /// must have been set, or that a signal came first. `source` asks for the frame's connection as well.
    public func receive(wait: Bool = false, source: Bool = false) throws(ZeroMQError) -> Frame? {
        var message = zmq_msg_t()
        zmq_msg_init(&message)
        defer { zmq_msg_close(&message) }
        guard try receive(into: &message, wait: wait) else { return nil }
        let bytes = [UInt8](UnsafeRawBufferPointer(start: zmq_msg_data(&message), count: zmq_msg_size(&message)))
        let descriptor = source ? zmq_msg_get(&message, ZMQ_SRCFD) : -1
        return Frame(
            bytes: bytes, more: zmq_msg_more(&message) == 1, sourceDescriptor: descriptor < 0 ? nil : descriptor)
    }

    private func receive(into message: inout zmq_msg_t, wait: Bool) throws(ZeroMQError) -> Bool {
        while zmq_msg_recv(&message, handle, wait ? 0 : ZMQ_DONTWAIT) < 0 {
            switch zmq_errno() {
            case EAGAIN: return false
            case EINTR: if wait { return false }
            default: throw .last("receive")
            }
        }
        return true
    }

    /// All frames of the next message; nil as for `receive`. Frames beyond `frameLimit` are thrown away and
    /// `isTruncated` says so: libzmq itself limits the size of a frame, not their number. `source` asks for the
    /// message's connection as well.
    public func receiveMessage(
        frameLimit: Int = 16, wait: Bool = false, source: Bool = false
    ) throws(ZeroMQError) -> Message? {
        guard var frame = try receive(wait: wait, source: source) else { return nil }
        let descriptor = frame.sourceDescriptor
        var frames = [frame.bytes]
        while frame.more && frames.count < frameLimit {
            // libzmq hands a message over whole, so the rest is there.
            guard let following = try receive() else { break }
            frame = following
            frames.append(frame.bytes)
        }
        guard frame.more else { return Message(frames: frames, sourceDescriptor: descriptor) }
        var rest = zmq_msg_t()
        zmq_msg_init(&rest)
        defer { zmq_msg_close(&rest) }
        while try receive(into: &rest, wait: false), zmq_msg_more(&rest) == 1 {}
        return Message(frames: frames, isTruncated: true, sourceDescriptor: descriptor)
    }
}

/// One frame as it came.
public struct Frame: Sendable, Equatable {
    /// Its bytes, copied.
    public let bytes: [UInt8]
    /// Whether another frame of the same message follows.
    public let more: Bool
    /// The descriptor of the connection it came by, when asked for and known. It may be closed at any time: for
    /// `shutdown(2)` at once only.
    public let sourceDescriptor: Int32?

    /// A frame with all that is known of it.
    public init(bytes: [UInt8], more: Bool, sourceDescriptor: Int32? = nil) {
        self.bytes = bytes
        self.more = more
        self.sourceDescriptor = sourceDescriptor
    }
}

/// One message as it came.
public struct Message: Sendable, Equatable {
    /// Its frames, at least one.
    public let frames: [[UInt8]]
    /// Whether it had more frames than were asked for.
    public let isTruncated: Bool
    /// As for `Frame`.
    public let sourceDescriptor: Int32?

    /// A message of at least one frame.
    public init(frames: [[UInt8]], isTruncated: Bool = false, sourceDescriptor: Int32? = nil) {
        self.frames = frames
        self.isTruncated = isTruncated
        self.sourceDescriptor = sourceDescriptor
    }
}

/// Whole milliseconds, rounded up, between 0 and what an Int32 holds: no value of libzmq's that means "for ever".
func clampedMilliseconds(_ duration: Duration) -> Int32 {
    let (seconds, attoseconds) = duration.components
    guard seconds < 2_147_483 else { return Int32.max }
    guard seconds >= 0 && attoseconds >= 0 else { return 0 }
    return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
}
