import Bus
import Linux
import Testing
import Wire
import ZeroMQ

@Suite("The bus goes down in order and in time")
struct ShutdownTests {
    @Test("what was handed over is published before the end, announcements too")
    func flushed() throws {
        let world = try World { $0.eventSendHighWaterMark = 100_000 }
        var limits = SocketLimits()
        limits.receiveHighWaterMark = 100_000
        let subscriber = try world.subscriber(["testnet/", "bus/ShuttingDown"], limits: limits)
        for first in stride(from: Int64(1), to: 20_000, by: 1000) {
            world.bus.publish(try world.batch(first, count: 1000))
        }
        world.bus.announce(kind: "ShuttingDown", payload: [:])
        #expect(world.bus.shutDown(within: .seconds(5)))
        for expected in 1...Int64(20_000) {
            let payload = try subscriber.next()[2]
            guard payload == Array("{\"n\":\(expected)}".utf8) else {
                Issue.record("expected \(expected), got \(String(decoding: payload, as: UTF8.self))")
                return
            }
        }
        #expect(try subscriber.next()[0] == Array("bus/ShuttingDown".utf8))
    }

    @Test("answers given before are sent, and whoever still waits is told what can have happened")
    func answers() throws {
        let world = try World()
        let client = try world.client()
        for number in 0..<3 { try client.send("fiber.node_info", id: .integer(Int64(number))) }
        let answered = try world.delivered.request(2)
        #expect(try world.delivered.request(1).claim())
        answered.answer(.result("in time"))
        #expect(world.bus.shutDown(within: .seconds(5)))
        var replies: [Int64: RPCReply] = [:]
        for _ in 0..<3 {
            let (id, reply) = try client.reply()
            replies[try #require(id.integer)] = reply
        }
        #expect(replies[0]?.error?.code == .shuttingDown)
        #expect(replies[1]?.error?.code == .outcomeUnknown)
        #expect(replies[2] == .result("in time"))
        #expect(!(try world.delivered.request(0)).claim())
    }

    @Test("after the end nothing is taken and nothing waits, and the endpoints are free")
    func afterwards() throws {
        let world = try World()
        let client = try world.client()
        try client.send("fiber.node_info")
        let request = try world.delivered.request()
        #expect(world.bus.shutDown(within: .seconds(5)))
        #expect(!world.directory.exists("events") && !world.directory.exists("commands"))
        let start = Instant.now
        #expect(world.bus.shutDown(within: .seconds(5)))
        #expect(!world.bus.publish(try world.batch(1)))
        world.bus.announce(kind: "Late", payload: [:])
        request.answer(.result("late"))
        #expect(Instant.now - start < .seconds(1))
        let settings = BusSettings(
            eventEndpoints: [world.directory.endpoint("events")],
            commandEndpoints: [world.directory.endpoint("commands")])
        let next = try Bus(settings: settings, status: { [:] }, version: [:]) { $0.answer(.result([:])) }
        // The client has connected again by itself.
        _ = try client.reply()
        try client.expectPong()
        #expect(next.shutDown(within: .seconds(5)))
    }

    @Test("a subscriber and a client that do not read cannot hold the end up")
    func stuck() throws {
        let world = try World { $0.replySendHighWaterMark = 5 }
        var limits = SocketLimits()
        limits.receiveHighWaterMark = 1
        limits.sendHighWaterMark = 5000
        let subscriber = try world.subscriber(["testnet/"], limits: limits)
        let client = try world.client(limits: limits)
        for number in 0..<4000 { try client.send("bus.methods", id: .integer(Int64(number))) }
        for first in stride(from: Int64(1), to: 20_000, by: 1000) {
            world.bus.publish(try world.batch(first, count: 1000, bytes: 1000))
        }
        _ = try client.reply()
        let start = Instant.now
        #expect(world.bus.shutDown(within: .milliseconds(500)))
        #expect(Instant.now - start < .seconds(3))
        #expect(try subscriber.receiveMessage() != nil)
    }

    @Test("a bus that is let go ends by itself")
    func letGo() throws {
        let scratch = try Scratch()
        do {
            let settings = BusSettings(
                eventEndpoints: [scratch.endpoint("events")], commandEndpoints: [scratch.endpoint("commands")])
            _ = try Bus(settings: settings, status: { [:] }, version: [:]) { $0.answer(.result([:])) }
        }
        try eventually { !scratch.exists("events") && !scratch.exists("commands") }
    }
}
