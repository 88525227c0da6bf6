import Glibc
import Linux
import Testing
import Wire

@testable import HostLink

@Suite("Frames are cut anywhere and come out whole")
struct FrameTests {
    private let frames = [
        Frame(kind: .ready, body: []), Frame(kind: .reply, body: [1]), Frame(kind: .hello, body: Array(0...255)),
        Frame(kind: .call, body: [UInt8](repeating: 7, count: 70_000)), Frame(kind: .stop, body: []),
    ]

    private func all(_ buffer: inout FrameBuffer) throws -> [Frame] {
        var found: [Frame] = []
        while let frame = try buffer.next() { found.append(frame) }
        return found
    }

    @Test("in pieces of any size", arguments: [1, 2, 3, 5, 7, 100, 4096, 65_537, 1 << 20])
    func pieces(size: Int) throws {
        let bytes = frames.flatMap(\.bytes)
        var buffer = FrameBuffer()
        var found: [Frame] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            buffer.append(bytes[start..<min(bytes.count, start + size)])
            found += try all(&buffer)
        }
        #expect(found == frames)
    }

    @Test("cut in two at every place")
    func everyPlace() throws {
        let some = Array(frames[0...2])
        let bytes = some.flatMap(\.bytes)
        for place in 0...bytes.count {
            var buffer = FrameBuffer()
            buffer.append(bytes[..<place])
            var found = try all(&buffer)
            buffer.append(bytes[place...])
            found += try all(&buffer)
            #expect(found == some, "cut at \(place)")
        }
    }

    @Test("a frame that is too large or of no known type is refused before its body is waited for")
    func refused() {
        var large = FrameBuffer()
        large.append([1, 0, 0, 4, 1])  // 64 MiB + 1
        #expect(throws: LinkError.self) { try large.next() }
        var unknown = FrameBuffer()
        unknown.append([0, 0, 0, 0, 99])
        #expect(throws: LinkError.self) { try unknown.next() }
    }
}

@Suite("Messages travel as they are, and bad ones are refused")
struct MessageTests {
    private static let method = MethodDescription(
        "fiber.pay", "Pays.",
        [
            .init("amount", .amount(udtWhen: "script"), required: true, "how much"),
            .init("kind", .choice(["a", "b"]), "which"),
        ], result: "{}", effect: .money, find: "fiber.list")

    static let hello = Hello(
        driver: "fiber", source: "fiber", library: "/lib/a.so", libraryVersion: "0.9.0", isSimulated: true,
        methods: [method])

