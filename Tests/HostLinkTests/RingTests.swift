import Foundation
import Glibc
import Linux
import Testing

@testable import HostLink

@Suite("The ring hands over what was written, once and in order")
struct RingTests {
    @Test("records of any size come out as they went in, around the end of the ring too")
    func wrapAround() throws {
        let world = try World()
        let writer = try world.writer(run: 7)
        var random = Generator(state: seed)
        var written: Int64 = 0
        var total = 0
        // Some sizes that end just before, at and behind the end of the file are among them.
        while total < RingFile.capacity * 5 / 4 {
            let messages = (0..<Int.random(in: 1...8, using: &random)).map { _ in
                let size = Int.random(in: 0...3, using: &random) == 0 ? 1 << 20 : 5000
                return [UInt8](
                    repeating: .random(in: 0...255, using: &random), count: .random(in: 0...size, using: &random))
            }
            for message in messages { writer.write(message) }
            let read = try world.read()
            let expected = messages.enumerated().map {
                Message(run: 7, n: written + 1 + Int64($0), bytes: $1, fullSize: $1.count)
            }
            try #require(read == expected, "NODEBUS_SEED=\(seed)")
            world.reader.release()
            written += Int64(messages.count)
            total += messages.reduce(0) { $0 + $1.count + RingRecordHeader.bytes }
        }
    }

    @Test("a time travels with its record")
    func time() throws {
        let world = try World()
        try world.writer(run: 1).write([1], time: 1_764_464_523_123_456)
        var bytes: [UInt8] = []
        try world.reader.read(into: &bytes, byteLimit: 1, recordLimit: 1, highestRun: 1) {
            #expect($0.timeMicroseconds == 1_764_464_523_123_456)
        }
        #expect(bytes == [1])
    }

    @Test("a read ends at its limits, and goes on from there")
    func limits() throws {
        let world = try World()
        let writer = try world.writer(run: 1)
        for byte in UInt8(1)...6 { writer.write([UInt8](repeating: byte, count: 100)) }
        #expect(try world.read(limit: 2).map(\.n) == [1, 2])
        var bytes: [UInt8] = []
        var numbers: [Int64] = []
        try world.reader.read(into: &bytes, byteLimit: 150, recordLimit: .max, highestRun: 1) { numbers.append($0.n) }
        #expect(numbers == [3, 4])
        #expect(try world.read().map(\.n) == [5, 6])
        #expect(world.reader.isEmpty)
    }

    @Test("a message above 8 MiB is cut, and its size told; one of 8 MiB is whole")
    func cut() throws {
        let world = try World()
        let writer = try world.writer(run: 1)
        writer.write([UInt8](repeating: 1, count: RingWriter.messageLimit))
        #expect(try world.read()[0].bytes.count == RingWriter.messageLimit)
        world.reader.release()
        writer.write([UInt8](repeating: 2, count: RingWriter.messageLimit + 1))
        let message = try world.read()[0]
        #expect(message.bytes == [UInt8](repeating: 2, count: RingWriter.cutBytes))
        #expect(message.fullSize == RingWriter.messageLimit + 1)
    }

    @Test("a writer waits while the ring is full, and not a record is lost")
    func full() throws {
        let world = try World()
        let count = 20  // of 1 MiB each, more than fit
        let writer = try world.writer(run: 1)
        let finished = Lock(false)
        try startThread("writer") {
            for number in 0..<count { writer.write([UInt8](repeating: UInt8(number), count: 1 << 20)) }
            finished.withLock { $0 = true }
        }
        #expect(wait { world.ring.writerWaits.load() == 1 })
        #expect(finished.withLock { $0 } == false)
        #expect(world.ring.head.load() - world.ring.tail.load() <= UInt64(RingFile.capacity))

        var read: [Message] = []
        let isWhole = wait {
            guard let more = try? world.read() else { return true }
            read += more
            world.reader.release()
            return read.count >= count
        }
        #expect(isWhole)
        #expect(read.map(\.n) == (1...Int64(count)).map { $0 })
        let expected = (0..<count).map { [UInt8](repeating: UInt8($0), count: 1 << 20) }
        #expect((read.map(\.bytes) == expected) as Bool)  // without printing 20 MiB
        #expect(wait { finished.withLock { $0 } })
    }

    @Test("what was copied out and not freed is read again after rewind, and by whoever opens the ring next")
    func again() throws {
        let world = try World()
        let writer = try world.writer(run: 1)
        for byte in UInt8(1)...4 { writer.write([byte]) }
        #expect(try world.read(limit: 2).map(\.n) == [1, 2])
        world.reader.release()
        #expect(try world.read().map(\.n) == [3, 4])
        world.reader.rewind()
        #expect(try world.read().map(\.n) == [3, 4])

        let next = try World.reader("\(world.directory)/events.ring")
        #expect(try World.read(next).map(\.n) == [3, 4])
    }

