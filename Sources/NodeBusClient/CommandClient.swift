import Wire
import ZeroMQ

/// Calls methods of the bus, one after the other.
///
/// It stands on a DEALER and matches replies by id, so a call that timed out does not disturb the next one, and it
/// finds a supervisor that was restarted by itself.
public final class CommandClient {
    /// The bus's `max_request`, in bytes.
    public static let requestLimit = 1 << 20
    /// How long a call looks for the supervisor before it says that there is none.
    public static let connectTimeout = Duration.milliseconds(1500)

    /// Where the supervisor takes commands.
    public let endpoint: String
    private let context: Context
    private var connection: Connection
    private var lastID: Int64 = 0

    /// A client of one endpoint. It need not be there yet.
    public init(endpoint: String, context: Context) throws(ClientError) {
        self.endpoint = endpoint
        self.context = context
        connection = try transport { () throws(ZeroMQError) in try Connection(endpoint, context) }
    }

    /// One socket and what happens to its connection. One that ended is never used again: libzmq would connect by
    /// itself and send later what nobody waits for any more.
    private struct Connection {
        let socket: Socket
        private let monitor: Monitor
        private var poller = Poller()
        /// Whether it stands. A request is sent only then: that is how an absent supervisor shows. (ZMQ_IMMEDIATE would
        /// do the same, but it throws away what was received and not read yet when a connection ends, and so the last
        /// word of a supervisor that goes down.)
        private(set) var stands = false
        private(set) var hasEnded = false

        init(_ endpoint: String, _ context: Context) throws(ZeroMQError) {
            var limits = SocketLimits()
            // Replies are the supervisor's, which we trust: a native result has at most a host-link frame, and its
            // JSON-RPC around it.
            limits.maxMessageSize = (64 << 20) + 4096
            socket = try Socket(context, .dealer, limits: limits)
            monitor = try Monitor(of: socket)
            try socket.connect(endpoint)
            _ = poller.add(socket)
            _ = poller.add(monitor.socket)
        }

        /// Takes in what has happened to the connection.
        mutating func look() throws(ZeroMQError) {
            while let event = try monitor.next() {
                if event.kind == .handshakeSucceeded { stands = true }
                if event.kind == .disconnected { hasEnded = true }
            }
        }

        /// Waits until there is something to read or to look at.
        mutating func wait(_ timeout: Duration) throws(ZeroMQError) { try poller.wait(timeout) }
    }

    /// Calls a method and answers its result, as the very JSON text that came.
    ///
    /// The supervisor is told `timeout` too (1 ms to an hour) and answers `timeout` itself; a second later we no longer
    /// wait for it.
    public func call(
        _ method: String, _ parameters: JSON = .object([]), timeout: Duration = .seconds(60)
    ) throws(ClientError) -> [UInt8] {
        let whole = timeout.components.seconds * 1000 + timeout.components.attoseconds / 1_000_000_000_000_000
        let milliseconds = min(max(1, whole), RPCRequest.timeoutLimitMilliseconds)
        lastID += 1
        let request = RPCRequest(
            id: .integer(lastID), method: method, parameters: parameters, timeoutMilliseconds: milliseconds
        ).bytes
        guard request.count <= CommandClient.requestLimit else {
            throw .tooLarge(bytes: request.count, limit: CommandClient.requestLimit)
        }
        try waitForSupervisor()
        guard try transport({ () throws(ZeroMQError) in try connection.socket.send(frames: [[], request]) }) else {
            throw .noSupervisor(endpoint: endpoint)
        }
        let deadline = ContinuousClock.now + .milliseconds(milliseconds) + .seconds(1)
        guard let reply = try reply(to: method, by: deadline) else {
            throw .unanswered(method: method, after: .milliseconds(milliseconds))
        }
        switch reply {
        case .verbatim(let text): return text
        case .result(let json): return json.bytes
        case .failure(let error): throw .refused(error)
        }
    }

    /// Calls a method and answers its result decoded.
    public func callJSON(
        _ method: String, _ parameters: JSON = .object([]), timeout: Duration = .seconds(60)
    ) throws(ClientError) -> JSON {
        let text = try call(method, parameters, timeout: timeout)
        guard let json = try? JSON.parse(text) else { throw .unreadable(endpoint: endpoint, method: method) }
        return json
    }

    private func waitForSupervisor() throws(ClientError) {
        let deadline = ContinuousClock.now + CommandClient.connectTimeout
        while true {
            let left = deadline - .now
            let isThere = try transport { () throws(ZeroMQError) in
                try connection.look()
                if connection.hasEnded { connection = try Connection(endpoint, context) }
                if !connection.stands { try connection.wait(max(.zero, left)) }
                return connection.stands
            }
            if isThere { return }
            guard left > .zero else { throw .noSupervisor(endpoint: endpoint) }
        }
    }

    private func reply(to method: String, by deadline: ContinuousClock.Instant) throws(ClientError) -> RPCReply? {
        while true {
            // A supervisor that answers and goes away has answered: replies are looked at before the end of the
            // connection.
            try transport { () throws(ZeroMQError) in try connection.look() }
            while let message = try transport({ () throws(ZeroMQError) in try connection.socket.receiveMessage() }) {
                guard let last = message.frames.last, let (id, reply) = RPCReply.decode(last) else {
                    throw .unreadable(endpoint: endpoint, method: method)
                }
                if id == .integer(lastID) { return reply }
                // `null`: the request could not even be read. All else answers an earlier call that was given up.
                if id == .null { return reply }
            }
            if connection.hasEnded { throw .lost(endpoint: endpoint, method: method) }
            let left = deadline - .now
            guard left > .zero else { return nil }
            try transport { () throws(ZeroMQError) in try connection.wait(left) }
        }
    }
}