    @Test(
        "what a host sends",
        arguments: [
            .hello(hello), .ready, .reply(id: .max, .result(Array(#"{"a":1.50}"#.utf8))),
            .reply(id: 0, .failure(BusError(.nodeError, "failed", ["reason": "no_route"]))),
            .fatal(Fatal(reason: "key_missing", message: "no key: put one there", isPermanent: true)),
        ] as [HostMessage])
    func host(message: HostMessage) throws { #expect(try HostMessage(message.frame) == message) }

    @Test("what a supervisor sends")
    func supervisor() throws {
        let call = SupervisorMessage.call(id: 1 << 40, method: "fiber.pay", parameters: ["amount": "5"])
        #expect(try SupervisorMessage(call.frame) == call)
        #expect(try SupervisorMessage(SupervisorMessage.stop.frame) == .stop)
    }

    @Test("neither takes what the other should have sent")
    func directions() {
        #expect(throws: LinkError.self) { try HostMessage(SupervisorMessage.stop.frame) }
        #expect(throws: LinkError.self) { try SupervisorMessage(HostMessage.ready.frame) }
    }

    @Test(
        "a hello that is no hello",
        arguments: [
            ("not JSON", "hello"), ("another version", #"{"link":2}"#), ("none", "{}"),
            ("an array", "[]"),
            ("as the supervisor", hello.replacing("\"source\":\"fiber\"", "\"source\":\"supervisor\"")),
            ("a source that is none", hello.replacing("\"source\":\"fiber\"", "\"source\":\"Fi/ber\"")),
            ("a method of another", hello.replacing("fiber.pay", "bus.ping")),
            ("a type that is none", hello.replacing("\"type\":\"choice\"", "\"type\":\"wish\"")),
        ])
    func badHello(name: String, body: String) {
        #expect(throws: LinkError.self) { try HostMessage(Frame(kind: .hello, body: Array(body.utf8))) }
    }

    @Test("the hello that those are made from is good")
    func goodHello() throws {
        let body = Array(Self.hello.replacing("nothing", "nothing").utf8)
        #expect(try HostMessage(Frame(kind: .hello, body: body)) == .hello(Self.hello))
    }

    @Test(
        "a reply that is cut, of unknown form or not JSON",
        arguments: [
            [], [1, 2, 3], [0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 9, 0x7b, 0x7d],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7b], [0, 0, 0, 0, 0, 0, 0, 0, 1, 0x7b],
        ] as [[UInt8]])
    func badReply(body: [UInt8]) {
        #expect(throws: LinkError.self) { try HostMessage(Frame(kind: .reply, body: body)) }
    }

    @Test("a command line reads back, and one that no supervisor made does not")
    func arguments() {
        let arguments = HostArguments(
            library: "/a b/l.so", config: "/c.yml", dataDirectory: "/d", run: 3, supervisorPID: 42,
            stopTimeoutMilliseconds: 30_000, logLevel: "fnn=debug")
        let line = arguments.commandLine
        #expect(HostArguments(commandLine: line) == arguments)
        for count in 0..<line.count { #expect(HostArguments(commandLine: Array(line[..<count])) == nil) }
        #expect(HostArguments(commandLine: line + ["--more", "1"]) == nil)
        #expect(HostArguments(commandLine: line.map { $0 == "3" ? "0" : $0 }) == nil)
    }
}

extension Hello {
    /// The text of this hello with a part of it changed.
    func replacing(_ part: String, _ other: String) -> String {
        String(decoding: body, as: UTF8.self).replacing(part, with: other)
    }
}

@Suite("The two ends of the call channel")
struct EndsTests {
    /// Both ends on one socket pair.
    private func ends() throws -> (SupervisorEnd, HostEnd) {
        var numbers: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &numbers) == 0)
        return (
            try SupervisorEnd(socket: Descriptor(taking: numbers[0])), HostEnd(socket: Descriptor(taking: numbers[1]))
        )
    }

    @Test("large messages pass both ways, and the supervisor's end never waits")
    func large() throws {
        let (supervisor, host) = try ends()
        let text = String(repeating: "x", count: 5 << 20)
        let call = SupervisorMessage.call(id: 1, method: "fiber.echo", parameters: ["text": .string(text)])
        supervisor.send(call)
        #expect(supervisor.wantsToWrite, "more than the socket takes is kept")
        try startThread("host") {
            var calls = 0
            while calls == 0, let messages = try? host.receive() {
                calls += messages.count
                for case .call(let id, _, let parameters) in messages {
                    host.send(.reply(id: id, .result(parameters.bytes)))
                }
            }
        }
        var messages: [HostMessage] = []
        var ended = false
        let isAnswered = wait {
            supervisor.flush()
            messages += (try? supervisor.receive(ended: &ended)) ?? []
            return !messages.isEmpty
        }
        #expect(isAnswered)
        #expect(messages == [.reply(id: 1, .result((["text": .string(text)] as JSON).bytes))])
    }

    @Test("each end sees that the other is gone")
    func gone() throws {
        var (supervisor, host): (SupervisorEnd?, HostEnd?) = try ends()
        host?.send(.ready)
        host = nil
        var ended = false
        #expect(try supervisor?.receive(ended: &ended) == [.ready])
        _ = try supervisor?.receive(ended: &ended)
        #expect(ended)
        supervisor?.send(.stop)  // must not end this process
        let orphan: HostEnd
        (supervisor, orphan) = try ends()
        supervisor = nil
        #expect(try orphan.receive() == nil)
        #expect(orphan.send(.ready) == false)
    }

    @Test("a host that writes nonsense is found out")
    func nonsense() throws {
        var numbers: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &numbers) == 0)
        let supervisor = try SupervisorEnd(socket: Descriptor(taking: numbers[0]))
        let host = Descriptor(taking: numbers[1])
        try host.write(Array("GET / HTTP/1.1\r\n\r\n".utf8))
        var ended = false
        #expect(throws: LinkError.self) { try supervisor.receive(ended: &ended) }
    }
}
