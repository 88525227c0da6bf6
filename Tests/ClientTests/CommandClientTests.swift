import Glibc
import Linux
import NodeBusClient
import Testing
import Wire
import ZeroMQ

@Suite("A command client answers, or says within its time why not", .timeLimit(.minutes(1)))
struct CommandClientTests {
    let world: World
    init() throws { world = try World() }

    func client() throws -> CommandClient { try CommandClient(endpoint: world.commands, context: world.context) }

    @Test("a result comes back as the very bytes that were sent")
    func result() throws {
        let bus = try FakeBus(world)
        let text = #"{ "a" : 1.50, "b":"\ud800", "b":[1e400] }"#
        bus.answer("fiber.odd") { _ in .verbatim(Array(text.utf8)) }
        let client = try client()
        #expect(try client.call("fiber.odd") == Array(text.utf8))
        #expect(try client.callJSON("test.echo", ["x": [1, "y"]]) == ["x": [1, "y"]])
        try bus.stop()
    }

    @Test("a refusal keeps its code, message and data")
    func refusal() throws {
        let bus = try FakeBus(world)
        let refusal = BusError(.invalidParams, "parameter amount is required", ["path": "amount"])
        bus.answer("fiber.pay") { _ in .failure(refusal) }
        let client = try client()
        #expect(throws: ClientError.refused(refusal)) { try client.call("fiber.pay") }
        let unknown = #expect(throws: ClientError.self) { try client.call("fiber.none") }
        #expect(unknown?.description == #"method_not_found (-32601): there is no method "fiber.none""#)
        try bus.stop()
    }

    @Test("nobody there is said within two seconds, naming the endpoint")
    func nobody() throws {
        let client = try client()
        let start = Instant.now
        let error = #expect(throws: ClientError.self) { try client.call("bus.ping") }
        #expect(error == .noSupervisor(endpoint: world.commands))
        #expect(error?.description == "no supervisor answers at \(world.commands)")
        #expect(Instant.now - start < .seconds(2))
    }

    @Test("somebody who accepts and does not speak ZeroMQ is nobody")
    func mute() throws {
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let listener = Descriptor(taking: raw)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: world.commands.utf8.dropFirst(6)) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(status == 0 && listen(listener.raw, 4) == 0)
        let start = Instant.now
        #expect(throws: ClientError.noSupervisor(endpoint: world.commands)) { try client().call("bus.ping") }
        #expect(Instant.now - start < .seconds(2))
    }

    @Test("an answer that comes too late is not taken for the next one")
    func late() throws {
        let bus = try FakeBus(world)
        bus.answer("test.slow") { _ in
            poll(nil, 0, 1500)
            return .result("late")
        }
        let client = try client()
        let error = #expect(throws: ClientError.self) { try client.call("test.slow", timeout: .milliseconds(1)) }
        #expect(error == .unanswered(method: "test.slow", after: .milliseconds(1)))
        #expect(try client.callJSON("test.echo", ["n": 2]) == ["n": 2])
        try bus.stop()
    }

    @Test("a supervisor that goes away in a call is noticed at once, and found again when it is back")
    func lost() throws {
        let bus = try FakeBus(world)
        bus.answer("test.never") { _ in
            bus.state.withLock { $0.isStopping = true }
            return nil
        }
        let client = try client()
        let start = Instant.now
        let error = #expect(throws: ClientError.self) { try client.call("test.never", timeout: .seconds(50)) }
        #expect(error == .lost(endpoint: world.commands, method: "test.never"))
        #expect(Instant.now - start < .seconds(5))
        try bus.stop()
        #expect(throws: ClientError.noSupervisor(endpoint: world.commands)) { try client.call("test.echo") }
        let second = try FakeBus(world)
        #expect(try client.callJSON("test.echo", ["n": 3]) == ["n": 3])
        try second.stop()
    }

    @Test("an answer given before the supervisor went away counts")
    func lastWord() throws {
        let bus = try FakeBus(world)
        bus.answer("bus.shutdown") { _ in
            bus.state.withLock { $0.isStopping = true }
            return .result(["state": "stopping"])
        }
        #expect(try client().callJSON("bus.shutdown") == ["state": "stopping"])
        try bus.stop()
    }

    @Test("what the bus would cut off is refused here")
    func tooLarge() throws {
        let bus = try FakeBus(world)
        let client = try client()
        let text = String(repeating: "x", count: CommandClient.requestLimit)
        let error = #expect(throws: ClientError.self) { try client.call("test.echo", ["x": .string(text)]) }
        guard case .tooLarge(let bytes, let limit) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(bytes > limit && limit == 1 << 20)
        #expect(try client.callJSON("test.echo", ["n": 4]) == ["n": 4])
        try bus.stop()
    }

    @Test("an answer that is none is said", arguments: ["", "{}", "nonsense", #"{"jsonrpc":"2.0","id":1}"#])
    func unreadable(text: String) throws {
        let bus = try FakeBus(world)
        bus.state.withLock { $0.rawAnswer = Array(text.utf8) }
        #expect(throws: ClientError.unreadable(endpoint: world.commands, method: "bus.ping")) {
            try client().call("bus.ping")
        }
        try bus.stop()
    }

    @Test("an endpoint that is none is an error")
    func badEndpoint() {
        #expect(throws: ClientError.self) { try CommandClient(endpoint: "nonsense", context: world.context) }
    }
}
