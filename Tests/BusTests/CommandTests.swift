import Bus
import Linux
import Testing
import Wire
import ZeroMQ

@Suite("Every request gets exactly one reply")
struct CommandTests {
    let world: World
    init() throws { world = try World() }

    @Test("ping, version, status and methods are answered by the bus itself")
    func own() throws {
        let client = try world.client()
        #expect(try client.call("bus.ping") == .result([:]))
        #expect(try client.call("bus.version", id: "a") == .result(["version": "1", "wire": 1]))
        let status = try #require(try client.call("bus.status").value)
        #expect(status["state"] == "ready")
        #expect(status["subscribers"] == 0)
        #expect(status["clients"] == 1)
        #expect(status["handshake_failures"] == 0)
        let methods = try #require(try client.call("bus.methods").value?["methods"]?.elements)
        #expect(methods.compactMap(MethodDescription.init(parsing:)) == BusMethods.all + World.hosted)
        #expect(world.delivered.all.isEmpty)
    }

    @Test("schemas and the OpenRPC document are answered by the bus itself, whether a node is up or not")
    func descriptions() throws {
        let client = try world.client()
        func methods() throws -> [String] {
            let document = try #require(try client.call("rpc.discover").value)
            #expect(document["info"]?["version"] == "1")
            return document["methods"]?.elements?.compactMap { $0["name"]?.text } ?? []
        }
        #expect(try methods() == (BusMethods.all + World.hosted).map(\.name))
        world.bus.describe(source: "fiber", [])
        #expect(try methods() == BusMethods.all.map(\.name))
        let all = try #require(try client.call("events.schema").value)
        #expect(all["schemas"]?.members?.map(\.key) == FiberEvent.kinds.map(\.name))
        let one = try #require(try client.call("events.schema", ["source": "fiber", "kind": "PeerConnected"]).value)
        #expect(one["schemas"]?.members?.map(\.key) == ["PeerConnected"])
        let refused = try client.call("events.schema", ["kind": "Peer"]).error
        #expect(refused?.code == .invalidParams && refused?.data == [.init("path", "kind")])
        #expect(world.delivered.all.isEmpty)
    }

    @Test("a REQ client is served, also with RELAXED and CORRELATE", arguments: [false, true])
    func requestSocket(relaxed: Bool) throws {
        let socket = try Socket(world.context, .req)
        if relaxed {
            try socket.set(.requestRelaxed, true)
            try socket.set(.requestCorrelate, true)
        }
        try socket.connect(world.directory.endpoint("commands"))
        let client = Client(socket: socket)
        try client.expectPong()
        try client.send("node.start")
        if relaxed {
            // Gives the first request up; its reply must not be taken for that of the second.
            try client.send("bus.ping", id: 2)
            try world.delivered.request().answer(.result(["late": true]))
            #expect(try client.reply().id == 2)
        } else {
            try world.delivered.request().answer(.result(["state": "ready"]))
            #expect(try client.reply().reply == .result(["state": "ready"]))
        }
        try client.expectPong()
    }

