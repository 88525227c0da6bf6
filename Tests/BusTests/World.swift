import Bus
import Glibc
import Linux
import Testing
import Wire
import ZeroMQ

/// A bus on a scratch directory, with what was delivered, and clients for it; all gone afterwards.
final class World {
    let directory: Scratch
    let bus: Bus
    let delivered = Delivered()
    let context: Context
    let profile = Profile("testnet/alice")

    /// Methods of a node, as its host would describe them.
    static let hosted = [
        MethodDescription(
            "fiber.pay", "Pays.", [.init("amount", .amount(udtWhen: nil), required: true, "shannons")], result: "{}",
            effect: .money, find: "fiber.get_payment with the hash"),
        MethodDescription("fiber.node_info", "Tells about the node.", result: "{}"),
    ]

    init(
        heartbeat: Duration = .seconds(1), status: JSON = ["state": "ready", "network": "testnet", "account": "alice"],
        _ change: (inout BusSettings) -> Void = { _ in }
    ) throws {
        directory = try Scratch()
        context = try Context()
        var settings = BusSettings(
            eventEndpoints: [directory.endpoint("events")], commandEndpoints: [directory.endpoint("commands")],
            heartbeat: heartbeat)
        change(&settings)
        let delivered = delivered
        bus = try Bus(settings: settings, status: { status }, version: ["version": "1", "wire": 1]) {
            delivered.append($0)
        }
        bus.describe(source: "fiber", World.hosted)
    }

    deinit { bus.shutDown(within: .milliseconds(200)) }

    func client(_ kind: Socket.Kind = .dealer, limits: SocketLimits = SocketLimits()) throws -> Client {
        let socket = try Socket(context, kind, limits: limits)
        try socket.connect(directory.endpoint("commands"))
        return Client(socket: socket)
    }

    /// A subscriber whose subscriptions have taken effect. The welcome says only that its connection stands;
    /// subscriptions are taken in order, so the others are in effect once the last one is.
    func subscriber(_ topics: [String], limits: SocketLimits = SocketLimits()) throws -> Socket {
        let socket = try Socket(context, .sub, limits: limits)
        for topic in topics + ["bus/Welcome", "bus/Probe"] { try socket.set(.subscribe, Array(topic.utf8)) }
        try socket.connect(directory.endpoint("events"))
        #expect(try socket.next() == [Array("bus/Welcome".utf8)])
        var sent: Int64 = 0
        try eventually {
            sent += 1
            bus.announce(kind: "Probe", payload: .integer(sent))
            return try socket.probes().contains { $0 > 0 }
        }
        sent += 1
        bus.announce(kind: "Probe", payload: .integer(sent))
        try eventually { try socket.probes().contains(sent) }
        return socket
    }

    /// Events of this account with payloads `{"n":…}`, seq from `first` on.
    func batch(_ first: Int64, count: Int = 1, kind: String = "Thing", bytes: Int = 0) throws -> EventBatch {
        let topic = Topic(profile: try #require(profile), source: "fiber", kind: kind)
        var headers: [UInt8] = []
        var payloads: [UInt8] = []
        var events: [EventBatch.Event] = []
        for seq in first..<first + Int64(count) {
            let header = EventHeader(
                epoch: "5f0c2a9e", seq: seq, prev: seq - 1, timeMicroseconds: 1_000_000, topic: topic, run: 1)
            let (headerStart, payloadStart) = (headers.count, payloads.count)
            headers += header.bytes
            payloads += Array("{\"n\":\(seq)".utf8) + [UInt8](repeating: 0x20, count: bytes) + [0x7d]
            events.append(
                .init(
                    topic: Array(topic.description.utf8), header: headerStart..<headers.count,
                    payload: payloadStart..<payloads.count))
        }
        return EventBatch(
            profile: topic.profile, epoch: "5f0c2a9e", head: first + Int64(count) - 1, headers: headers,
            payloads: payloads, events: events)
    }
}

/// A directory of its own, gone with all that is in it.
final class Scratch {
    let path: String

    init() throws {
        var template = Array("/tmp/nodebus-bus-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw SystemError.last("mkdtemp") }
        path = String(cString: made)
    }

    deinit {
        for name in ["events", "commands", "other", "new/deep/events", "out"] { unlink("\(path)/\(name)") }
        for name in ["new/deep", "new", "open"] { rmdir("\(path)/\(name)") }
        rmdir(path)
    }

    func endpoint(_ name: String) -> String { "ipc://\(path)/\(name)" }

    func exists(_ name: String) -> Bool { access("\(path)/\(name)", F_OK) == 0 }
}

/// What the bus delivered, in order.
final class Delivered: Sendable {
    private let requests = Lock<[PendingRequest]>([])

    func append(_ request: PendingRequest) { requests.withLock { $0.append(request) } }

    var all: [PendingRequest] { requests.withLock { $0 } }

    /// The request at `index`, once it is there.
    func request(_ index: Int = 0) throws -> PendingRequest {
        try eventually { all.count > index ? all[index] : nil }
    }
}

/// A client of the command socket.
struct Client {
    let socket: Socket

