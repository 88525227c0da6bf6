import CZeroMQ
import Synchronization

/// What happens to the connections of one socket (http://api.zeromq.org/4-3:zmq-socket-monitor).
///
/// Belongs to the thread of its socket. Read it empty whenever `socket` is readable: what is not read is kept without
/// limit, because a full queue here would stop libzmq's I/O thread.
public final class Monitor {
    /// The socket that events come by, for a `Poller`.
    public let socket: Socket

    private static let count = Atomic<UInt64>(0)
    private weak var watched: Socket?

    /// Watches `watched` from now on. A socket has at most one monitor.
    public init(of watched: Socket) throws(ZeroMQError) {
        let number = Monitor.count.add(1, ordering: .relaxed).newValue
        let endpoint = "inproc://nodebus-monitor-\(number)"
        var limits = SocketLimits()
        limits.receiveHighWaterMark = 0
        socket = try Socket(watched.context, .pair, limits: limits)
        guard zmq_socket_monitor(watched.handle, endpoint, ZMQ_EVENT_ALL) == 0 else { throw .last("monitor") }
        self.watched = watched
        try socket.connect(endpoint)
    }

    deinit { watched?.endMonitoring() }

    /// The next event; nil when there is none now.
    public func next() throws(ZeroMQError) -> Event? {
        guard let message = try socket.receiveMessage() else { return nil }
        // Frame 1: the event as UInt16 and its value as Int32, unaligned, in this machine's order. Frame 2: the
        // endpoint.
        let numbers = message.frames[0]
        guard message.frames.count == 2, numbers.count == 6 else {
            throw ZeroMQError(code: EPROTO, call: "read", subject: "monitor event")
        }
        let (number, value) = numbers.withUnsafeBytes {
            ($0.loadUnaligned(as: UInt16.self), $0.loadUnaligned(fromByteOffset: 2, as: Int32.self))
        }
        return Event(
            kind: Event.Kind(number: number), value: value,
            address: String(decoding: message.frames[1], as: UTF8.self))
    }

    /// One thing that happened.
    public struct Event: Sendable, Equatable {
        /// What it was.
        public let kind: Kind
        /// A descriptor, an errno value, a pause in milliseconds or a protocol error, depending on the kind.
        public let value: Int32
        /// The endpoint it happened on.
        public let address: String

        /// The connection it is about, for the kinds that have one. On `disconnected` it is already closed, and its
        /// number may be in use again.
        public var descriptor: Int32? {
            switch kind {
            case .connected, .listening, .accepted, .closed, .disconnected: value
            case .connectDelayed, .connectRetried, .bindFailed, .acceptFailed, .closeFailed, .handshakeSucceeded,
                .handshakeFailed, .handshakeFailedProtocol, .handshakeFailedAuthentication, .stopped, .other:
                nil
            }
        }

        /// Why it failed, as an errno value, for the kinds that say so.
        public var errorCode: Int32? {
            switch kind {
            case .bindFailed, .acceptFailed, .closeFailed, .handshakeFailed: value
            case .connected, .connectDelayed, .connectRetried, .listening, .accepted, .closed, .disconnected,
                .handshakeSucceeded, .handshakeFailedProtocol, .handshakeFailedAuthentication, .stopped, .other:
                nil
            }
        }

        /// The kinds that libzmq 4.3 knows.
        public enum Kind: Sendable, Equatable {
            /// A connection of ours stands.
            case connected
            /// It does not yet.
            case connectDelayed
            /// It will be tried again.
            case connectRetried
            /// A bind listens.
            case listening
            /// It could not.
            case bindFailed
            /// A peer connected; it has still to prove that it speaks ZMTP.
            case accepted
            /// A peer could not be taken: usually no descriptor is left.
            case acceptFailed
            /// A listener or connection was closed by us.
            case closed
            /// It could not be.
            case closeFailed
            /// A connection ended.
            case disconnected
            /// The handshake is done.
            case handshakeSucceeded
            /// The peer broke off.
            case handshakeFailed
            /// The peer does not speak ZMTP as we do.
            case handshakeFailedProtocol
            /// The peer was not let in.
            case handshakeFailedAuthentication
            /// The socket was closed: the last event.
            case stopped
            /// One that this build does not know.
            case other(UInt16)

            init(number: UInt16) {
                switch Int32(number) {
                case ZMQ_EVENT_CONNECTED: self = .connected
                case ZMQ_EVENT_CONNECT_DELAYED: self = .connectDelayed
                case ZMQ_EVENT_CONNECT_RETRIED: self = .connectRetried
                case ZMQ_EVENT_LISTENING: self = .listening
                case ZMQ_EVENT_BIND_FAILED: self = .bindFailed
                case ZMQ_EVENT_ACCEPTED: self = .accepted
                case ZMQ_EVENT_ACCEPT_FAILED: self = .acceptFailed
                case ZMQ_EVENT_CLOSED: self = .closed
                case ZMQ_EVENT_CLOSE_FAILED: self = .closeFailed
                case ZMQ_EVENT_DISCONNECTED: self = .disconnected
                case ZMQ_EVENT_MONITOR_STOPPED: self = .stopped
                case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: self = .handshakeSucceeded
                case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: self = .handshakeFailed
                case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: self = .handshakeFailedProtocol
                case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: self = .handshakeFailedAuthentication
                default: self = .other(number)
                }
            }
        }
    }
}