    @Test("a record that its writer did not finish is not there, and the next run writes over it")
    func unfinished() throws {
        let world = try World()
        let writer = try world.writer(run: 1)
        writer.write([1])
        // What a kill in the middle of a write leaves behind: bytes past the head.
        let torn = [UInt8](repeating: 0xff, count: 1000)
        torn.withUnsafeBytes { world.ring.copyIn($0, at: world.ring.head.load()) }
        try world.writer(run: 2).write([2])
        #expect(
            try world.read() == [
                Message(run: 1, n: 1, bytes: [1], fullSize: 1), Message(run: 2, n: 1, bytes: [2], fullSize: 1),
            ])
    }

    @Test("a sleeping reader is woken by the next record, and one that has something to read does not sleep")
    func wake() throws {
        let world = try World()
        let writer = try world.writer(run: 1)
        #expect(world.reader.sleepIfEmpty())
        var entry = pollfd(fd: world.reader.wakeDescriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 0) == 0)
        writer.write([1])
        #expect(poll(&entry, 1, 10_000) == 1)
        #expect(world.reader.sleepIfEmpty() == false)
        _ = try world.read()
        #expect(world.reader.sleepIfEmpty())
        #expect(poll(&entry, 1, 0) == 0)
    }
}

@Suite("A ring is opened for what it is")
struct RingFileTests {
    /// The records that were discarded with the ring that was there (nil: there was none to discard), and a reader on the ring that is.
    private func open(_ path: String, boot: String = "this boot") throws
        -> (discarded: [RingRest.Place]?, reader: RingReader)
    {
        var discarded: [RingRest.Place]?
        let reader = try World.reader(path, boot: boot) { discarded = $0.records ?? [] }
        return (discarded, reader)
    }

    @Test("one from another start of the machine is kept when what it holds cannot be told")
    func kept() throws {
        let world = try World()
        try world.writer(run: 1).write([1])
        #expect(throws: CancellationError.self) {
            _ = try World.reader("\(world.directory)/events.ring", boot: "the next boot") { _ in
                throw CancellationError()
            }
        }
        #expect(try World.read(World.reader("\(world.directory)/events.ring")).count == 1)
    }

    @Test("a symbolic link in its place is refused, and what it leads to is left alone")
    func link() throws {
        let world = try World()
        let precious = "\(world.directory)/precious"
        let path = "\(world.directory)/other.ring"
        _ = FileManager.default.createFile(atPath: precious, contents: Data("precious".utf8))
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: precious)
        #expect(throws: SystemError.self) { try World.reader(path) }
        #expect(FileManager.default.contents(atPath: precious) == Data("precious".utf8))
    }

    @Test("a new one is empty, allocated and for its owner alone")
    func new() throws {
        let world = try World()
        var status = stat()
        #expect(stat("\(world.directory)/events.ring", &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o600)
        #expect(status.st_size == off_t(RingFile.headerBytes + RingFile.capacity))
        #expect(Int(status.st_blocks) * 512 >= RingFile.capacity, "a full disk must not break a write into the mapping")
        #expect(world.reader.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.directory) == ["events.ring"])
    }

    @Test("one from another start of the machine is made anew, and what it held is told")
    func otherBoot() throws {
        let world = try World()
        let writer = try world.writer(run: 1)
        writer.write([UInt8](repeating: 1, count: 100))
        writer.write([])
        let (discarded, reader) = try open("\(world.directory)/events.ring", boot: "the next boot")
        #expect(discarded == [RingRest.Place(run: 1, n: 1), RingRest.Place(run: 1, n: 2)])
        #expect(reader.isEmpty)
        #expect(try open("\(world.directory)/events.ring", boot: "the next boot").discarded == nil)
    }

    @Test(
        "of one whose pages came to the disk at different times nothing is believed",
        arguments: [("head", UInt64(1) << 63), ("head", 8), ("tail", .max), ("tail", 8)])
    func torn(counter: String, value: UInt64) throws {
        let world = try World()
        try world.writer(run: 1).write([1, 2, 3])
        (counter == "head" ? world.ring.head : world.ring.tail).store(value)
        var rest: RingRest?
        let reader = try World.reader("\(world.directory)/events.ring", boot: "the next boot") { rest = $0 }
        #expect(reader.isEmpty)
        #expect(try #require(rest).records == nil)
    }

    @Test("a file that is no ring is kept beside the new one, which is made only once that is told")
    func noRing() throws {
        let world = try World()
        let path = "\(world.directory)/other.ring"
        for content in [Data("a ring?".utf8), Data(count: RingFile.headerBytes + RingFile.capacity)] {
            try content.write(to: URL(filePath: path))
            #expect(throws: CancellationError.self) {
                _ = try World.reader(path, discarded: { _ in throw CancellationError() })
            }
            #expect(try Data(contentsOf: URL(filePath: path)) == content)
            var rest: RingRest?
            let reader = try World.reader(path) { rest = $0 }
            let kept = try #require(rest?.keptAt)
            #expect(try Data(contentsOf: URL(filePath: kept)) == content)
            #expect(reader.isEmpty)
            #expect(try World.reader(path).isEmpty)
        }
    }

    @Test("what is no file is refused and left alone", arguments: ["directory", "fifo"])
    func noFile(what: String) throws {
        let world = try World()
        let path = "\(world.directory)/other.ring"
        #expect((what == "fifo" ? mkfifo(path, 0o600) : mkdir(path, 0o700)) == 0)
        var (before, after) = (stat(), stat())
        #expect(lstat(path, &before) == 0)
        #expect(throws: SystemError.self) { _ = try World.reader(path) }
        #expect(lstat(path, &after) == 0 && before.st_ino == after.st_ino)
    }

    @Test("a descriptor that is no ring is refused")
    func inherited() throws {
        let world = try World()
        let path = "\(world.directory)/zeros"
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(count: RingFile.headerBytes + RingFile.capacity))
        #expect(throws: SystemError.self) { _ = try RingFile.inherited(Glibc.open(path, O_RDWR)) }
    }
}

