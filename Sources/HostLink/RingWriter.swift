import Glibc
import Linux

/// The host's end of the ring. One thread at a time writes.
public final class RingWriter: @unchecked Sendable {
    // Safe: `head` and `n` are touched only inside `write`, which its owner serialises (the host holds a lock around it).
    private let ring: RingFile
    private let recordWake: WakeDescriptor
    private let spaceWake: WakeDescriptor
    private let run: Int64
    private var n: Int64 = 0
    private var head: UInt64

    /// Longest native message kept whole; of a longer one the first `cutBytes` are kept, with its size.
    public static let messageLimit = 8 << 20
    /// What is kept of a message above the limit.
    public static let cutBytes = 64 << 10

    /// Takes over the ring and both wake descriptors for one run of the node.
    public init(
        ring: consuming RingFile, recordWake: consuming WakeDescriptor, spaceWake: consuming WakeDescriptor, run: Int64
    ) {
        self.ring = ring
        self.recordWake = recordWake
        self.spaceWake = spaceWake
        self.run = run
        head = self.ring.head.load()
    }

    /// Copies one native message in. When it returns, the message survives the end of this process and of the supervisor. It waits while the
    /// ring is full, for as long as that takes: the stall is the journal's, and dropping would lose an event that the node thinks was told.
    public func write(_ message: UnsafeRawBufferPointer, timeMicroseconds: Int64) {
        let kept = message.count > RingWriter.messageLimit ? RingWriter.cutBytes : message.count
        let space = RingRecordHeader.space(kept)
        waitForSpace(space)
        n += 1
        let header = RingRecordHeader(
            length: UInt32(kept), run: run, n: n, fullSize: Int64(message.count), timeMicroseconds: timeMicroseconds)
        withUnsafeBytes(of: header) { ring.copyIn($0, at: head) }
        ring.copyIn(UnsafeRawBufferPointer(rebasing: message[0..<kept]), at: head + UInt64(RingRecordHeader.bytes))
        head += space
        ring.head.store(head)
        if ring.readerWaits.exchange(0) != 0 { recordWake.wake() }
    }

    private func waitForSpace(_ space: UInt64) {
        func isFree() -> Bool {
            head &- ring.tail.load() + space <= UInt64(RingFile.capacity)
        }
        while !isFree() {
            ring.writerWaits.store(1)
            guard !isFree() else { break }
            var entry = pollfd(fd: spaceWake.raw, events: Int16(POLLIN), revents: 0)
            // A second at the most, since a reader that died between moving the tail and waking us wakes nobody.
            if poll(&entry, 1, 1000) > 0 { spaceWake.clear() }
        }
    }
}
