import Foundation
import Linux
import Testing

@testable import FiberRuntime

@Suite struct FragileWorkTests {
    private let directory = NSTemporaryDirectory() + "nodebus-fragile-\(UUID().uuidString)"
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func write(_ name: String, _ count: Int) throws {
        let path = directory + "/" + name
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(repeating: 0x61, count: count).write(to: URL(fileURLWithPath: path))
    }

    private func remove() { try? FileManager.default.removeItem(atPath: directory) }

    @Test("a key that was plaintext is fragile until it is encrypted, one that is cut in the middle too")
    func key() throws {
        defer { remove() }
        try write("ckb/key", 64)
        let work = FragileWork(dataDirectory: directory)
        #expect(work.isUnderWay(start))
        try write("ckb/key", 12)
        #expect(work.isUnderWay(start))
        try write("ckb/key", 77)
        #expect(!work.isUnderWay(start))
    }

    @Test("a key that was encrypted, or is missing, is none")
    func noKey() throws {
        defer { remove() }
        #expect(!FragileWork(dataDirectory: directory).isUnderWay(start))
        try write("ckb/key", 77)
        #expect(!FragileWork(dataDirectory: directory).isUnderWay(start))
    }

    @Test("a store is fragile for a second after it was seen to change")
    func store() throws {
        defer { remove() }
        try write("fiber/store/data.sqlite", 100)
        var work = FragileWork(dataDirectory: directory)
        work.look(start)
        #expect(!work.isUnderWay(start), "nothing has changed yet")
        try write("fiber/store/data.sqlite", 200)
        work.look(start)
        #expect(work.isUnderWay(start))
        #expect(work.isUnderWay(start + .milliseconds(999)))
        work.look(start + .milliseconds(999))
        #expect(!work.isUnderWay(start + .seconds(1)))
    }
}
