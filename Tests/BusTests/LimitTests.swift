import Bus
import Glibc
import Linux
import Testing
import Wire
import ZeroMQ

@Suite("What clients can make the bus hold is limited")
struct LimitTests {
    @Test(
        "connections past the limit are shut down at once, those before it are served, and one that leaves makes room")
    func connections() throws {
        let world = try World { $0.maxConnections = 3 }
        let clients = [try world.client(), try world.client()]
        for client in clients { try client.expectPong() }
        var third: Client? = try world.client()
        try third?.expectPong()
        for name in ["commands", "events"] {
            let peer = try RawPeer("\(world.directory.path)/\(name)")
            #expect(peer.isHungUp())
        }
        for client in clients + [try #require(third)] { try client.expectPong() }
        #expect(world.bus.connectionsCut == 2)
        third = nil
        try eventually { world.bus.clients == 2 && world.bus.subscribers == 0 }
        try world.client().expectPong()
    }

    @Test("a flood of connections leaves those that stand alone")
    func flood() throws {
        let world = try World { $0.maxConnections = 50 }
        let client = try world.client()
        try client.expectPong()
        for _ in 0..<2000 {
            // Refused when the backlog is full, which is as good.
            _ = try? RawPeer("\(world.directory.path)/commands")
        }
        try client.expectPong()
        try eventually { world.bus.clients == 1 }
        #expect(world.bus.lastFault == nil)
    }

    @Test("a connection with too many subscriptions is shut down, and another subscriber sees nothing of it")
    func subscriptions() throws {
        let world = try World { $0.maxSubscriptions = 100 }
        let modest = try world.subscriber(["testnet/"] + (0..<97).map { "topic\($0)" })
        #expect(world.bus.connectionsCut == 0)
        let greedy = try Socket(world.context, .sub)
        for number in 0..<101 { try greedy.set(.subscribe, Array("topic\(number)".utf8)) }
        try greedy.connect(world.directory.endpoint("events"))
        try eventually { world.bus.connectionsCut >= 1 }
        world.bus.publish(try world.batch(1))
        #expect(try modest.next()[2] == Array(#"{"n":1}"#.utf8))
    }

    @Test("subscriptions that were taken back do not count, but endless messages do")
    func subscriptionMessages() throws {
        let world = try World(heartbeat: .seconds(60)) {
            $0.maxSubscriptions = 10
            $0.maxSubscriptionMessages = 200
        }
        let subscriber = try world.subscriber(["testnet/"])
        for number in 0..<90 {
            try subscriber.set(.subscribe, Array("topic\(number)".utf8))
            try subscriber.set(.unsubscribe, Array("topic\(number)".utf8))
        }
        try subscriber.set(.subscribe, Array("bus/Mark".utf8))
        try eventually {
            world.bus.announce(kind: "Mark", payload: [:])
            return try subscriber.receiveMessage() != nil
        }
        #expect(world.bus.connectionsCut == 0)
        for number in 0..<100 {
            try subscriber.set(.subscribe, Array("topic\(number)".utf8))
            try subscriber.set(.unsubscribe, Array("topic\(number)".utf8))
        }
        try eventually { world.bus.connectionsCut >= 1 }
    }

    @Test("a topic that no event can have does no harm")
    func longTopic() throws {
        let world = try World()
        let subscriber = try world.subscriber(["testnet/", String(repeating: "a", count: 300)])
        world.bus.publish(try world.batch(1))
        #expect(try subscriber.next()[2] == Array(#"{"n":1}"#.utf8))
        #expect(world.bus.subscribers == 1)
    }

    @Test("a huge topic closes its connection before it is even sent")
    func hugeTopic() throws {
        let world = try World()
        let peer = try RawPeer("\(world.directory.path)/events")
        peer.subscribeByHand()
        // The head of a frame of 8 MiB, and its first bytes.
        peer.write([2, 0, 0, 0, 0, 0, 0x80, 0, 0, 1, 0x61, 0x61])
        #expect(peer.isHungUp())
        _ = try world.subscriber(["testnet/"])
    }

    @Test("what a subscriber sends besides subscriptions is ignored")
    func upstreamNoise() throws {
        let world = try World()
        let peer = try RawPeer("\(world.directory.path)/events")
        peer.subscribeByHand()
        // Frames without and with a mark that more follow, empty ones too, and at last a subscription.
        peer.write([0, 0, 0, 3, 2, 0, 0, 1, 2, 9, 9, 1, 0, 0, 1, 7, 0, 2, 0, 0x62, 0, 2, 1, 0x74])
        let subscriber = try world.subscriber(["testnet/"])
        try eventually { world.bus.subscribers == 2 }
        world.bus.publish(try world.batch(1))
        #expect(try subscriber.next()[2] == Array(#"{"n":1}"#.utf8))
        #expect(peer.hears("fiber/Thing"))
        #expect(world.bus.lastFault == nil)
    }

    @Test("a client that reads late gets every reply, in order")
    func lateReader() throws {
        let world = try World { $0.replySendHighWaterMark = 10 }
        var limits = SocketLimits()
        limits.receiveHighWaterMark = 1
        limits.sendHighWaterMark = 10_000
        let client = try world.client(limits: limits)
        let filler: JSON = .string(String(repeating: "x", count: 500))
        for number in 0..<3000 { try client.send("fiber.node_info", id: .integer(Int64(number))) }
        _ = try world.delivered.request(2999)
        for request in world.delivered.all { request.answer(.result(filler)) }
        // By the answer to this one, those before it have been tried.
        try world.client().expectPong()
        for number in 0..<3000 { #expect(try client.reply() == (.integer(Int64(number)), .result(filler))) }
    }

    @Test("of requests whose replies do not fit, those that read are refused, one reply each; what was done is told")
    func replyLimit() throws {
        let world = try World {
            $0.replySendHighWaterMark = 10
            $0.maxParkedReplyBytes = 100_000
        }
        var limits = SocketLimits()
        limits.receiveHighWaterMark = 1
        limits.sendHighWaterMark = 10_000
        let client = try world.client(limits: limits)
        // More than the connection's own buffers hold.
        let filler: JSON = .string(String(repeating: "x", count: 20_000))
        for number in 0..<300 { try client.send("fiber.node_info", id: .integer(Int64(number))) }
        for number in 300..<310 { try client.send("fiber.pay", ["amount": "1"], id: .integer(Int64(number))) }
        _ = try world.delivered.request(309)
        for request in world.delivered.all {
            request.answer(.result(request.method == "fiber.pay" ? "paid" : filler))
        }
        try world.client().expectPong()
        // Too much waits already: nothing is done any more.
        for number in 310..<320 { try client.send("fiber.pay", ["amount": "1"], id: .integer(Int64(number))) }
        var refused: [Int64] = []
        for number in 0..<Int64(320) {
            let (id, reply) = try client.reply()
            #expect(id == .integer(number))
            if reply.error?.code == .overloaded {
                refused.append(number)
            } else {
                #expect(reply == .result((300..<310).contains(number) ? "paid" : filler))
            }
        }
        #expect(refused.count > 20)
        #expect(!refused.contains { (300..<310).contains($0) })
        #expect(refused.suffix(10) == Array(310..<320))
        #expect(world.delivered.all.count == 310)
        #expect(world.bus.connectionsCut == 0)
        try client.expectPong()
    }

    @Test("a client that asks on and on and never reads is cut, and holds nobody up")
    func stuckClient() throws {
        let world = try World {
            $0.replySendHighWaterMark = 10
            $0.maxParkedReplyBytes = 100_000
        }
        var limits = SocketLimits()
        limits.receiveHighWaterMark = 1
        limits.sendHighWaterMark = 100
        let stuck = try world.client(limits: limits)
        let other = try world.client()
        let start = Instant.now
        var slowest = Duration.zero
        while world.bus.connectionsCut < 1, Instant.now - start < .seconds(10) {
            for _ in 0..<100 { _ = try stuck.socket.send(RPCRequest(id: 1, method: "bus.methods").bytes) }
            let before = Instant.now
            try other.expectPong()
            slowest = max(slowest, Instant.now - before)
        }
        #expect(world.bus.connectionsCut >= 1)
        #expect(slowest < .seconds(2))
    }

    @Test("replies to a client that has gone are forgotten")
    func goneClient() throws {
        let world = try World()
        var gone: Client? = try world.client()
        try gone?.send("fiber.node_info")
        let request = try world.delivered.request()
        gone = nil
        try eventually { world.bus.clients == 0 }
        request.answer(.result("nobody"))
        try world.client().expectPong()
        #expect(world.bus.lastFault == nil)
    }

    @Test("a second client under the name of the first gets none of its replies")
    func sameIdentity() throws {
        let world = try World()
        func named() throws -> Client {
            let socket = try Socket(world.context, .dealer)
            try socket.set(.routingID, Array("me".utf8))
            try socket.connect(world.directory.endpoint("commands"))
            return Client(socket: socket)
        }
        let first = try named()
        try first.send("fiber.node_info", id: "first")
        let request = try world.delivered.request()
        #expect(request.client == ClientIdentity(Array("me".utf8)))
        let second = try named()
        try second.send("fiber.node_info", id: "second")
        try eventually { world.bus.clients == 2 }
        request.answer(.result("for the first"))
        #expect(try first.reply().id == "first")
        #expect(try second.socket.receiveMessage() == nil)
    }
}
