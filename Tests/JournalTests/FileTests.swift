import Foundation
import Glibc
import SQLite
import Testing
import Wire

@testable import Journal

@Suite("the journal's file") struct FileTests {
    let world: World
    init() throws { world = try World() }

    @Test("file, log and shared memory are private, also when they were not") func modes() throws {
        var journal: Journal? = try world.openInRun()
        #expect(try world.mode("journal.sqlite") == 0o600)
        #expect(try world.mode("journal.sqlite-wal") == 0o600)
        #expect(try world.mode("journal.sqlite-shm") == 0o600)
        journal = nil
        chmod(world.path, 0o644)
        journal = try world.openInRun(2)
        #expect(try world.mode("journal.sqlite") == 0o600)
        #expect(try world.mode("journal.sqlite-wal") == 0o600)
        #expect(journal?.lastRun == 2)
    }

    @Test("what a commit has answered is on disk: full durability is on") func durable() throws {
        let journal = try world.open()
        #expect(try journal.connection.integer("PRAGMA synchronous") == 2)
        #expect(try journal.connection.text("PRAGMA journal_mode") == "wal")
    }

    @Test("a journal made anew goes on above the ceiling, in an epoch of its own; one that is there does not care")
    func ceiling() throws {
        do {
            let journal = try Journal.open(path: world.path, profile: world.profile, startingAbove: 41)
            #expect(journal.isNew)
            #expect(journal.head == 41 && journal.oldest == 42)
            var intake = Intake()
            intake.append(kind: "EventsLost", payload: [:], run: 0, timeMicroseconds: 7)
            let batch = try journal.append(intake)
            #expect(batch.head == 42)
            #expect(String(decoding: batch.headers, as: UTF8.self).contains(#""seq":42,"prev":0,"#))
        }
        let reader = try world.reader()
        let page = try JSON.parse(reader.page(.init(.oldest)).json)
        #expect(page["oldest"] == 42 && page["head"] == 42 && page["next"] == 42)
        #expect(page["events"]?.elements?.count == 1)
        let early = #expect(throws: BusError.self) { try reader.page(.init(.after(7, epoch: nil))) }
        #expect(early?.code == .historyTruncated)
        let journal = try Journal.open(path: world.path, profile: world.profile, startingAbove: 1000)
        #expect(!journal.isNew)
        #expect(journal.head == 42)
        #expect(page["epoch"]?.text == journal.epoch)
        let other = try World()
        #expect(try other.open().epoch != journal.epoch)
    }

    @Test("a journal that ends below a head that it had is an older copy: it goes on above the ceiling, in a new epoch")
    func olderCopy() throws {
        var said: [String] = []
        for (ceiling, floor, head) in [(0, 0, 1), (1000, 1, 2), (1000, 3, 1001), (2000, 1001, 1002)]
            as [(Int64, Int64, Int64)]
        {
            let path = world.path
            // Without an event nothing has changed: the next opening finds the same.
            for _ in 0..<2 {
                let idle = try Journal.open(
                    path: path, profile: world.profile, startingAbove: ceiling, neverBelow: floor)
                #expect(idle.wentBack == (floor == 3))
            }
            let journal = try Journal.open(
                path: path, profile: world.profile, startingAbove: ceiling, neverBelow: floor)
            var intake = Intake()
            intake.append(kind: "Said", payload: [:], run: 0, timeMicroseconds: 7)
            #expect(try journal.append(intake).head == head)
            said.append("\(journal.epoch) \(head)")
        }
        let epochs = said.map { $0.prefix(8) }
        #expect(epochs[0] == epochs[1] && epochs[1] != epochs[2] && epochs[2] == epochs[3])
        let page = try JSON.parse(world.reader().page(.init(.oldest)).json)
        let read = page["events"]?.elements?.compactMap { event -> String? in
            guard let header = event["header"], let epoch = header["epoch"]?.text else { return nil }
            return "\(epoch) \(header["seq"]?.integer ?? 0)"
        }
        #expect(read == said)
    }

