import Foundation
import Journal
import Synchronization
import Testing
import Wire

@Suite("reading the journal in pages") struct ReaderTests {
    let world: World
    init() throws { world = try World() }

    private func body(_ page: JournalReader.Page) throws -> JSON { try JSON.parse(page.json) }

    private func seqs(_ page: JournalReader.Page) throws -> [Int64] {
        try #require(try body(page)["events"]?.elements).compactMap { $0["header"]?["seq"]?.integer }
    }

    @Test("an event reads the same live and replayed, byte for byte") func sameBytes() throws {
        let journal = try world.open()
        var intake = Intake()
        intake.append(kind: "NodeStarting", payload: ["attempt": 1], run: 1, timeMicroseconds: 3)
        intake.say(" {\"kind\":\"Odd \\\"kind\\\" é\"}\n", n: 1)
        intake.say([0xff], n: 2)
        intake.say([1, 2, 3], n: 3, fullSize: 1 << 24)
        intake.say(#"{"kind":"Big","x":"\#(String(repeating: "x", count: 1 << 20))"}"#, n: 4)
        let batches = [try journal.append(intake, beginsRun: 1), try journal.append(.of(20, from: 5))]
        let page = try world.reader().page(.init(.oldest))
        let expected =
            #"{"events":["# + batches.flatMap { $0.asRead() }.joined(separator: ",")
            + #"],"next":25,"head":25,"oldest":1,"epoch":"\#(journal.epoch)"}"#
        #expect(String(decoding: page.json, as: UTF8.self) == expected)
        #expect(page.count == 25)
        #expect(page.isLast)
        _ = try body(page)
    }

    @Test("pages follow each other without a hole, whatever the limit", arguments: [1, 7, 99, 100, 101, 5000, 0, -5])
    func paging(limit: Int) throws {
        let journal = try world.openInRun()
        _ = try journal.append(.of(100))
        let reader = try world.reader()
        var seen: [Int64] = []
        var position = JournalReader.Position.after(0, epoch: journal.epoch)
        while true {
            let page = try reader.page(.init(position, limit: limit))
            seen += try seqs(page)
            #expect(page.count <= max(1, limit))
            #expect(page.head == 100)
            if page.isLast { break }
            position = .after(page.next, epoch: journal.epoch)
        }
        #expect(seen == Array(1...100))
    }

    @Test("a page ends before 1 MiB; an event that is larger by itself is a page of its own") func pageBytes() throws {
        let journal = try world.openInRun()
        var intake = Intake()
        let sizes = [(1 << 20) - 30, 10, 400_000, 400_000, 400_000, 1]
        for (index, size) in sizes.enumerated() {
            intake.say(#"{"kind":"Big","x":"\#(String(repeating: "x", count: size))"}"#, n: Int64(index + 1))
        }
        _ = try journal.append(intake)
        let reader = try world.reader()
        var pages: [[Int64]] = []
        var next: Int64 = 0
        repeat {
            let page = try reader.page(.init(.after(next, epoch: nil), limit: .max))
            pages.append(try seqs(page))
            #expect(page.count == 1 || page.json.count < (1 << 20) + 200)
            next = page.next
        } while next < 6
        #expect(pages == [[1], [2, 3, 4], [5, 6]])
    }

    @Test("only the kinds asked for; a page looks at 20,000 rows and can be empty") func kinds() throws {
        let journal = try world.openInRun()
        _ = try journal.append(.of(20_005, kind: "Common"))
        _ = try journal.append(.of(3, kind: "Rare", from: 20_006))
        _ = try journal.append(.of(2, kind: "Common", from: 20_009))
        let reader = try world.reader()
        let first = try reader.page(.init(.oldest, kinds: ["Rare", "Unheard"]))
        #expect(first.isEmpty)
        #expect(!first.isLast)
        #expect(first.next == 20_000)
        let second = try reader.page(.init(.after(first.next, epoch: nil), kinds: ["Rare", "Unheard"]))
        #expect(try seqs(second) == [20_006, 20_007, 20_008])
        #expect(second.next == 20_010)
        #expect(second.isLast)
        let one = try reader.page(.init(.after(first.next, epoch: nil), limit: 1, kinds: ["Rare"]))
        #expect(try seqs(one) == [20_006])
        #expect(one.next == 20_006)
        #expect(try reader.page(.init(.oldest, kinds: [])).isEmpty)
    }

    @Test("an empty journal has its oldest one above its head; from now is its end") func empty() throws {
        let journal = try world.open()
        let reader = try world.reader()
        let text = #"{"events":[],"next":0,"head":0,"oldest":1,"epoch":"\#(journal.epoch)"}"#
        for position in [JournalReader.Position.oldest, .now, .after(0, epoch: nil)] {
            #expect(String(decoding: try reader.page(.init(position)).json, as: UTF8.self) == text)
        }
        #expect(try reader.head() == 0)
        _ = try journal.append(Intake(), beginsRun: 1)
        _ = try journal.append(.of(4))
        #expect(try reader.head() == 4)
        let now = try reader.page(.init(.now))
        #expect(now.isEmpty)
        #expect(now.next == 4)
        let end = try reader.page(.init(.after(4, epoch: journal.epoch)))
        #expect(end.isEmpty)
        #expect(end.isLast)
    }

    @Test("a position that is not of this history is refused, with where the journal stands") func changed() throws {
        let journal = try world.openInRun()
        _ = try journal.append(.of(4))
        let reader = try world.reader()
        let positions: [JournalReader.Position] = [
            .after(5, epoch: nil), .after(.max, epoch: journal.epoch), .after(4, epoch: "00000000"),
            .after(0, epoch: ""),
        ]
        for position in positions {
            let error = #expect(throws: BusError.self) { _ = try reader.page(.init(position)) }
            #expect(error?.code == .historyChanged)
            #expect(error?.data == [.init("oldest", 1), .init("head", 4), .init("epoch", .string(journal.epoch))])
        }
        #expect(try reader.page(.init(.oldest)).count == 4, "a refusal leaves the reader usable")
    }

    @Test("a position older than what is kept is refused, never moved") func truncated() throws {
        let journal = try world.openInRun()
        _ = try journal.append(.of(10))
        try world.trim(through: 6)
        let reader = try world.reader()
        let error = #expect(throws: BusError.self) { _ = try reader.page(.init(.after(5, epoch: journal.epoch))) }
        #expect(error?.code == .historyTruncated)
        #expect(error?.data == [.init("oldest", 7), .init("head", 10), .init("epoch", .string(journal.epoch))])
        #expect(try seqs(reader.page(.init(.after(6, epoch: journal.epoch)))) == [7, 8, 9, 10])
        #expect(try seqs(reader.page(.init(.oldest))) == [7, 8, 9, 10])
        #expect(try world.open().oldest == 7)
        try world.trim(through: 10)
        let all = try reader.page(.init(.oldest))
        #expect(String(decoding: all.json, as: UTF8.self).contains(#""next":10,"head":10,"oldest":11"#))
        let again = try world.open()
        #expect(again.oldest == 11)
        #expect(try again.append(.of(1, from: 11)).messages().map(\.header.prev) == [10], "prev outlives the purge")
    }

    @Test("events of an earlier epoch keep their header") func epochs() throws {
        let journal = try world.openInRun()
        let old = try journal.append(.of(2))
        try world.execute("INSERT INTO epochs VALUES(3, 'cafe0123')")
        let again = try world.open()
        #expect(again.epoch == "cafe0123")
        let new = try again.append(.of(2, from: 3))
        let page = try world.reader().page(.init(.oldest))
        let text = String(decoding: page.json, as: UTF8.self)
        for event in old.asRead() + new.asRead() { #expect(text.contains(event)) }
        #expect(text.hasSuffix(#""epoch":"cafe0123"}"#))
    }

    @Test("a reader beside a busy writer sees whole batches, in order") func concurrent() async throws {
        // writer: append 7 | append 7 | append 7 …
        // reader:     page | page | page …          every page ends on a multiple of 7, or at its limit
        let journal = try world.openInRun()
        let (path, profile, epoch) = (world.path, world.profile, journal.epoch)
        let total: Int64 = 7 * 300
        let reading = Task.detached {
            let reader = try JournalReader(path: path, profile: profile)
            var seen: [Int64] = []
            var next: Int64 = 0
            let deadline = ContinuousClock.now + .seconds(60)
            while next < total, ContinuousClock.now < deadline {
                let page = try reader.page(.init(.after(next, epoch: epoch), limit: 100))
                let events = try #require(try JSON.parse(page.json)["events"]?.elements)
                seen += events.compactMap { $0["header"]?["seq"]?.integer }
                #expect(page.head % 7 == 0)
                next = page.next
                if page.isEmpty { await Task.yield() }
            }
            return seen
        }
        for batch in 0..<total / 7 { _ = try journal.append(.of(7, from: batch * 7 + 1)) }
        #expect(try await reading.value == Array(1...total))
    }
}
