import Bus
import Glibc
import Linux
import Testing
import Wire
import ZeroMQ

@Suite("Events go out in order, three frames each, and heartbeats tell the head")
struct EventTests {
    private let topic = "testnet/alice/fiber/Thing"

    @Test("an event is its topic, header and payload, byte for byte")
    func frames() throws {
        let world = try World()
        let subscriber = try world.subscriber(["testnet/"])
        world.bus.publish(try world.batch(1))
        let message = try subscriber.next()
        #expect(message.count == 3)
        #expect(message[0] == Array(topic.utf8))
        #expect(EventHeader(parsing: message[1])?.seq == 1)
        #expect(message[1] == EventHeader(parsing: message[1])?.bytes)
        #expect(message[2] == Array(#"{"n":1}"#.utf8))
    }

    @Test("a hundred thousand events in uneven batches arrive complete and in order")
    func storm() throws {
        // Room for all of it: a subscriber that is slower than the storm is another test's affair.
        let world = try World { $0.eventSendHighWaterMark = 200_000 }
        var limits = SocketLimits()
        limits.receiveHighWaterMark = 200_000
        let subscriber = try world.subscriber([topic], limits: limits)
        var seq: Int64 = 1
        while seq <= 100_000 {
            let count = min(Int64.random(in: 1...3000), 100_001 - seq)
            world.bus.publish(try world.batch(seq, count: Int(count)))
            seq += count
        }
        for expected in 1...Int64(100_000) {
            let payload = try subscriber.next()[2]
            guard payload == Array("{\"n\":\(expected)}".utf8) else {
                Issue.record("expected \(expected), got \(String(decoding: payload, as: UTF8.self))")
                return
            }
        }
    }

    @Test("a subscriber gets the kinds it chose by prefix, and only those")
    func prefixes() throws {
        let world = try World()
        let subscriber = try world.subscriber(["testnet/alice/fiber/Channel"])
        for (seq, kind) in ["ChannelReady", "PeerConnected", "ChannelClosed"].enumerated() {
            world.bus.publish(try world.batch(Int64(seq + 1), kind: kind))
        }
        #expect(try subscriber.next()[0] == Array("testnet/alice/fiber/ChannelReady".utf8))
        #expect(try subscriber.next()[0] == Array("testnet/alice/fiber/ChannelClosed".utf8))
    }

    @Test("the heartbeat of a journal tells its epoch, run and last published seq")
    func journalHeartbeat() throws {
        let world = try World(heartbeat: .milliseconds(20))
        let name = "testnet/alice/supervisor/Heartbeat"
        let subscriber = try world.subscriber([name])
        let profile = try #require(world.profile)
        world.bus.openJournal(profile: profile, epoch: "5f0c2a9e", head: 41, run: 7)
        var (header, payload) = try subscriber.next(on: name)
        #expect(payload == ["epoch": "5f0c2a9e", "head": 41])
        let members = ["v", "epoch", "head", "time", "network", "account", "source", "kind", "run"]
        #expect(header.members?.map(\.key) == members)
        #expect(header["v"] == 1 && header["head"] == 41 && header["run"] == 7)
        #expect(header["network"] == "testnet" && header["account"] == "alice")
        #expect(header["source"] == "supervisor" && header["kind"] == "Heartbeat")
        #expect(header["time"]?.text.flatMap(Timestamp.parse) != nil)

        world.bus.publish(try world.batch(42, count: 3))
        try eventually {
            (header, payload) = try subscriber.next(on: name)
            return payload["head"] == 44
        }
        // A new run of the same journal, by a caller that read its head too early; then a new epoch.
        world.bus.openJournal(profile: profile, epoch: "5f0c2a9e", head: 43, run: 8)
        try eventually {
            (header, payload) = try subscriber.next(on: name)
            return header["run"] == 8
        }
        #expect(payload["head"] == 44)
        world.bus.openJournal(profile: profile, epoch: "0badcafe", head: 7, run: 8)
        try eventually { try subscriber.next(on: name).payload == ["epoch": "0badcafe", "head": 7] }

        world.bus.closeJournal(profile: profile)
        let bus = try world.subscriber(["bus/Heartbeat"])
        _ = try bus.next(on: "bus/Heartbeat")
        while try subscriber.receiveMessage() != nil {}
        for _ in 0..<3 { _ = try bus.next(on: "bus/Heartbeat") }
        #expect(try subscriber.receiveMessage() == nil)
    }

