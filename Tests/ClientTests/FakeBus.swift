import Glibc
import Linux
import Wire
import ZeroMQ

/// The wire contract without a supervisor: a journal in memory, a PUB and a ROUTER socket on a thread of their own. A
/// test says what is said, what of it is lost on the way, and what is answered.
final class FakeBus: Sendable {
    struct Spoken: Sendable, Equatable {
        let topic: String
        let header: [UInt8]
        let payload: [UInt8]

        var line: String {
            let parts = [header, payload].map { String(decoding: $0, as: UTF8.self) }
            return "{\"topic\":\"\(topic)\",\"header\":\(parts[0]),\"payload\":\(parts[1])}"
        }
    }

    /// What outlives a restart of the bus.
    struct Journal: Sendable {
        var profile = Profile("dev/demo")
        var epoch = "5f0c2a9e"
        var events: [Spoken] = []
        var head: Int64 = 0
        var oldest: Int64 = 1
        var last: [String: Int64] = [:]
    }

    struct State: Sendable {
        var journal = Journal()
        var outgoing: [[[UInt8]]] = []
        var pageLimit = 3
        var reads = 0
        var calls: [(method: String, parameters: JSON)] = []
        var answers: [String: @Sendable (JSON) -> RPCReply?] = [:]
        var rawAnswer: [UInt8]?
        var isStopping = false
        var hasStopped = false
        var failure: String?
    }

    let state: Lock<State>
    private let wake: WakeDescriptor

    init(_ world: World, journal: Journal = Journal()) throws {
        var initial = State()
        initial.journal = journal
        state = Lock(initial)
        wake = try WakeDescriptor()
        let (events, commands) = (world.events, world.commands)
        let ready = try WakeDescriptor()
        let readyDescriptor = ready.raw
        try startThread("fake bus") { [self] in
            do { try serve(events, commands, readyDescriptor) } catch {
                state.withLock { $0.failure = "\(error)" }
            }
            state.withLock { $0.hasStopped = true }
        }
        var entry = pollfd(fd: readyDescriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 5000) == 1 else { throw TooLate() }
    }

    /// Ends the thread and closes its sockets.
    func stop() throws {
        state.withLock { $0.isStopping = true }
        wake.wake()
        try eventually { state.withLock { $0.hasStopped } }
    }

    var journal: Journal { state.withLock { $0.journal } }

    /// An event: journaled, and published unless it is lost on the way.
    func say(_ kind: String, _ payload: String = "{}", source: String = "fiber", lost: Bool = false) {
        state.withLock { state in
            guard let profile = state.journal.profile else { return }
            let topic = Topic(profile: profile, source: source, kind: kind)
            state.journal.head += 1
            let header = EventHeader(
                epoch: state.journal.epoch, seq: state.journal.head,
                prev: state.journal.last[topic.description] ?? 0, timeMicroseconds: 1_790_000_000_000_000,
                topic: topic, run: 1)
            state.journal.last[topic.description] = state.journal.head
            let spoken = Spoken(topic: topic.description, header: header.bytes, payload: Array(payload.utf8))
            state.journal.events.append(spoken)
            if !lost { state.outgoing.append([Array(spoken.topic.utf8), spoken.header, spoken.payload]) }
        }
        wake.wake()
    }

    /// The account's heartbeat and the bus's.
    func heartbeat() {
        state.withLock { state in
            let journal = state.journal
            guard let profile = journal.profile else { return }
            let account = "{\"epoch\":\"\(journal.epoch)\",\"head\":\(journal.head)}"
            state.outgoing.append([
                Array("\(profile)/supervisor/Heartbeat".utf8), Array("{}".utf8), Array(account.utf8),
            ])
            state.outgoing.append([Array("bus/Heartbeat".utf8), Array("{}".utf8), Array("{\"state\":\"ready\"}".utf8)])
        }
        wake.wake()
    }

    func answer(_ method: String, _ answer: @escaping @Sendable (JSON) -> RPCReply?) {
        state.withLock { $0.answers[method] = answer }
    }

