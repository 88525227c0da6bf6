// HostLink: the two channels between supervisor and host (design 2.3): calls over a socket pair, events through a ring in a mapped file. Read this
// file and RingWriter.swift, RingReader.swift for the events; then Frame.swift, Messages.swift and the two ends for the calls.

import Glibc
import Linux
import Synchronization

/// `events.ring`: what the node said and the journal does not hold yet. One writer (the host) and one reader (the supervisor) map it. It survives
/// the end of either or both; only another start of the machine makes it worthless, which the boot id in its header tells.
///
/// Layout: a header page, then `capacity` bytes of records. `head` and `tail` count bytes ever written and read; a position in the file is the
/// count modulo the capacity. A record is RingRecordHeader, the bytes, and padding to 8.
public struct RingFile: ~Copyable, Sendable {
    /// Bytes of records that fit.
    public static let capacity = 16 << 20
    static let headerBytes = 4096
    private static let magic: UInt64 = 0x3130_474e_4952_424e  // "NBRING01", little-endian
    private enum Offset {
        static let magic = 0
        static let capacity = 8
        static let bootIdentity = 64
        static let head = 128
        static let tail = 192
        static let readerWaits = 256
        static let writerWaits = 320
    }

    private let mapping: Mapping
    /// The file's descriptor, to be inherited by the host.
    public let descriptor: Descriptor

    /// Opens the ring at `path`, or makes a new one (0600, its space allocated, so that a full disk cannot break a write into the mapping): where
    /// there is none, and in place of one that is of no use. That is told first; an error of `discarding` leaves it where it is. What is no file of
    /// ours is refused and left alone. The caller holds the account's lock.
    public static func open(path: String, bootIdentity: String, discarding: (RingRest) throws -> Void) throws
        -> RingFile
    {
        do throws(SystemError) { try PrivateFile.check(path) } catch {
            // Of any other error nobody knows what it hides, and a ring that is replaced takes with it what the node said.
            guard error.code == ENOENT else { throw error }
            return try create(path: path, bootIdentity: bootIdentity)
        }
        let file = try Descriptor.open(path, O_RDWR | O_NOFOLLOW)
        var status = stat()
        guard fstat(file.raw, &status) == 0 else { throw SystemError.last("fstat", path) }
        if status.st_size == off_t(headerBytes + capacity) {
            let ring = RingFile(mapping: try Mapping(file, count: headerBytes + capacity), descriptor: file)
            if ring.isRing {
                if ring.bootIdentity == bootIdentity { return ring }
                try discarding(RingRest(of: ring))
                return try create(path: path, bootIdentity: bootIdentity)
            }
        }
        // A second name for it: a link, unlike a rename, takes nobody's place.
        let kept = "\(path).unreadable-\(WallClock.microseconds)"
        guard link(path, kept) == 0 else { throw SystemError.last("link", kept) }
        try discarding(RingRest(keptAt: kept))
        return try create(path: path, bootIdentity: bootIdentity)
    }

    /// Makes a new, empty ring in place of whatever file was there.
    public static func create(path: String, bootIdentity: String) throws(SystemError) -> RingFile {
        let temporary = path + ".new"
        unlink(temporary)
        let file = try Descriptor.open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        guard fchmod(file.raw, 0o600) == 0 else { throw .last("fchmod", temporary) }
        let status = posix_fallocate(file.raw, 0, off_t(headerBytes + capacity))
        guard status == 0 else {
            unlink(temporary)
            throw SystemError(code: status, call: "fallocate", subject: path)
        }
        let ring = RingFile(mapping: try Mapping(file, count: headerBytes + capacity), descriptor: file)
        ring.initialize(bootIdentity)
        guard rename(temporary, path) == 0 else { throw .last("rename", path) }
        return ring
    }

    /// Maps a ring whose descriptor was inherited.
    public static func inherited(_ raw: Int32) throws(SystemError) -> RingFile {
        let file = Descriptor(taking: raw)
        let ring = RingFile(mapping: try Mapping(file, count: headerBytes + capacity), descriptor: file)
        guard ring.isRing else { throw SystemError(code: EINVAL, call: "open", subject: "events.ring") }
        return ring
    }