    @Test("what the bus does not answer itself is delivered checked, in normal form, and answered once")
    func delivered() throws {
        let client = try world.client()
        try client.send("fiber.pay", ["amount": "1.5 CKB"], id: "x", timeout: 5000)
        let before = Instant.now
        let request = try world.delivered.request()
        #expect(request.method == "fiber.pay")
        #expect(request.parameters == ["amount": "150000000"])
        #expect(request.description == World.hosted[0])
        #expect(request.deadline > before && request.deadline < before + .seconds(6))
        #expect(request.claim())
        #expect(!request.claim())
        request.answer(.verbatim(Array(#"{"hash": 1}"#.utf8)))
        request.answer(.result("twice"))
        let reply = try client.reply()
        #expect(reply.id == "x")
        #expect(reply.reply == .result(["hash": 1]))
        try client.expectPong()
    }

    @Test("the bytes of a verbatim answer are not touched")
    func verbatim() throws {
        let client = try world.client()
        try client.send("fiber.node_info", id: 7)
        try world.delivered.request().answer(.verbatim(Array(#"{ "a" : 1.50 }"#.utf8)))
        #expect(try client.socket.next() == [Array(#"{"jsonrpc":"2.0","id":7,"result":{ "a" : 1.50 }}"#.utf8)])
    }

    @Test("a wrong parameter is named, and nothing is delivered")
    func parameters() throws {
        let client = try world.client()
        for (parameters, path) in [
            (["amount": "x"], "amount"), ([:], "amount"), (["amount": "1", "more": 1], "more"),
        ] as [(JSON, String)] {
            let error = try #require(try client.call("fiber.pay", parameters).error)
            #expect(error.code == .invalidParams)
            #expect(error.data.contains(.init("path", .string(path))))
        }
        #expect(try client.call("bus.ping", ["x": 1]).error?.code == .invalidParams)
        let long = try client.call("bus.ping", .object([.init(String(repeating: "k", count: 500_000), 1)])).error
        #expect(long?.code == .invalidParams && (long?.message.utf8.count ?? 0) < 300)
        #expect(world.delivered.all.isEmpty)
    }

    @Test("an unknown method is refused, with what was probably meant")
    func unknownMethod() throws {
        let client = try world.client()
        let near = try #require(try client.call("bus.staus").error)
        #expect(near.code == .methodNotFound)
        #expect(near.data == [.init("suggestion", "bus.status")])
        #expect(try client.call("fiber.pya").error?.data == [.init("suggestion", "fiber.pay")])
        let far = try #require(try client.call("completely.different").error)
        #expect(far.code == .methodNotFound && far.data.isEmpty)
        let long = try client.call(String(repeating: "m", count: 100_000)).error
        #expect(long?.code == .methodNotFound)
        #expect((long?.message.utf8.count ?? 0) < 300)
    }

    @Test("a method of a node that is not up is node_not_running, and callable again once it is")
    func nodeNotRunning() throws {
        let client = try world.client()
        world.bus.describe(source: "fiber", [])
        #expect(try client.call("fiber.pay", ["amount": "1"]).error?.code == .nodeNotRunning)
        #expect(try client.call("fiber.other").error?.code == .nodeNotRunning)
        #expect(try client.call("any.open").error?.code == .methodNotFound)
        #expect(try client.call("bus.methods").value?["methods"]?.elements?.count == BusMethods.all.count)
        world.bus.describe(source: "fiber", World.hosted)
        try client.send("fiber.node_info")
        #expect(try world.delivered.request().method == "fiber.node_info")
        #expect(try client.call("fiber.other").error?.code == .methodNotFound)
    }

    @Test("a host cannot take a method of the bus over")
    func takeOver() throws {
        let client = try world.client()
        let thief = MethodDescription("bus.ping", "Not ours.", [.init("x", .boolean, required: true, "x")], result: "")
        world.bus.describe(source: "bus", [thief])
        world.bus.describe(source: "fiber", [thief])
        try client.expectPong()
    }

    @Test("while the bus refuses, only ping, version and status are answered")
    func refusing() throws {
        let client = try world.client()
        world.bus.refuse(with: BusError(.switching, "a switch is on"))
        #expect(try client.call("fiber.node_info").error?.code == .switching)
        #expect(try client.call("bus.methods").error?.code == .switching)
        #expect(try client.call("no.such").error?.code == .switching)
        try client.expectPong()
        #expect(try client.call("bus.version").error == nil)
        #expect(try client.call("bus.status").error == nil)
        world.bus.refuse(with: nil)
        #expect(try client.call("bus.methods").error == nil)
    }

    @Test("a thousand pipelined requests are each answered, whatever the order of the answers")
    func pipelined() throws {
        let client = try world.client()
        for number in 0..<1000 {
            try client.send(number % 2 == 0 ? "bus.ping" : "fiber.node_info", id: .integer(Int64(number)))
        }
        _ = try world.delivered.request(499)
        for request in world.delivered.all.reversed() { request.answer(.result("n")) }
        var seen: Set<Int64> = []
        for _ in 0..<1000 {
            let (id, reply) = try client.reply()
            let number = try #require(id.integer)
            #expect(reply == (number % 2 == 0 ? .result([:]) : .result("n")))
            seen.insert(number)
        }
        #expect(seen.count == 1000)
        try client.expectPong()
    }
}