    @Test("the heartbeat of the bus tells the state, and the head of the active journal")
    func busHeartbeat() throws {
        let world = try World(heartbeat: .milliseconds(20))
        let subscriber = try world.subscriber(["bus/"])
        let (header, payload) = try subscriber.next(on: "bus/Heartbeat")
        #expect(header.members?.map(\.key) == ["v", "time", "source", "kind"])
        #expect(header["source"] == "bus" && header["kind"] == "Heartbeat")
        #expect(
            payload == ["state": "ready", "network": "testnet", "account": "alice", "interval_ms": 20])
        world.bus.openJournal(profile: try #require(world.profile), epoch: "5f0c2a9e", head: 3, run: 1)
        try eventually {
            let payload = try subscriber.next(on: "bus/Heartbeat").payload
            return payload["epoch"] == "5f0c2a9e" && payload["head"] == 3
        }
    }

    @Test("heartbeats come at their interval, during a storm of events too")
    func interval() throws {
        let world = try World(heartbeat: .milliseconds(50))
        let subscriber = try world.subscriber(["bus/Heartbeat"])
        let start = Instant.now
        var seq: Int64 = 1
        var beats = 0
        while beats < 10, Instant.now - start < .seconds(10) {
            world.bus.publish(try world.batch(seq, count: 1000))
            seq += 1000
            while try subscriber.receiveMessage() != nil { beats += 1 }
        }
        let taken = Instant.now - start
        #expect(beats >= 10)
        // Not faster than asked for, and not starved (50 ms each, on a machine that may be busy).
        #expect(taken >= .milliseconds(400) && taken < .seconds(5))
    }

    @Test("an announcement keeps its place among the events")
    func announce() throws {
        let world = try World()
        let subscriber = try world.subscriber(["testnet/", "bus/Switch"])
        world.bus.publish(try world.batch(1))
        world.bus.announce(kind: "SwitchStarted", payload: ["to": "dev/demo"])
        world.bus.publish(try world.batch(2))
        #expect(try subscriber.next()[2] == Array(#"{"n":1}"#.utf8))
        let message = try subscriber.next()
        #expect(message[0] == Array("bus/SwitchStarted".utf8))
        #expect(try JSON.parse(message[1])["kind"] == "SwitchStarted")
        #expect(message[2] == Array(#"{"to":"dev/demo"}"#.utf8))
        #expect(try subscriber.next()[2] == Array(#"{"n":2}"#.utf8))
    }