    @Test("a link in its place is refused, by writer and reader") func link() throws {
        symlink(world.directory + "/elsewhere", world.path)
        let writing = #expect(throws: JournalError.self) { _ = try world.open() }
        #expect(writing?.code == .unsafePath)
        let reading = #expect(throws: JournalError.self) { _ = try world.reader() }
        #expect(reading?.code == .unsafePath)
        #expect(access(world.directory + "/elsewhere", F_OK) != 0)
    }

    @Test("a directory in its place is refused") func directory() throws {
        mkdir(world.path, 0o700)
        let error = #expect(throws: JournalError.self) { _ = try world.open() }
        #expect(error?.code == .unsafePath)
    }

    @Test("reading makes no file") func missing() throws {
        let error = #expect(throws: JournalError.self) { _ = try world.reader() }
        #expect(error?.code == .missing)
        #expect(access(world.path, F_OK) != 0)
        let nowhere = #expect(throws: JournalError.self) {
            _ = try Journal.open(path: world.directory + "/none/journal.sqlite", profile: world.profile)
        }
        #expect(nowhere?.code == .missing)
    }

    @Test("the journal of another account is refused and left as it is") func wrongProfile() throws {
        _ = try world.openInRun().append(.of(3))
        let bytes = try Data(contentsOf: URL(fileURLWithPath: world.path))
        let other = try #require(Profile("dev/other"))
        let writing = #expect(throws: JournalError.self) { _ = try Journal.open(path: world.path, profile: other) }
        #expect(writing?.code == .wrongProfile)
        #expect(writing?.description.contains("dev/demo, not of dev/other") == true)
        let reading = #expect(throws: JournalError.self) { _ = try JournalReader(path: world.path, profile: other) }
        #expect(reading?.code == .wrongProfile)
        #expect(try Data(contentsOf: URL(fileURLWithPath: world.path)) == bytes)
    }

    @Test("a journal of a later schema is refused and left as it is") func newer() throws {
        _ = try world.open()
        try world.execute("PRAGMA user_version = 2")
        let error = #expect(throws: JournalError.self) { _ = try world.open() }
        #expect(error?.code == .newerSchema)
        #expect(throws: JournalError.self) { _ = try world.reader() }
        try world.execute("PRAGMA user_version = 1")
        #expect(try world.open().head == 0)
    }

    @Test("somebody else's database is refused and left as it is") func foreign() throws {
        try world.execute("CREATE TABLE mine(x)")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: world.path))
        let error = #expect(throws: JournalError.self) { _ = try world.open() }
        #expect(error?.code == .damaged)
        #expect(try Data(contentsOf: URL(fileURLWithPath: world.path)) == bytes)
    }

    @Test("what is no database is refused and left as it is") func noDatabase() throws {
        let text = Data(String(repeating: "these are not the bytes of a database ", count: 200).utf8)
        try text.write(to: URL(fileURLWithPath: world.path))
        let error = #expect(throws: JournalError.self) { _ = try world.open() }
        #expect(error?.code == .damaged)
        #expect(error?.isRetryable == false)
        #expect(try Data(contentsOf: URL(fileURLWithPath: world.path)) == text)
    }

    @Test(
        "a journal that contradicts itself is refused",
        arguments: [
            "UPDATE journal SET head = 9", "DELETE FROM journal", "DELETE FROM epochs",
            "DELETE FROM topics WHERE id = 1",
            "UPDATE topics SET last = 99", "UPDATE topics SET source = 'Not A Source'", "DROP TABLE events",
        ])
    func contradiction(sql: String) throws {
        let journal = try world.openInRun()
        _ = try journal.append(.of(3, kind: "A"))
        _ = try journal.append(.of(3, kind: "B", from: 4))
        try world.execute(sql)
        let error = #expect(throws: JournalError.self) { _ = try world.open() }
        #expect(error?.code == .damaged, "\(String(describing: error))")
    }

    @Test("a file that loses its pages is reported, and nothing is shown that was not there") func shredded() throws {
        var journal: Journal? = try world.openInRun()
        _ = try journal?.append(.of(2000))
        journal = nil
        let url = URL(fileURLWithPath: world.path)
        let bytes = try Data(contentsOf: url)
        try (bytes.prefix(4096) + Data(repeating: 0xa5, count: bytes.count - 4096)).write(to: url)
        let error = #expect(throws: JournalError.self) { _ = try world.open() }
        #expect(error?.code == .damaged)
    }

    @Test("a held database is busy after the timeout, and takes the same intake later") func busy() throws {
        let journal = try world.openInRun(busyTimeoutMilliseconds: 1)
        let other = try Connection(path: world.path)
        try other.execute("BEGIN IMMEDIATE")
        let error = #expect(throws: JournalError.self) { _ = try journal.append(.of(3)) }
        #expect(error?.code == .busy)
        #expect(error?.isRetryable == true)
        #expect(journal.head == 0)
        try other.execute("COMMIT")
        #expect(try journal.append(.of(3)).messages().map(\.header.seq) == [1, 2, 3])
    }

    @Test("a full disk loses nothing: the same intake goes in once there is room, as if it had been the first time")
    func full() throws {
        let journal = try world.openInRun()
        _ = try journal.append(.of(3))
        var big = Intake()
        for n in 4..<40 { big.say(#"{"kind":"K\#(n)","x":"\#(String(repeating: "x", count: 9000))"}"#, n: Int64(n)) }
        big.append(kind: "NodeExited", payload: [:], run: 1, timeMicroseconds: 1)
        let pages = try #require(try journal.connection.integer("PRAGMA page_count"))
        try journal.connection.execute("PRAGMA max_page_count = \(pages + 20)")
        for _ in 0..<2 {
            let error = #expect(throws: JournalError.self) { _ = try journal.append(big, beginsRun: 2, endsRun: true) }
            #expect(error?.code == .storage)
            #expect(error?.isRetryable == true)
            #expect(journal.head == 3)
            #expect(journal.ringPosition == RingPosition(run: 1, n: 3))
            #expect(journal.lastRun == 1)
            #expect(journal.openRun == 1)
            #expect(try world.reader().page(.init(.oldest)).count == 3)
        }
        try journal.connection.execute("PRAGMA max_page_count = 1000000")
        let messages = try journal.append(big, beginsRun: 2, endsRun: true).messages()
        #expect(messages.map(\.header.seq) == Array(4...40))
        #expect(messages.allSatisfy { $0.header.prev == 0 })
        #expect(journal.openRun == 2)
        #expect(try world.reader().page(.init(.oldest)).count == 40)
    }

    @Test("a row above the head is damage, not something to write over") func rowAbove() throws {
        let journal = try world.openInRun()
        _ = try journal.append(.of(3))
        try world.execute("INSERT INTO events VALUES(4, 0, 1, 1, 3, x'7b7d')")
        let error = #expect(throws: JournalError.self) { _ = try journal.append(.of(2, from: 4)) }
        #expect(error?.code == .damaged)
        #expect(journal.head == 3)
    }

    @Test("a writer that is killed between two steps leaves a whole journal", arguments: [0, 1, 2])
    func copies(step: Int) throws {
        // What a kill leaves is the files as they are at that moment: a copy of them, opened elsewhere, is that journal.
        let journal = try world.openInRun()
        _ = try journal.append(.of(5))
        switch step {
        case 0: break
        case 1: try journal.connection.execute("BEGIN IMMEDIATE; UPDATE journal SET head = 77; DELETE FROM events")
        default: try journal.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        }
        let copy = try World()
        for name in ["journal.sqlite", "journal.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: world.directory + "/" + name, toPath: copy.directory + "/" + name)
        }
        let again = try copy.open()
        #expect(again.head == 5)
        #expect(again.ringPosition == RingPosition(run: 1, n: 5))
        #expect(again.openRun == 1)
        #expect(try again.append(.of(7)).messages().map(\.header.seq) == [6, 7])
        if step == 1 { try journal.connection.execute("ROLLBACK") }
    }
}
