import Linux
import Testing
import Wire
import ZeroMQ

@testable import Bus

@Suite("A caller is answered by its deadline, and told what can have happened")
struct DeadlineTests {
    @Test("a request that nobody claimed had not started, and cannot start any more")
    func notStarted() throws {
        let world = try World()
        let client = try world.client()
        let start = Instant.now
        let error = try #require(try client.call("fiber.pay", ["amount": "1"], timeout: 50).error)
        let taken = Instant.now - start
        #expect(taken >= .milliseconds(50) && taken < .seconds(2))
        #expect(error.code == .timeout)
        #expect(error.data.contains(.init("outcome", "not_started")))
        #expect(error.isRetryable)
        let request = try world.delivered.request()
        #expect(!request.claim())
        request.answer(.result("too late"))
        try client.expectPong()
    }

    @Test("one that was claimed has an unknown outcome, and what tells is named")
    func unknown() throws {
        let world = try World()
        let client = try world.client()
        try client.send("fiber.pay", ["amount": "1"], timeout: 300)
        #expect(try world.delivered.request().claim())
        let error = try #require(try client.reply().reply.error)
        #expect(error.code == .timeout)
        #expect(error.data.contains(.init("outcome", "unknown")))
        #expect(error.data.contains(.init("find", "fiber.get_payment with the hash")))
        #expect(!error.isRetryable)
        try world.delivered.request().answer(.result("too late"))
        try client.expectPong()
    }

    @Test("without timeout_ms the method's own time applies, or else that of all calls")
    func defaults() throws {
        let world = try World {
            $0.callTimeout = .milliseconds(40)
            $0.methodTimeouts = ["node.start": .seconds(100)]
        }
        let client = try world.client()
        let before = Instant.now
        try client.send("node.start")
        #expect(try world.delivered.request().deadline >= before + .seconds(100))
        #expect(try client.call("node.stop", id: 2).error?.code == .timeout)
    }

    @Test("claim and deadline race: the caller's outcome agrees with who won, every time")
    func race() throws {
        let world = try World()
        let client = try world.client()
        for number in 0..<200 {
            try client.send("fiber.node_info", id: .integer(Int64(number)), timeout: Int64.random(in: 1...3))
            let request = try world.delivered.request(number)
            let end = Instant.now + .microseconds(Int64.random(in: 500...3000))
            while Instant.now < end {}
            let claimed = request.claim()
            let (id, reply) = try client.reply()
            #expect(id == .integer(Int64(number)))
            let outcome: JSON = claimed ? "unknown" : "not_started"
            #expect(reply.error?.data.contains(.init("outcome", outcome)) == true)
        }
    }

    @Test("answer and deadline race: one reply, never two")
    func answerRace() throws {
        let world = try World()
        let client = try world.client()
        for number in 0..<200 {
            try client.send("fiber.node_info", id: .integer(Int64(number)), timeout: 1)
            let request = try world.delivered.request(number)
            let end = Instant.now + .microseconds(Int64.random(in: 0...1500))
            while Instant.now < end {}
            request.answer(.result("in time"))
            let (id, reply) = try client.reply()
            #expect(id == .integer(Int64(number)))
            #expect(reply == .result("in time") || reply.error?.code == .timeout)
        }
        // A second reply would come before this one's.
        try client.expectPong()
    }