@Suite("Nonsense in a ring is refused, whatever it is, and read by nobody")
struct NonsenseTests {
    /// What a host that has lost its mind could write.
    enum Madness: CaseIterable {
        case headBehindTail, headBeyondRing, headUnaligned, noMark, tooLong, longerThanHead, runZero, numberZero,
            sizeBelowLength
        case cutHeader, runOfNoHost
    }

    @Test("it is named and nothing is taken", arguments: Madness.allCases)
    func nonsense(madness: Madness) throws {
        let world = try World()
        var header = RingRecordHeader(length: 8, run: 1, n: 1, fullSize: 8, timeMicroseconds: 1)
        var head = RingRecordHeader.space(8)
        switch madness {
        case .headBehindTail: head = UInt64.max & ~7
        case .headBeyondRing: head = UInt64(RingFile.capacity) + 8
        case .headUnaligned: head += 1
        case .noMark: header.mark = 0
        case .tooLong: header.length = UInt32.max
        case .longerThanHead: header.length = 16
        case .runZero: header.run = 0
        case .numberZero: header.n = 0
        case .sizeBelowLength: header.fullSize = 7
        case .cutHeader: head = 8
        case .runOfNoHost: header.run = World.highestRun + 1
        }
        withUnsafeBytes(of: header) { world.ring.copyIn($0, at: 0) }
        world.ring.head.store(head)
        #expect(throws: RingReader.Nonsense.self) { try world.read() }
        #expect(world.ring.tail.load() == 0)
    }

    @Test("a record out of its order is refused", arguments: [(1, 1), (1, 3), (2, 2), (0, 1)] as [(Int64, Int64)])
    func order(run: Int64, n: Int64) throws {
        let world = try World()
        try world.writer(run: 1).write([1])
        let header = RingRecordHeader(length: 0, run: run, n: n, fullSize: 0, timeMicroseconds: 1)
        let head = world.ring.head.load()
        withUnsafeBytes(of: header) { world.ring.copyIn($0, at: head) }
        world.ring.head.store(head + RingRecordHeader.space(0))
        #expect(throws: RingReader.Nonsense.self) { try world.read() }
    }

    @Test("random bytes never do harm")
    func noise() throws {
        var random = Generator(state: seed)
        let world = try World()
        for _ in 0..<200 {
            let noise = (0..<256).map { _ in UInt8.random(in: 0...255, using: &random) }
            noise.withUnsafeBytes { world.ring.copyIn($0, at: 0) }
            world.ring.head.store(UInt64.random(in: 0...64, using: &random) * 8)
            // It reads or it refuses; what it reads lies within what was written.
            let read = (try? world.read()) ?? []
            #expect(read.reduce(0) { $0 + $1.bytes.count } <= 512, "NODEBUS_SEED=\(seed)")
            world.reader.rewind()
        }
    }
}
