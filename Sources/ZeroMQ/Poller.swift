import CZeroMQ

/// Waits for sockets and plain descriptors together, on one thread.
///
/// A socket that is ready stays so until it is read empty: after `wait`, read until `receive` gives nil.
public struct Poller {
    /// What to wait for, and what came.
    public struct Readiness: OptionSet, Sendable {
        /// The bits of ZMQ_POLLIN and its relatives.
        public let rawValue: Int16
        /// Readiness from those bits.
        public init(rawValue: Int16) { self.rawValue = rawValue }
        /// Something can be read.
        public static let readable = Readiness(rawValue: Int16(ZMQ_POLLIN))
        /// Something can be written.
        public static let writable = Readiness(rawValue: Int16(ZMQ_POLLOUT))
        /// A descriptor has failed or its peer is gone. Always waited for.
        public static let failed = Readiness(rawValue: Int16(ZMQ_POLLERR))
    }

    private var items: [zmq_pollitem_t] = []
    // Held so that no handle in `items` is closed under the wait.
    private var sockets: [Socket] = []

    /// Waits for nothing yet.
    public init() {}

    /// Adds a socket and answers its index.
    public mutating func add(_ socket: Socket, for interest: Readiness = .readable) -> Int {
        sockets.append(socket)
        items.append(zmq_pollitem_t(socket: socket.handle, fd: -1, events: interest.rawValue, revents: 0))
        return items.count - 1
    }

    /// Adds a descriptor, which must stay open, and answers its index.
    public mutating func add(descriptor: Int32, for interest: Readiness = .readable) -> Int {
        items.append(zmq_pollitem_t(socket: nil, fd: descriptor, events: interest.rawValue, revents: 0))
        return items.count - 1
    }

    /// Changes what is waited for; empty: nothing for now.
    public mutating func setInterest(at index: Int, _ interest: Readiness) { items[index].events = interest.rawValue }

    /// Waits until something is ready, at most `timeout`, and answers how many are: 0 when the time is up or a signal
    /// came.
    @discardableResult
    public mutating func wait(_ timeout: Duration) throws(ZeroMQError) -> Int {
        let milliseconds = Int(clampedMilliseconds(timeout))
        let count = items.withUnsafeMutableBufferPointer { zmq_poll($0.baseAddress, Int32($0.count), milliseconds) }
        guard count < 0 else { return Int(count) }
        let error = ZeroMQError.last("poll")
        for index in items.indices { items[index].revents = 0 }
        if error.code == EINTR { return 0 }
        throw error
    }

    /// What the last `wait` found at `index`.
    public subscript(index: Int) -> Readiness { Readiness(rawValue: items[index].revents) }
}
