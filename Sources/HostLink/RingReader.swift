import Glibc
import Linux

/// The supervisor's end of the ring. One thread reads: copy records out, commit them, then `release` the space.
public final class RingReader: @unchecked Sendable {
    // Safe: used by one thread at a time; handed from the thread that opens an account to the journal thread before any record is read there.
    private let ring: RingFile
    private let spaceWake: WakeDescriptor
    private let recordWake: WakeDescriptor
    /// How far records were copied out; `tail` in the file is how far they are journaled.
    private var position: UInt64
    private var last: (run: Int64, n: Int64)?

    /// One record, its bytes copied out already.
    public struct Record: Sendable, Equatable {
        /// The node's start it belongs to.
        public let run: Int64
        /// Its place in that run, from 1.
        public let n: Int64
        /// Where its bytes stand in the buffer they were copied to.
        public let range: Range<Int>
        /// The message's own size; larger than the range when it was cut.
        public let fullSize: Int
        /// When the node said it, microseconds since 1970.
        public let timeMicroseconds: Int64
    }

    /// The host wrote what cannot be a record. It is to be ended, and the ring made anew.
    public struct Nonsense: Error, Sendable, Equatable, CustomStringConvertible {
        /// What was found.
        public let description: String
    }

    /// Takes over the ring and both wake descriptors.
    public init(ring: consuming RingFile, recordWake: consuming WakeDescriptor, spaceWake: consuming WakeDescriptor) {
        self.ring = ring
        self.recordWake = recordWake
        self.spaceWake = spaceWake
        position = self.ring.tail.load()
    }

    /// The descriptors a host inherits: ring, record wake, space wake.
    public var inherited: [Int32] { [ring.descriptor.raw, recordWake.raw, spaceWake.raw] }

    /// The number to poll for POLLIN while `sleepIfEmpty` answered true.
    public var wakeDescriptor: Int32 { recordWake.raw }

    /// Whether every record written so far was copied out.
    public var isEmpty: Bool { ring.head.load() == position }

    /// Copies out what the ring holds now, up to about `byteLimit` bytes (at least one record), in order. A record of a run above `highestRun`,
    /// which no host was started for, is nonsense.
    public func read(
        into bytes: inout [UInt8], byteLimit: Int, recordLimit: Int, highestRun: Int64, _ each: (Record) -> Void
    ) throws(Nonsense) {
        let head = ring.head.load()
        guard head >= position, head - position <= UInt64(RingFile.capacity), head & 7 == 0 else {
            throw Nonsense(description: "the ring's head is out of range")
        }
        let start = bytes.count
        var count = 0
        while position < head, count < recordLimit, bytes.count - start < byteLimit {
            each(try copyRecord(&bytes, head, highestRun))
            count += 1
        }
    }

    private func copyRecord(_ bytes: inout [UInt8], _ head: UInt64, _ highestRun: Int64) throws(Nonsense) -> Record {
        var header = RingRecordHeader(length: 0, mark: 0, run: 0, n: 0, fullSize: 0, timeMicroseconds: 0)
        guard head - position >= UInt64(RingRecordHeader.bytes) else { throw Nonsense(description: "a record is cut") }
        // Copied before it is looked at: the other side may write into the mapping at any time.
        withUnsafeMutableBytes(of: &header) { ring.copyOut($0, from: position) }
        let length = Int(header.length)
        let space = RingRecordHeader.space(length)
        guard header.mark == RingRecordHeader.mark, length <= RingWriter.messageLimit, space <= head - position,
            header.fullSize >= Int64(length), header.run > 0, header.run <= highestRun, header.n > 0
        else { throw Nonsense(description: "a record's header is out of range") }
        if let last, !(header.run == last.run && header.n == last.n + 1), !(header.run > last.run && header.n == 1) {
            throw Nonsense(description: "record \(header.run).\(header.n) follows \(last.run).\(last.n)")
        }
        last = (header.run, header.n)
        let start = bytes.count
        bytes += [UInt8](repeating: 0, count: length)
        bytes.withUnsafeMutableBytes {
            ring.copyOut(
                UnsafeMutableRawBufferPointer(rebasing: $0[start...]), from: position + UInt64(RingRecordHeader.bytes))
        }
        position += space
        return Record(
            run: header.run, n: header.n, range: start..<start + length, fullSize: Int(header.fullSize),
            timeMicroseconds: header.timeMicroseconds)
    }

    /// Frees the space of everything copied out so far: it is journaled.
    public func release() {
        guard ring.tail.load() != position else { return }
        ring.tail.store(position)
        if ring.writerWaits.exchange(0) != 0 { spaceWake.wake() }
    }

    /// Steps back to what is not journaled, after a commit that failed.
    public func rewind() {
        position = ring.tail.load()
        last = nil
    }

    /// Asks to be woken by the next record. True: the ring is empty, poll `wakeDescriptor`. False: there is something to read already.
    public func sleepIfEmpty() -> Bool {
        recordWake.clear()
        ring.readerWaits.store(1)
        guard isEmpty else {
            ring.readerWaits.store(0)
            return false
        }
        return true
    }
}
