import Glibc
import Linux
import Testing

/// Runs `body` with another descriptor in the place of stderr. One at a time, since there is one stderr.
private func withErrors<Result>(_ raw: Int32, _ body: () -> Result) -> Result {
    let kept = dup(2)
    defer {
        dup2(kept, 2)
        close(kept)
    }
    dup2(raw, 2)
    return body()
}

@Suite("standard streams", .serialized) struct StandardStreamTests {
    // A byte that nobody else writes: tests that run meanwhile have the same stderr.
    private let line = [UInt8](repeating: 0x01, count: 100)

    @Test("a line for a reader that does not read is dropped, and for one that reads again it is written")
    func unread() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let taken = withErrors(ends[1]) {
            var count = 0
            while count < 10_000, StandardStream.errors.offer(line) { count += 1 }
            return count
        }
        #expect(taken > 0 && taken < 10_000)
        var room = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(ends[0], &room, room.count)
        try #require(room.prefix(count).count { $0 == 0x01 } == taken * line.count)
        #expect(withErrors(ends[1]) { StandardStream.errors.offer(line) })
    }

    @Test("a line for a reader that is gone, or for a full disk, is dropped") func gone() throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        #expect(!withErrors(ends[1]) { StandardStream.errors.offer(line) })
        close(ends[1])
        let full = open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        #expect(!withErrors(full) { StandardStream.errors.offer(line) })
        close(full)
    }
}
