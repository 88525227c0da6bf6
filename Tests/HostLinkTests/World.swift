import Foundation
import Glibc
import Linux
import Testing

@testable import HostLink

/// A ring in a scratch directory, with a reader on it, and writers as a host would be one: on descriptors of their own.
final class World {
    let directory: String
    let reader: RingReader
    /// A third view of the ring, to look at its counters and to write what no writer would.
    let ring: RingFile

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "ring-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        reader = try World.reader("\(directory)/events.ring")
        ring = try RingFile.inherited(dup(reader.inherited[0]))
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// A reader on the ring at `path`; `discarded` takes what a ring from another start of the machine still held.
    static func reader(_ path: String, boot: String = "this boot", discarded: (RingRest) throws -> Void) throws
        -> RingReader
    {
        RingReader(
            ring: try RingFile.open(path: path, bootIdentity: boot, discarding: discarded),
            recordWake: try WakeDescriptor(), spaceWake: try WakeDescriptor())
    }

    static func reader(_ path: String) throws -> RingReader {
        try reader(path) { Issue.record("discarded \($0)") }
    }

    func writer(run: Int64) throws -> RingWriter {
        let inherited = reader.inherited.map { dup($0) }
        return RingWriter(
            ring: try RingFile.inherited(inherited[0]), recordWake: WakeDescriptor(taking: inherited[1]),
            spaceWake: WakeDescriptor(taking: inherited[2]), run: run)
    }

    /// No host was started for a later run.
    static let highestRun: Int64 = 9

    /// What the ring holds now, without freeing its space.
    func read(limit: Int = .max) throws -> [Message] { try World.read(reader, limit: limit) }

    static func read(_ reader: RingReader, limit: Int = .max) throws -> [Message] {
        var bytes: [UInt8] = []
        var records: [RingReader.Record] = []
        try reader.read(into: &bytes, byteLimit: .max, recordLimit: limit, highestRun: highestRun) {
            records.append($0)
        }
        return records.map { Message(run: $0.run, n: $0.n, bytes: Array(bytes[$0.range]), fullSize: $0.fullSize) }
    }
}

/// A record as it came out.
struct Message: Equatable {
    var run: Int64
    var n: Int64
    var bytes: [UInt8]
    var fullSize: Int
}

extension RingWriter {
    func write(_ bytes: [UInt8], time: Int64 = 1) { bytes.withUnsafeBytes { write($0, timeMicroseconds: time) } }
}

/// Waits until a condition holds; false after a minute.
func wait(until condition: () -> Bool) -> Bool {
    let deadline = Instant.now + .seconds(60)
    while !condition() {
        guard Instant.now < deadline else { return false }
        sched_yield()
    }
    return true
}

/// The seed of this run, printed with a failure, and taken from the environment to repeat one.
let seed = ProcessInfo.processInfo.environment["NODEBUS_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0 ... .max)

/// SplitMix64: the same numbers from the same seed.
struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
