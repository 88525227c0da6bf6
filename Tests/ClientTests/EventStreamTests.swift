import Glibc
import Linux
import NodeBusClient
import Testing
import Wire
import ZeroMQ

@Suite("A stream gives every event once, whatever is lost on the way", .timeLimit(.minutes(2)))
struct EventStreamTests {
    let world: World
    init() throws { world = try World() }

    func stream(
        _ prefixes: [String] = [], since: Int64? = nil, heartbeat: Duration? = nil
    ) throws -> EventStream {
        try EventStream(
            commands: CommandClient(endpoint: world.commands, context: world.context), events: world.events,
            prefixes: prefixes, since: since, heartbeat: heartbeat, context: world.context)
    }

    /// The next `count` items, each within a few seconds.
    func items(_ stream: EventStream, _ count: Int) throws -> [EventStream.Item] {
        try (0..<count).map { _ in
            guard let item = try stream.next(timeout: .seconds(8)) else { throw TooLate() }
            return item
        }
    }

    /// The sequence numbers of the next `count` items, which must all be events.
    func seqs(_ stream: EventStream, _ count: Int) throws -> [Int64] {
        try items(stream, count).map { item in
            guard case .event(let event) = item, let seq = event.position?.seq else { throw Unexpected(item: item) }
            return seq
        }
    }

    struct Unexpected: Error { let item: EventStream.Item }

    /// Nothing more comes; heartbeats are on the wire meanwhile.
    func expectSilence(_ stream: EventStream, _ bus: FakeBus) throws {
        bus.heartbeat()
        #expect(try stream.next(timeout: .milliseconds(100)) == nil)
    }

    @Test("history first, then live, byte for byte what was said")
    func joins() throws {
        let bus = try FakeBus(world)
        for number in 1...7 { bus.say("Kind\(number % 2)", #"{ "n" : \#(number),"n":"\ud800" }"#, lost: true) }
        let stream = try stream(since: 2)
        #expect(try seqs(stream, 5) == [3, 4, 5, 6, 7])
        bus.say("Kind1", "{\"last\":\n true}")
        let item = try items(stream, 1)[0]
        let spoken = try #require(bus.journal.events.last)
        #expect(item == .event(Event(topic: spoken.topic, header: spoken.header, payload: spoken.payload)))
        try expectSilence(stream, bus)
        try bus.stop()
    }

    @Test("without a position it starts now")
    func now() throws {
        let bus = try FakeBus(world)
        bus.say("Old", lost: true)
        let stream = try stream()
        bus.say("New")
        #expect(try seqs(stream, 1) == [2])
        try expectSilence(stream, bus)
        try bus.stop()
    }

    @Test("events lost in the middle are read when the next one comes")
    func middle() throws {
        let bus = try FakeBus(world)
        let stream = try stream()
        bus.say("A")
        bus.say("A", lost: true)
        bus.say("B", lost: true)
        bus.say("A")
        bus.say("B")
        #expect(try seqs(stream, 5) == [1, 2, 3, 4, 5])
        try expectSilence(stream, bus)
        try bus.stop()
    }

    @Test("a lost tail is read at the next heartbeat")
    func tail() throws {
        let bus = try FakeBus(world)
        let stream = try stream()
        bus.say("A")
        for _ in 0..<10 { bus.say("B", lost: true) }
        bus.heartbeat()
        #expect(try seqs(stream, 11) == Array(1...11))
        try expectSilence(stream, bus)
        try bus.stop()
    }

    @Test("with a prefix, only its events, and still none lost and none twice")
    func filtered() throws {
        let bus = try FakeBus(world)
        let stream = try stream(["dev/demo/fiber/Channel"])
        bus.say("ChannelReady")
        bus.say("Other")
        bus.say("ChannelClosed", lost: true)
        bus.say("ChannelReady")
        #expect(try seqs(stream, 2) == [1, 4])
        bus.heartbeat()
        #expect(try seqs(stream, 1) == [3])
        bus.say("ChannelClosed")
        bus.say("Other", lost: true)
        #expect(try seqs(stream, 1) == [5])
        try expectSilence(stream, bus)
        try bus.stop()
    }

    @Test("without loss the journal is not read again")
    func noReads() throws {
        let bus = try FakeBus(world)
        let stream = try stream()
        let before = bus.state.withLock { $0.reads }
        for number in 0..<50 { bus.say("K\(number % 5)") }
        #expect(try seqs(stream, 50) == Array(1...50))
        try expectSilence(stream, bus)
        #expect(bus.state.withLock { $0.reads } == before)
        try bus.stop()
    }

    @Test("any mixture of loss ends in an exact copy", arguments: 0..<8)
    func mixture(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let bus = try FakeBus(world)
        let stream = try stream(since: 0)
        let count = 400
        for _ in 0..<count {
            let kind = "K\(random.next() % 6)"
            bus.say(kind, lost: random.next() % 3 == 0)
            if random.next() % 20 == 0 { bus.heartbeat() }
        }
        bus.heartbeat()
        #expect(try seqs(stream, count).sorted() == Array(1...Int64(count)), "seed \(seed)")
        try expectSilence(stream, bus)
        try bus.stop()
    }

    struct SplitMix: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var value = state
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return value ^ (value >> 31)
        }
    }