    @Test("a subscriber that does not read loses events and slows nobody, and the head tells it what it missed")
    func slowSubscriber() throws {
        let world = try World(heartbeat: .milliseconds(20)) { $0.eventSendHighWaterMark = 10 }
        world.bus.openJournal(profile: try #require(world.profile), epoch: "5f0c2a9e", head: 0, run: 1)
        var limits = SocketLimits()
        limits.receiveHighWaterMark = 1
        let sleeper = try world.subscriber(["testnet/alice/"], limits: limits)
        let payload = 4096
        for seq in stride(from: Int64(1), to: 5000, by: 100) {
            world.bus.publish(try world.batch(seq, count: 100, bytes: payload))
        }
        var seen: Int64 = 0
        let start = Instant.now
        try eventually {
            let message = try sleeper.next()
            if let seq = EventHeader(parsing: message[1])?.seq { seen = seq }
            let head = try JSON.parse(message[1])["head"]
            return head == 5000
        }
        #expect(Instant.now - start < .seconds(2))
        #expect(seen < 5000)
        #expect(world.bus.lastFault == nil)
    }

    @Test("publish waits while too much is queued, and gives up with the head still told")
    func boundedQueue() throws {
        // The bus thread is held up in `deliver`, as it must never be, so that nothing leaves the queue.
        let scratch = try Scratch()
        let gate = Lock(true)
        var settings = BusSettings(
            eventEndpoints: [scratch.endpoint("events")], commandEndpoints: [scratch.endpoint("commands")],
            heartbeat: .milliseconds(20))
        settings.maxQueuedEventBytes = 10_000
        settings.publishTimeout = .milliseconds(200)
        let bus = try Bus(settings: settings, status: { ["state": "ready"] }, version: [:]) { request in
            _ = try? eventually { gate.withLock { !$0 } }
            request.answer(.result([:]))
        }
        defer { bus.shutDown(within: .seconds(1)) }
        let world = try World()
        let profile = try #require(world.profile)
        let subscriber = try Socket(world.context, .sub)
        try subscriber.set(.subscribe, Array("testnet/alice/supervisor/".utf8))
        try subscriber.connect(scratch.endpoint("events"))
        bus.openJournal(profile: profile, epoch: "5f0c2a9e", head: 0, run: 1)
        _ = try subscriber.next()

        let client = try Socket(world.context, .dealer)
        try client.connect(scratch.endpoint("commands"))
        try client.send(RPCRequest(id: 1, method: "node.start").bytes)
        var seq: Int64 = 1
        let deadline = Instant.now + .seconds(10)
        var start = Instant.now
        while Instant.now < deadline {
            start = Instant.now
            guard bus.publish(try world.batch(seq, bytes: 5000)) else { break }
            seq += 1
        }
        #expect(Instant.now - start >= .milliseconds(200))
        #expect(bus.batchesDropped == 1)
        gate.withLock { $0 = false }
        try eventually { try JSON.parse(try subscriber.next()[1])["head"] == .integer(seq) }
        #expect(bus.publish(try world.batch(seq + 1)))
    }

    @Test("commands are answered during a storm of events, and events go out during one of commands")
    func fairness() throws {
        let world = try World()
        let bus = world.bus
        let isOver = Lock(false)
        let published = Lock<Int64>(0)
        let batches = try (0..<20).map { try world.batch(Int64($0 * 1000 + 1), count: 1000) }
        try startThread("storm") {
            while !isOver.withLock({ $0 }) {
                for batch in batches where bus.publish(batch) { published.withLock { $0 += 1000 } }
            }
        }
        defer { isOver.withLock { $0 = true } }
        let client = try world.client()
        let busy = try world.client()
        var slowest = Duration.zero
        let before = published.withLock { $0 }
        for _ in 0..<200 {
            for _ in 0..<50 { _ = try busy.socket.send(RPCRequest(id: 1, method: "bus.ping").bytes) }
            while try busy.socket.receiveMessage() != nil {}
            let start = Instant.now
            try client.expectPong()
            slowest = max(slowest, Instant.now - start)
        }
        #expect(slowest < .seconds(2))
        #expect(published.withLock { $0 } > before + 10_000)
    }

    @Test("many threads may publish, announce and answer at once")
    func threads() throws {
        let world = try World()
        let subscriber = try world.subscriber(["bus/Count"])
        let client = try world.client()
        for number in 0..<100 { try client.send("fiber.node_info", id: .integer(Int64(number))) }
        _ = try world.delivered.request(99)
        let requests = world.delivered.all
        let bus = world.bus
        for thread in 0..<4 {
            try startThread("test-\(thread)") {
                for index in stride(from: thread, to: 100, by: 4) {
                    bus.announce(kind: "Count", payload: .integer(Int64(index)))
                    // Twice from two threads: one of them wins.
                    requests[index].answer(.result(.integer(Int64(thread))))
                    requests[99 - index].answer(.result("other"))
                }
            }
        }
        var counts: Set<[UInt8]> = []
        for _ in 0..<100 { counts.insert(try subscriber.next()[2]) }
        #expect(counts.count == 100)
        var ids: Set<Int64> = []
        for _ in 0..<100 { ids.insert(try #require(try client.reply().id.integer)) }
        #expect(ids.count == 100)
        try client.expectPong()
    }
}
