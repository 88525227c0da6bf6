import Linux
import Wire
import ZeroMQ

/// The ROUTER behind what clients see as a REP socket: takes requests, checks them, answers what needs no one else at
/// once, hands the rest over, and sends every request exactly one reply.
final class CommandServer {
    let socket: Socket
    private let settings: BusSettings
    private let inbox: Inbox
    private let catalog: MethodCatalog
    private let figures: Figures
    private let status: @Sendable () -> JSON
    private let version: JSON
    private let deliver: @Sendable (PendingRequest) -> Void
    private var inFlight: InFlight
    private(set) var parked: ParkedReplies
    private var lastNumber: UInt64 = 0

    /// Frames kept of one message: an envelope has as many as there are devices between client and bus.
    private static let frameLimit = 16

    init(_ context: Context, _ parts: Bus.Parts, _ inbox: Inbox) throws(ZeroMQError) {
        settings = parts.settings
        socket = try Socket(context, .router, limits: settings.commandLimits)
        // So that a reply to a full client can be kept back instead of vanishing.
        try socket.set(.routerMandatory, true)
        self.inbox = inbox
        catalog = parts.catalog
        figures = parts.figures
        status = parts.status
        version = parts.version
        deliver = parts.deliver
        inFlight = InFlight(settings)
        parked = ParkedReplies(settings)
    }

    /// When the next caller's time is up, or a little earlier.
    var nextDeadline: Instant? { inFlight.nextDeadline }

    /// Takes requests until it is time to do something else; true when there may be more. `excess` is told whose
    /// connection has to go.
    func serve(until end: Instant, excess: (Int32) -> Void) throws(ZeroMQError) -> Bool {
        while let message = try socket.receiveMessage(frameLimit: CommandServer.frameLimit, source: true) {
            if case .excessive = parked.load(of: ClientIdentity(message.frames[0])) {
                if let descriptor = message.sourceDescriptor { excess(descriptor) }
            } else {
                take(message)
            }
            if Instant.now >= end { return true }
        }
        return false
    }

    /// Sends the replies that other threads gave.
    func sendReplies() {
        for reply in inbox.takeReplies() {
            guard let request = inFlight.remove(reply.number) else { continue }
            // What has had an effect is told whatever waits; what was only read can be read again.
            let refusal = request.description.effect == .read ? CommandServer.unread : nil
            send(reply.bytes, to: request, instead: refusal)
        }
    }

    /// Answers the callers whose time is up.
    func answerLate(_ now: Instant) {
        for request in inFlight.takeDue(now) {
            // nil: its answer is on its way, and sent like any other.
            guard let outcome = request.giveUp() else { continue }
            let error: BusError
            switch outcome {
            case .notStarted:
                error = BusError(
                    .timeout, "\(request.method) had not started when the time was up, and will not",
                    ["outcome": "not_started"])
            case .unknown:
                error = BusError(
                    .timeout, "\(request.method) had started when the time was up, and goes on",
                    ["outcome": "unknown", "find": request.description.find.map { .string($0) } ?? .null])
            }
            finish(request, error)
        }
    }

    /// Answers all callers that still wait: the bus ends.
    func answerAll() {
        sendReplies()
        for request in inFlight.all {
            guard let outcome = request.giveUp() else { continue }
            switch outcome {
            case .notStarted:
                finish(request, BusError(.shuttingDown, "the supervisor ends; \(request.method) had not started"))
            case .unknown:
                finish(
                    request,
                    BusError(
                        .outcomeUnknown, "the supervisor ends; \(request.method) had started",
                        ["find": request.description.find.map { .string($0) } ?? .null]))
            }
        }
        // Those whose answer came in between.
        sendReplies()
    }

    /// Sends what was kept back, as far as clients take it now.
    func sendParked() { parked.send { [socket] in CommandServer.send($0, by: socket) } }

    private func finish(_ request: PendingRequest, _ error: BusError) {
        _ = inFlight.remove(request.number)
        send(RPCReply.failure(error).bytes(id: request.id), to: request.client, request.envelope)
    }