    @Test("a supervisor that is restarted is waited for, and what it said meanwhile is read")
    func restart() throws {
        let bus = try FakeBus(world)
        let stream = try stream(since: 0)
        bus.say("A")
        #expect(try seqs(stream, 1) == [1])
        try bus.stop()
        #expect(try items(stream, 1) == [.notice(.lost)])
        #expect(try stream.next(timeout: .milliseconds(50)) == nil)
        bus.say("A", lost: true)
        let second = try FakeBus(world, journal: bus.journal)
        #expect(try items(stream, 1) == [.notice(.back)])
        #expect(try seqs(stream, 1) == [2])
        second.say("A")
        #expect(try seqs(stream, 1) == [3])
        try second.stop()
    }

    @Test("three silent heartbeats are a lost supervisor")
    func silence() throws {
        let bus = try FakeBus(world)
        let stream = try stream(heartbeat: .milliseconds(50))
        #expect(try items(stream, 1) == [.notice(.lost)])
        bus.say("A")
        #expect(try items(stream, 1) == [.notice(.back)])
        #expect(try seqs(stream, 1) == [1])
        try bus.stop()
    }

    @Test("a new epoch is told, and its events are given")
    func epoch() throws {
        let bus = try FakeBus(world)
        let stream = try stream()
        bus.say("A")
        #expect(try seqs(stream, 1) == [1])
        bus.state.withLock { $0.journal.epoch = "00000002" }
        bus.say("A")
        let profile = try #require(bus.journal.profile)
        #expect(try items(stream, 1) == [.notice(.historyChanged(profile, epoch: "00000002"))])
        #expect(try seqs(stream, 1) == [2])
        try bus.stop()
    }

    @Test("events that are no longer kept are told, and the rest is given")
    func truncated() throws {
        let bus = try FakeBus(world)
        let stream = try stream()
        for _ in 0..<5 { bus.say("A", lost: true) }
        bus.state.withLock { $0.journal.oldest = 4 }
        bus.heartbeat()
        let profile = try #require(bus.journal.profile)
        #expect(try items(stream, 1) == [.notice(.truncated(profile, from: 1, to: 3))])
        #expect(try seqs(stream, 2) == [4, 5])
        try bus.stop()
    }

    @Test("a journal that cannot be read for a while is told once and read later")
    func unreadable() throws {
        let bus = try FakeBus(world)
        let stream = try stream()
        let refusal = BusError(.storage, "the disk is gone")
        bus.answer("events.read") { _ in .failure(refusal) }
        bus.say("A", lost: true)
        bus.heartbeat()
        let profile = try #require(bus.journal.profile)
        #expect(try items(stream, 1) == [.notice(.unreadable(profile, .refused(refusal)))])
        #expect(try stream.next(timeout: .milliseconds(1200)) == nil)
        bus.state.withLock { $0.answers = [:] }
        #expect(try seqs(stream, 1) == [1])
        try bus.stop()
    }

    @Test("a position the journal does not have is refused")
    func wrongPosition() throws {
        let bus = try FakeBus(world)
        for _ in 0..<5 { bus.say("A", lost: true) }
        bus.state.withLock { $0.journal.oldest = 4 }
        for (since, code) in [(9, BusError.Code.historyChanged), (1, .historyTruncated)] {
            let error = #expect(throws: ClientError.self) { try stream(since: Int64(since)) }
            guard case .refused(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(refusal.code == code)
        }
        try bus.stop()
    }

    @Test("an account that becomes active later is followed from its first word")
    func otherAccount() throws {
        let bus = try FakeBus(world)
        let stream = try stream()
        bus.say("A")
        #expect(try seqs(stream, 1) == [1])
        bus.state.withLock { $0.journal.profile = Profile("dev/alice") }
        bus.say("A")
        bus.say("A")
        #expect(try seqs(stream, 2) == [2, 3])
        try bus.stop()
    }

    @Test("heartbeats are given only to whoever names them, and events of the bus to whoever asks for them")
    func heartbeats() throws {
        let bus = try FakeBus(world)
        let stream = try stream(["bus/"])
        let naming = try self.stream(["bus/H"])
        bus.heartbeat()
        bus.state.withLock {
            $0.outgoing.append([Array("bus/SwitchStarted".utf8), Array("{}".utf8), Array("{}".utf8)])
        }
        bus.heartbeat()
        let event = Event(topic: "bus/SwitchStarted", header: Array("{}".utf8), payload: Array("{}".utf8))
        #expect(try items(stream, 1) == [.event(event)])
        guard case .event(let beat) = try items(naming, 1)[0] else { throw TooLate() }
        #expect(beat.topic == "bus/Heartbeat")
        try bus.stop()
    }

    @Test("nobody there is said within two seconds")
    func nobody() throws {
        let start = Instant.now
        #expect(throws: ClientError.noSupervisor(endpoint: world.events)) { try stream() }
        #expect(Instant.now - start < .seconds(2))
    }

    @Test("an event is one line of JSON, whatever line breaks the node put in")
    func line() {
        let event = Event(topic: "a/b", header: Array("{}".utf8), payload: Array("{\r\n\"x\":\n1}".utf8))
        #expect(
            String(decoding: event.line, as: UTF8.self) == "{\"topic\":\"a/b\",\"header\":{},\"payload\":{  \"x\": 1}}")
    }
}
