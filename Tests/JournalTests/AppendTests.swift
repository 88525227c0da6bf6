import Foundation
import Journal
import Testing
import Wire

@Suite("appending to the journal") struct AppendTests {
    let world: World

    init() throws { world = try World() }

    @Test("a new journal is empty, private, and has an epoch") func new() throws {
        let journal = try world.open()
        #expect(journal.head == 0)
        #expect(journal.oldest == 1)
        #expect(journal.ringPosition == RingPosition(run: 0, n: 0))
        #expect(journal.lastRun == 0)
        #expect(journal.openRun == nil)
        #expect(journal.epoch.wholeMatch(of: /[0-9a-f]{8}/) != nil)
        #expect(try World().open().epoch != journal.epoch)
    }

    @Test("seq rises by one over all topics, prev is the last seq of the same topic") func sequence() throws {
        let journal = try world.open()
        var first = Intake()
        first.append(kind: "NodeStarting", payload: ["attempt": 1], run: 1, timeMicroseconds: 5)
        first.say(#"{"kind":"NetworkStarted"}"#, n: 1)
        first.say(#"{"kind":"PeerConnected","peer":"bob"}"#, n: 2)
        first.say(#"{"kind":"PeerConnected","peer":"carol"}"#, n: 3)
        let one = try journal.append(first, beginsRun: 1)
        let two = try journal.append(.of(2, from: 4))

        let messages = try one.messages() + two.messages()
        #expect(messages.map(\.header.seq) == [1, 2, 3, 4, 5, 6])
        #expect(messages.map(\.header.prev) == [0, 0, 0, 3, 4, 5])
        #expect(messages.map(\.header.run) == [1, 1, 1, 1, 1, 1])
        #expect(
            messages.map(\.topic).prefix(3) == [
                "dev/demo/supervisor/NodeStarting", "dev/demo/fiber/NetworkStarted", "dev/demo/fiber/PeerConnected",
            ])
        #expect(messages[0].text == #"{"attempt":1}"#)
        #expect(messages[3].text == #"{"kind":"PeerConnected","peer":"carol"}"#)
        #expect(messages.allSatisfy { $0.header.epoch == journal.epoch && "\($0.header.topic)" == $0.topic })
        #expect(messages[2].header.timeMicroseconds == 1_796_000_000_123_458)
        #expect(one.head == 4)
        #expect(two.head == 6)
        #expect(journal.head == 6)
        #expect(journal.oldest == 1)
        #expect(two.profile == world.profile)
    }

    @Test("what the ring position covers is skipped, within an intake too") func duplicates() throws {
        let journal = try world.openInRun()
        _ = try journal.append(.of(3))
        #expect(journal.ringPosition == RingPosition(run: 1, n: 3))
        #expect(try journal.append(.of(3)).events.isEmpty)
        var mixed = Intake.of(4)
        mixed.say(#"{"kind":"Late"}"#, n: 4)
        mixed.append(kind: "NodeReady", payload: [:], run: 1, timeMicroseconds: 1)
        #expect(try journal.append(mixed).messages().map(\.header.seq) == [4, 5])
        #expect(journal.head == 5)
    }

    @Test("a later run counts its records from one again") func secondRun() throws {
        let journal = try world.openInRun()
        _ = try journal.append(.of(9))
        #expect(try journal.append(.of(2, run: 2), beginsRun: 2).events.count == 2)
        #expect(journal.ringPosition == RingPosition(run: 2, n: 2))
        #expect(try journal.append(.of(12)).events.isEmpty, "a record of run 1 after those of run 2 is old")
    }

    @Test("everything is there after opening again") func reopen() throws {
        var journal: Journal? = try world.openInRun()
        _ = try journal?.append(.of(3))
        let epoch = journal?.epoch
        journal = nil
        let again = try world.open()
        #expect(again.epoch == epoch)
        #expect(again.head == 3)
        #expect(again.oldest == 1)
        #expect(again.ringPosition == RingPosition(run: 1, n: 3))
        #expect(again.lastRun == 1)
        #expect(again.openRun == 1)
        let batch = try again.append(.of(5))
        #expect(try batch.messages().map(\.header.prev) == [3, 4])
    }

    @Test("a run is open from its start to its end") func runs() throws {
        let journal = try world.open()
        _ = try journal.append(Intake(), beginsRun: 1)
        #expect(journal.openRun == 1)
        var exited = Intake()
        exited.append(kind: "NodeExited", payload: [:], run: 1, timeMicroseconds: 1)
        _ = try journal.append(exited, endsRun: true)
        #expect(journal.openRun == nil)
        #expect(journal.lastRun == 1)
        _ = try journal.append(Intake(), beginsRun: 2, endsRun: true)
        #expect(journal.openRun == 2)
    }

    @Test("two spellings of one character are two kinds, a NUL does not cut one short") func spellings() throws {
        var journal: Journal? = try world.openInRun()
        var intake = Intake()
        let kinds = ["caf\u{e9}", "cafe\u{301}", "a\u{0}b", "a\u{0}c", "a"]
        for (index, kind) in kinds.enumerated() {
            intake.say((["kind": .string(kind)] as JSON).encoded, n: Int64(index + 1))
        }
        let messages = try #require(try journal?.append(intake)).messages()
        #expect(Set(messages.map(\.topic)).count == 5)
        journal = nil
        var again = Intake()
        for (index, kind) in kinds.enumerated() {
            again.say((["kind": .string(kind)] as JSON).encoded, n: Int64(index + 6))
        }
        let later = try world.open().append(again).messages()
        #expect(later.map(\.topic) == messages.map(\.topic))
        #expect(later.map(\.header.prev) == [1, 2, 3, 4, 5])
    }

    @Test(
        "a record of a run that never began is refused, and changes nothing",
        arguments: [(0, 1), (3, 1), (1, 0), (-1, 1)])
    func foreignRun(run: Int64, n: Int64) throws {
        let journal = try world.openInRun()
        var intake = Intake.of(2)
        intake.say(#"{"kind":"Odd"}"#, n: n, run: run)
        let error = #expect(throws: JournalError.self) { _ = try journal.append(intake) }
        #expect(error?.code == .invalidRecord)
        #expect(journal.head == 0)
        #expect(try journal.append(.of(2)).head == 2)
    }
}