    func send(_ method: String, _ parameters: JSON = [:], id: JSON = 1, timeout: Int64? = nil) throws {
        let request = RPCRequest(id: id, method: method, parameters: parameters, timeoutMilliseconds: timeout)
        try #require(try socket.send(request.bytes))
    }

    func call(_ method: String, _ parameters: JSON = [:], id: JSON = 1, timeout: Int64? = nil) throws -> RPCReply {
        try send(method, parameters, id: id, timeout: timeout)
        let (replyID, reply) = try reply()
        #expect(replyID == id)
        return reply
    }

    /// The next reply, without its envelope.
    func reply() throws -> (id: JSON, reply: RPCReply) {
        try decodeReply(try socket.next())
    }

    /// The bus answers.
    func expectPong() throws { #expect(try call("bus.ping", id: "pong") == .result([:])) }
}

extension RPCReply {
    var error: BusError? { if case .failure(let error) = self { error } else { nil } }
    var value: JSON? { if case .result(let value) = self { value } else { nil } }
}

/// The reply in a message, whatever its envelope.
func decodeReply(_ message: [[UInt8]]) throws -> (id: JSON, reply: RPCReply) {
    let (id, reply) = try #require(RPCReply.decode(message.last ?? []))
    guard case .verbatim(let text) = reply else { return (id, reply) }
    return (id, .result(try JSON.parse(text)))
}

struct TooLate: Error {}

/// Waits for `condition`, looking every millisecond, at most ten seconds.
func eventually<Value>(_ condition: () throws -> Value?) throws -> Value {
    let deadline = Instant.now + .seconds(10)
    while Instant.now < deadline {
        if let value = try condition() { return value }
        poll(nil, 0, 1)
    }
    throw TooLate()
}

/// Waits until `condition` holds.
func eventually(_ condition: () throws -> Bool) throws {
    _ = try eventually { try condition() ? true : nil }
}

extension Socket {
    /// The numbers of the probes that are here; all else that is here is thrown away.
    fileprivate func probes() throws -> [Int64] {
        var numbers: [Int64] = []
        while let message = try receiveMessage()?.frames {
            guard message.first == Array("bus/Probe".utf8) else { continue }
            numbers.append(try JSON.parse(message[2]).integer ?? 0)
        }
        return numbers
    }

    /// The next message, within ten seconds.
    func next() throws -> [[UInt8]] {
        var poller = Poller()
        _ = poller.add(self)
        let deadline = Instant.now + .seconds(10)
        while Instant.now < deadline {
            if let message = try receiveMessage() { return message.frames }
            try poller.wait(deadline - .now)
        }
        throw TooLate()
    }

    /// The next message whose topic is `topic`, as JSON header and payload.
    func next(on topic: String) throws -> (header: JSON, payload: JSON) {
        while true {
            let message = try next()
            guard message.first == Array(topic.utf8) else { continue }
            return (try JSON.parse(message[1]), try JSON.parse(message[2]))
        }
    }
}

/// A plain connection to one of the sockets: a peer that does not speak ZMTP, or only what it is made to.
final class RawPeer {
    let descriptor: Descriptor

    init(_ path: String) throws { descriptor = try UnixSocket.connect(path) }

    /// Writes what fits; a peer that hung up is no error.
    func write(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { send(descriptor.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Shakes hands as a subscriber (ZMTP 3.0, rfc.zeromq.org/spec/23), and waits for the welcome, without which what
    /// follows would be taken for a part of the handshake.
    func subscribeByHand() {
        let ready = Array("\u{5}READY\u{b}Socket-Type\u{0}\u{0}\u{0}\u{4}XSUB".utf8)
        let signature: [UInt8] = [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]
        write(signature + Array("NULL".utf8) + [UInt8](repeating: 0, count: 48) + [4, UInt8(ready.count)] + ready)
        #expect(hears("bus/Welcome"))
    }

    /// Whether the other side hangs up within ten seconds.
    func isHungUp() -> Bool { !listen { _ in false } }

    /// Whether the other side says this within ten seconds.
    func hears(_ text: String) -> Bool {
        var heard: [UInt8] = []
        return listen {
            heard += $0
            return String(decoding: heard, as: UTF8.self).contains(text)
        }
    }

    /// Reads until `enough` says so (true), or the other side hangs up (false).
    private func listen(enough: (ArraySlice<UInt8>) -> Bool) -> Bool {
        let deadline = Instant.now + .seconds(10)
        var chunk = [UInt8](repeating: 0, count: 4096)
        while Instant.now < deadline {
            var item = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
            poll(&item, 1, 100)
            let count = read(descriptor.raw, &chunk, chunk.count)
            if count > 0, enough(chunk[..<count]) { return true }
            if count == 0 || (count < 0 && errno != EAGAIN) { return false }
        }
        Issue.record("neither said anything nor hung up")
        return false
    }
}