    private init(mapping: consuming Mapping, descriptor: consuming Descriptor) {
        self.mapping = mapping
        self.descriptor = descriptor
    }

    private func initialize(_ bootIdentity: String) {
        let base = mapping.bytes
        base.storeBytes(of: UInt64(RingFile.capacity), toByteOffset: Offset.capacity, as: UInt64.self)
        for (index, byte) in bootIdentity.utf8.prefix(36).enumerated() { base[Offset.bootIdentity + index] = byte }
        base.storeBytes(of: RingFile.magic, toByteOffset: Offset.magic, as: UInt64.self)
    }

    private var isRing: Bool {
        mapping.bytes.load(fromByteOffset: Offset.magic, as: UInt64.self) == RingFile.magic
            && mapping.bytes.load(fromByteOffset: Offset.capacity, as: UInt64.self) == UInt64(RingFile.capacity)
    }

    private var bootIdentity: String {
        let bytes = mapping.bytes[Offset.bootIdentity..<Offset.bootIdentity + 36].prefix { $0 != 0 }
        return String(decoding: bytes, as: UTF8.self)
    }

    // The counters live in the shared file, so they are atomics laid over its memory: aligned to 64 bytes each, initialised to zero by the new
    // file itself. Sequentially consistent where "moved, then looked whether the other waits" must not be reordered.
    var head: Counter { counter(Offset.head) }
    var tail: Counter { counter(Offset.tail) }
    var readerWaits: Counter { counter(Offset.readerWaits) }
    var writerWaits: Counter { counter(Offset.writerWaits) }

    /// Where the mapping begins; it is not empty, so it has an address.
    private var start: UnsafeMutableRawPointer { mapping.bytes.baseAddress! }

    private func counter(_ offset: Int) -> Counter {
        Counter(pointer: (start + offset).assumingMemoryBound(to: Atomic<UInt64>.self))
    }

    /// A 64-bit atomic in the mapping.
    struct Counter {
        let pointer: UnsafeMutablePointer<Atomic<UInt64>>
        func load() -> UInt64 { pointer.pointee.load(ordering: .sequentiallyConsistent) }
        func store(_ value: UInt64) { pointer.pointee.store(value, ordering: .sequentiallyConsistent) }
        func exchange(_ value: UInt64) -> UInt64 { pointer.pointee.exchange(value, ordering: .sequentiallyConsistent) }
    }

    /// Copies bytes in at a position, around the end if need be.
    func copyIn(_ bytes: UnsafeRawBufferPointer, at position: UInt64) {
        let start = Int(position % UInt64(RingFile.capacity))
        let first = min(bytes.count, RingFile.capacity - start)
        let data = self.start + RingFile.headerBytes
        guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
        memcpy(data + start, source, first)
        if first < bytes.count { memcpy(data, source + first, bytes.count - first) }
    }

    /// Copies bytes out from a position, around the end if need be.
    func copyOut(_ target: UnsafeMutableRawBufferPointer, from position: UInt64) {
        let start = Int(position % UInt64(RingFile.capacity))
        let first = min(target.count, RingFile.capacity - start)
        let data = self.start + RingFile.headerBytes
        guard let destination = target.baseAddress, !target.isEmpty else { return }
        memcpy(destination, data + start, first)
        if first < target.count { memcpy(destination + first, data, target.count - first) }
    }
}

/// What stands before each record's bytes.
struct RingRecordHeader {
    var length: UInt32
    var mark: UInt32 = RingRecordHeader.mark
    var run: Int64
    var n: Int64
    var fullSize: Int64
    var timeMicroseconds: Int64

    static let mark: UInt32 = 0x7265_636f
    static let bytes = 40

    /// Bytes a record of `length` takes in the ring.
    static func space(_ length: Int) -> UInt64 { UInt64((bytes + length + 7) & ~7) }
}
