import Bus
import Glibc
import Linux
import Testing
import Wire
import ZeroMQ

@Suite("Envelopes are echoed, and what is not a request is refused")
struct EnvelopeTests {
    let world: World
    init() throws { world = try World() }

    private let ping = RPCRequest(id: 1, method: "bus.ping").bytes
    private let pong = RPCReply.result([:]).bytes(id: 1)

    @Test("frames up to the first empty one come back unchanged")
    func envelopes() throws {
        let client = try world.client()
        for envelope in [[], [[]], [[1, 2], []], [[0], [0xff, 0xfe], [3], []]] as [[[UInt8]]] {
            try client.socket.send(frames: envelope + [ping])
            #expect(try client.socket.next() == envelope + [pong])
        }
    }

    @Test("other than one frame after the envelope is -32600 with id null")
    func wrongFrames() throws {
        let client = try world.client()
        let many = [[UInt8]](repeating: [1], count: 100)
        for (frames, echo) in [
            ([[]], [[]]), ([[], ping, ping], [[]]), ([ping, ping], []), ([[1], [], ping, []], [[1], []]),
            ([[1], []], [[1], []]), (many, []), ([[]] + many, [[]]), (many + [[], ping], []),
        ] as [([[UInt8]], [[UInt8]])] {
            try client.socket.send(frames: frames)
            let message = try client.socket.next()
            #expect(Array(message.dropLast()) == echo)
            let (id, reply) = try decodeReply(message)
            #expect(id.isNull)
            #expect(reply.error?.code == .invalidRequest)
            try client.expectPong()
        }
    }

    @Test(
        "what is no JSON-RPC request is refused, and the bus goes on",
        arguments: [
            (" ", -32700), ("{", -32700), (#"{"id":1,"id":2}"#, -32700), ("[]", -32600),
            ("null", -32600), (#"{"jsonrpc":"2.0","method":"bus.ping"}"#, -32600),
            (#"{"jsonrpc":"2.0","id":null,"method":"bus.ping"}"#, -32600), (#"{"id":1,"method":"bus.ping"}"#, -32600),
            (#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600),
            (#"{"jsonrpc":"2.0","id":1,"method":"bus.ping","timeout_ms":0}"#, -32600),
            (#"{"jsonrpc":"2.0","id":1,"method":"bus.ping","params":[]}"#, -32602),
            (#"[{"jsonrpc":"2.0","id":1,"method":"bus.ping"}]"#, -32600),
        ])
    func notARequest(text: String, code: Int) throws {
        let client = try world.client()
        try client.socket.send(frames: [[], Array(text.utf8)])
        #expect(try client.reply().reply.error?.code.rawValue == code)
        try client.expectPong()
    }

    @Test("depth over 64, bad UTF-8 and a body of random bytes are -32700")
    func noise() throws {
        let client = try world.client()
        let bodies =
            [Array(String(repeating: "[", count: 100_000).utf8), [0x22, 0xc3, 0x28, 0x22], [0]]
            + (0..<200).map { _ in [0xff] + (0..<Int.random(in: 0...300)).map { _ in UInt8.random(in: 0...255) } }
        for body in bodies {
            try client.socket.send(frames: [[], body])
            #expect(try client.reply().reply.error?.code == .parseError)
        }
        try client.expectPong()
    }

    @Test("a frame over the limit closes the connection, and the client that comes back is served")
    func hugeFrame() throws {
        let client = try world.client()
        try client.expectPong()
        let before = residentBytes()
        try client.socket.send([UInt8](repeating: 0x20, count: 64 << 20))
        // libzmq's client connects again by itself, and drops what it could not send.
        try eventually {
            _ = try? client.socket.send(RPCRequest(id: "again", method: "bus.ping").bytes)
            var poller = Poller()
            _ = poller.add(client.socket)
            try poller.wait(.milliseconds(200))
            return try client.socket.receiveMessage() != nil
        }
        #expect(world.bus.clients == 1)
        // The client's own copy is in this process too.
        #expect(residentBytes() - before < 160 << 20)
        #expect(world.bus.lastFault == nil)
    }

    @Test("a request at the limit is taken")
    func largeRequest() throws {
        let client = try world.client()
        let text = String(repeating: "x", count: (1 << 20) - 200)
        #expect(try client.call("bus.ping", ["x": .string(text)]).error?.code == .invalidParams)
    }

    @Test("raw bytes of every kind leave the bus answering", arguments: ["commands", "events"])
    func rawBytes(name: String) throws {
        let client = try world.client()
        let greeting: [UInt8] =
            [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0] + Array("NULL".utf8) + [UInt8](repeating: 0, count: 48)
        let ready: [UInt8] = Array("\u{5}READY\u{b}Socket-Type\u{0}\u{0}\u{0}\u{3}SUB".utf8)
        let frames: [[UInt8]] = [
            Array("GET / HTTP/1.1\r\n\r\n".utf8), [0], [0xff], greeting, greeting + [0xff, 0xff, 0xff],
            greeting + [4, UInt8(ready.count)] + ready + [0, 3, 1, 0, 0],
            greeting + [4, UInt8(ready.count)] + ready + [6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            greeting + [4, 3, 5, 0x52, 0x45], greeting + [2, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0],
            (0..<5000).map { _ in UInt8.random(in: 0...255) },
            greeting + (0..<5000).map { _ in UInt8.random(in: 0...255) },
        ]
        for bytes in frames {
            let peer = try RawPeer("\(world.directory.path)/\(name)")
            peer.write(bytes)
        }
        try eventually { world.bus.handshakeFailures >= 4 }
        try eventually { (name == "events" ? world.bus.subscribers : world.bus.clients - 1) == 0 }
        try client.expectPong()
        #expect(world.bus.lastFault == nil)
    }
}

private func residentBytes() -> Int {
    guard let file = try? Descriptor.open("/proc/self/statm", O_RDONLY), let bytes = try? file.readAll() else {
        return 0
    }
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    return (Int(fields[1]) ?? 0) * Int(getpagesize())
}