    @Test("deadlines pass in their order, whatever order the requests came in")
    func order() throws {
        let world = try World()
        let client = try world.client()
        let times: [Int64] = [400, 100, 300, 200]
        for time in times { try client.send("fiber.node_info", id: .integer(time), timeout: time) }
        for time in times.sorted() { #expect(try client.reply().id == .integer(time)) }
    }

    @Test("past the limit of a client it is overloaded, others are served, and there is room after a reply")
    func clientLimit() throws {
        let world = try World { $0.maxInFlightPerClient = 3 }
        let client = try world.client()
        for number in 0..<3 { try client.send("fiber.node_info", id: .integer(Int64(number))) }
        let error = try #require(try client.call("fiber.node_info", id: 9).error)
        #expect(error.code == .overloaded && error.isRetryable)
        try client.expectPong()
        let other = try world.client()
        try other.send("fiber.node_info")
        try world.delivered.request(3).answer(.result("other"))
        #expect(try other.reply().reply == .result("other"))
        try world.delivered.request(0).answer(.result("first"))
        #expect(try client.reply().reply == .result("first"))
        try client.send("fiber.node_info", id: 10)
        try world.delivered.request(4).answer(.result("again"))
        #expect(try client.reply().id == 10)
    }

    @Test("past the limits of all clients, by number or bytes, everyone is overloaded", arguments: [true, false])
    func overallLimit(byNumber: Bool) throws {
        let world = try World {
            if byNumber { $0.maxInFlight = 2 } else { $0.maxInFlightBytes = 200 }
        }
        let busy = [try world.client(), try world.client()]
        for client in busy { try client.send("fiber.node_info", timeout: 3_600_000) }
        let client = try world.client()
        if byNumber {
            _ = try world.delivered.request(1)
        } else {
            _ = try world.delivered.request(0)
            let pay: JSON = ["amount": .string(String(repeating: "0", count: 200) + "1")]
            #expect(try client.call("fiber.pay", pay).error?.code == .overloaded)
        }
        if byNumber { #expect(try client.call("fiber.node_info").error?.code == .overloaded) }
        try client.expectPong()
    }

    @Test("65,536 pending requests are cheap, and the heap shrinks with them")
    func manyPending() throws {
        let inbox = try Inbox(byteLimit: 1)
        var table = InFlight(BusSettings(eventEndpoints: [], commandEndpoints: []))
        let base = Instant.now
        var deadlines: [UInt64: Instant] = [:]
        for number in UInt64(0)..<65536 {
            let deadline = base + .milliseconds(Int64.random(in: 0...100_000))
            deadlines[number] = deadline
            table.insert(request(number, deadline, inbox))
        }
        #expect(table.refusal(ClientIdentity([200]), size: 1)?.code == .overloaded)
        for number in deadlines.keys.shuffled().prefix(60000) {
            #expect(table.remove(number) != nil)
            deadlines[number] = nil
        }
        #expect(table.count == deadlines.count)
        #expect(table.heapCount <= 2 * table.count)
        #expect(table.refusal(ClientIdentity([200]), size: 1) == nil)
        var now = base
        while !deadlines.isEmpty {
            now = now + .milliseconds(997)
            let due = table.takeDue(now)
            #expect(due.map(\.deadline) == due.map(\.deadline).sorted())
            #expect(Set(due.map(\.number)) == Set(deadlines.filter { $0.value <= now }.keys))
            for request in due {
                #expect(table.remove(request.number) != nil)
                deadlines[request.number] = nil
            }
        }
        #expect(table.count == 0)
        #expect(table.nextDeadline == nil)
    }

    @Test("an answer that is on its way is not overtaken by the deadline, and the right to answer goes once")
    func oneAnswer() throws {
        let inbox = try Inbox(byteLimit: 1)
        let answered = request(1, .now, inbox)
        answered.answer(.result([:]))
        #expect(answered.giveUp() == nil)
        #expect(!answered.claim())
        let claimed = request(2, .now, inbox)
        #expect(claimed.claim())
        #expect(claimed.giveUp() == .unknown)
        claimed.answer(.result([:]))
        let queued = request(3, .now, inbox)
        #expect(queued.giveUp() == .notStarted)
        #expect(queued.giveUp() == nil)
        #expect(inbox.takeReplies().map(\.number) == [1])
    }

    private func request(_ number: UInt64, _ deadline: Instant, _ inbox: Inbox) -> PendingRequest {
        PendingRequest(
            number: number, request: RPCRequest(id: 1, method: "fiber.node_info"), parameters: [:],
            description: World.hosted[1], deadline: deadline, client: ClientIdentity([UInt8(number % 100)]),
            envelope: [], size: 10, inbox: inbox)
    }
}