    private func serve(_ events: String, _ commands: String, _ ready: Int32) throws {
        let context = try Context()
        let publisher = try Socket(context, .xpub)
        try publisher.set(.welcomeMessage, Array("bus/Welcome".utf8))
        try publisher.bind(events)
        var limits = SocketLimits()
        limits.linger = .seconds(1)
        let router = try Socket(context, .router, limits: limits)
        try router.bind(commands)
        var poller = Poller()
        _ = poller.add(publisher)
        _ = poller.add(router)
        _ = poller.add(descriptor: wake.raw)
        var one: UInt64 = 1
        _ = write(ready, &one, 8)
        while !state.withLock({ $0.isStopping }) {
            try poller.wait(.seconds(1))
            wake.clear()
            while try publisher.receive() != nil {}
            for frames in state.withLock({ state in
                defer { state.outgoing = [] }
                return state.outgoing
            }) {
                try publisher.send(frames: frames)
            }
            while let message = try router.receiveMessage() { try answer(message.frames, on: router) }
        }
    }

    private func answer(_ frames: [[UInt8]], on router: Socket) throws {
        guard let request = try? RPCRequest.decode(frames.last ?? []) else { return }
        let (scripted, raw) = state.withLock { state in
            state.calls.append((request.method, request.parameters))
            return (state.answers[request.method], state.rawAnswer)
        }
        let reply: RPCReply?
        if let scripted {
            reply = scripted(request.parameters)
        } else {
            switch request.method {
            case "events.read": reply = read(request.parameters)
            case "bus.status": reply = status()
            case "test.echo": reply = .result(request.parameters)
            default: reply = .failure(BusError(.methodNotFound, "there is no method \(quoted(request.method))"))
            }
        }
        if let bytes = raw ?? reply?.bytes(id: request.id) { try router.send(frames: frames.dropLast() + [bytes]) }
    }

    private func status() -> RPCReply {
        let profile = journal.profile
        return .result([
            "state": "ready", "network": .string(profile?.network ?? ""), "account": .string(profile?.account ?? ""),
            "run": 7, "pid": nil, "host": ["driver": "fiber", "library": "libfiber_sim.so"], "simulated": true,
        ])
    }

    private func read(_ parameters: JSON) -> RPCReply {
        let (journal, limit) = state.withLock { state in
            state.reads += 1
            return (state.journal, state.pageLimit)
        }
        let place: KeyValuePairs<String, JSON> = [
            "oldest": .integer(journal.oldest), "head": .integer(journal.head), "epoch": .string(journal.epoch),
        ]
        var after = journal.head
        if let seq = parameters["after"]?.integer {
            let epoch = parameters["epoch"]?.text
            guard seq <= journal.head, epoch == nil || epoch == journal.epoch else {
                return .failure(BusError(.historyChanged, "not this history", place))
            }
            guard seq >= journal.oldest - 1 else { return .failure(BusError(.historyTruncated, "too old", place)) }
            after = seq
        }
        let events = journal.events.dropFirst(Int(after)).prefix(limit)
        let next = after + Int64(events.count)
        let text =
            "{\"events\":[\(events.map(\.line).joined(separator: ","))],\"next\":\(next),\"head\":\(journal.head),"
            + "\"oldest\":\(journal.oldest),\"epoch\":\"\(journal.epoch)\"}"
        return .verbatim(Array(text.utf8))
    }
}

/// A scratch directory for the two sockets of a bus.
final class World: Sendable {
    let directory: String
    let context: Context

    init() throws {
        var template = Array("/tmp/nodebus-client-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw SystemError.last("mkdtemp") }
        directory = String(cString: made)
        context = try Context()
    }

    deinit {
        for name in ["events.sock", "commands.sock", "out", "err", "nodebus.yml", "dev.yml"] {
            unlink("\(directory)/\(name)")
        }
        rmdir(directory)
    }

    var events: String { "ipc://\(directory)/events.sock" }
    var commands: String { "ipc://\(directory)/commands.sock" }
}

struct TooLate: Error {}

/// Waits until `condition` holds, at most ten seconds.
func eventually(_ condition: () throws -> Bool) throws {
    let deadline = Instant.now + .seconds(10)
    while try !condition() {
        guard Instant.now < deadline else { throw TooLate() }
        poll(nil, 0, 2)
    }
}