    private func take(_ message: Message) {
        let client = ClientIdentity(message.frames[0])
        let size = message.frames.reduce(0) { $0 + $1.count }
        let (envelope, body) = CommandServer.split(message)
        guard let body else {
            let error = BusError(
                .invalidRequest,
                "a message is an envelope that ends with an empty frame, and exactly one frame after it")
            return send(RPCReply.failure(error).bytes(id: .null), to: client, envelope)
        }
        let request: RPCRequest
        do { request = try RPCRequest.decode(body) } catch {
            return send(RPCReply.failure(error.error).bytes(id: error.id), to: client, envelope)
        }
        do {
            guard let reply = try begin(request, client, envelope, size) else { return }
            send(reply.bytes(id: request.id), to: client, envelope)
        } catch {
            send(RPCReply.failure(error).bytes(id: request.id), to: client, envelope)
        }
    }

    /// The envelope (up to and including the first empty frame) and the one frame after it; nil when there is not
    /// exactly one. A client may leave the empty frame out when it sends one frame.
    private static func split(_ message: Message) -> (envelope: [[UInt8]], body: [UInt8]?) {
        let frames = message.frames.dropFirst()
        guard let delimiter = frames.firstIndex(where: \.isEmpty) else {
            return ([], frames.count == 1 && !message.isTruncated ? frames.last : nil)
        }
        let isWhole = frames.count == delimiter + 1 && !message.isTruncated
        return (Array(frames[...delimiter]), isWhole ? frames.last : nil)
    }

    /// Answers a request, or hands it over (nil).
    private func begin(
        _ request: RPCRequest, _ client: ClientIdentity, _ envelope: [[UInt8]], _ size: Int
    ) throws(BusError) -> RPCReply? {
        if case .full = parked.load(of: client) { throw CommandServer.unread }
        let description = try catalog.find(request.method)
        let parameters = try description.check(request.parameters)
        switch request.method {
        case "bus.ping": return .result([:])
        case "bus.version": return .result(version)
        case "bus.methods": return .verbatim(catalog.listing)
        case "bus.status": return .result(statusWithFigures())
        case "events.schema": return .result(try FiberEvent.schemas(of: parameters["kind"]?.text))
        case "rpc.discover": return .verbatim(catalog.discovery)
        default: break
        }
        if let refusal = inFlight.refusal(client, size: size) { throw refusal }
        lastNumber += 1
        let timeout = request.timeoutMilliseconds.map { Duration.milliseconds($0) }
        let pending = PendingRequest(
            number: lastNumber, request: request, parameters: parameters, description: description,
            deadline: .now + (timeout ?? settings.timeout(of: request.method)), client: client, envelope: envelope,
            size: size, inbox: inbox)
        inFlight.insert(pending)
        deliver(pending)
        return nil
    }

    private func statusWithFigures() -> JSON {
        let counts = figures.now
        return status()
            .with("subscribers", .integer(Int64(counts.subscribers)))
            .with("clients", .integer(Int64(counts.clients)))
            .with("handshake_failures", .integer(Int64(counts.handshakeFailures)))
    }

    private func send(_ reply: [UInt8], to client: ClientIdentity, _ envelope: [[UInt8]]) {
        let socket = socket
        parked.sendOrKeep([client.bytes] + envelope + [reply], for: client, refusal: nil) {
            CommandServer.send($0, by: socket)
        }
    }

    /// `refusal` goes out instead when too much waits for the client.
    private func send(_ reply: [UInt8], to request: PendingRequest, instead refusal: BusError?) {
        let (socket, head) = (socket, [request.client.bytes] + request.envelope)
        let other = refusal.map { error in { head + [RPCReply.failure(error).bytes(id: request.id)] } }
        parked.sendOrKeep(head + [reply], for: request.client, refusal: other) { CommandServer.send($0, by: socket) }
    }

    /// What a client is told that does not read its replies.
    private static let unread = BusError(
        .overloaded, "too many bytes of replies wait for you; read them, then ask again", ["limit": "replies"])

    /// What became of an attempt to send.
    private static func send(_ frames: [[UInt8]], by socket: Socket) -> ParkedReplies.Outcome {
        do { return try socket.send(frames: frames) ? .sent : .full } catch {
            // The client is gone (`isUnroutable`), and nobody else is waiting for this.
            return .gone
        }
    }
}
