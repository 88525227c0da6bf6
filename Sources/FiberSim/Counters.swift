import Glibc
import Linux
import Synchronization

/// How many events of one data directory were offered to the callback and came back from it, in a mapped file: what is
/// stored there is in the kernel's page cache and survives the death of the process, kill -9 included.
///
/// `<database_prefix>/sim-counters`, 4,096 bytes, unsigned 64-bit little-endian fields:
///
/// | offset | field |
/// |---|---|
/// | 0 | magic, the bytes `FIBRSIM1` |
/// | 8 | offered: raised by one before each callback |
/// | 16 | number: the last running number (`number`) given to an artificial event |
/// | 24, 32, 40 | slot 0: returned, hash, check |
/// | 48, 56, 64 | slot 1: returned, hash, check |
///
/// A slot is whole when check = returned XOR hash XOR magic. The two are written in turn, so one is always whole; of
/// two whole ones the greater `returned` counts. `hash` is the running CRC-32 of zlib over every returned event, in
/// order, each as its length (32 bits, little-endian) and its bytes without the NUL, starting from 0. In Python, over
/// what a journal holds:
///
///     for event in events: crc = zlib.crc32(struct.pack("<I", len(event)) + event, crc)
///
/// `returned` is raised after the callback has returned. A kill between the two leaves it one less than what the
/// program took over, with `offered` one more than `returned` (and so does a kill inside the callback: only the program
/// knows whether it has that last event). The counters go on over restarts. Events of the fault `ten-threads` are
/// counted after all ten are back; those of `after-stop` are not.
final class Counters: @unchecked Sendable {
    // Safe: every field is an atomic in shared memory; only the delivery thread writes.
    private let base: UnsafeMutableRawPointer

    private static let size = 4096
    /// `FIBRSIM1` as a little-endian number.
    static let magic: UInt64 = 0x314d_4953_5242_4946

    /// What a reader sees.
    struct Reading: Sendable {
        var offered: UInt64 = 0
        var returned: UInt64 = 0
        var hash: UInt64 = 0
    }

    /// Maps the counters of a data directory, made when they are missing.
    init(path: String) throws(SystemError) {
        let file = try Descriptor.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        var information = stat()
        guard fstat(file.raw, &information) == 0 else { throw .last("fstat", path) }
        guard ftruncate(file.raw, off_t(Self.size)) == 0 else { throw .last("ftruncate", path) }
        guard let mapped = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, file.raw, 0), mapped != MAP_FAILED
        else { throw .last("mmap", path) }
        base = mapped
        if load(0) == 0 && load(8) == 0 { store(0, Self.magic) }
        guard load(0) == Self.magic else {
            munmap(base, Self.size)
            throw SystemError(code: EINVAL, call: "counters of the simulator", subject: path)
        }
    }

    deinit { munmap(base, Self.size) }

    /// An event is about to be handed to the callback.
    func offer() { store(8, load(8) &+ 1) }

    /// The next running number for an artificial event.
    func takeNumber() -> UInt64 {
        let number = load(16) &+ 1
        store(16, number)
        return number
    }

    /// The callback for this event has returned.
    func record(returned event: [UInt8]) {
        let (reading, slot) = newest
        let returned = reading.returned &+ 1
        let hash = UInt64(
            event.withUnsafeBytes { bytes in
                withUnsafeBytes(of: UInt32(truncatingIfNeeded: bytes.count).littleEndian) { length in
                    CRC32.update(CRC32.update(UInt32(truncatingIfNeeded: reading.hash), length), bytes)
                }
            })
        let offset = 24 + 24 * (1 - slot)
        // Not whole while it is being written: with check 0 it would be whole only for returned XOR hash = magic.
        store(offset + 16, 0)
        store(offset, returned)
        store(offset + 8, hash)
        store(offset + 16, returned ^ hash ^ Self.magic)
    }

    /// The counters as they are.
    var reading: Reading { newest.reading }

    private var newest: (reading: Reading, slot: Int) {
        var best: (reading: Reading, slot: Int) = (Reading(), 1)
        for slot in 0...1 {
            let offset = 24 + 24 * slot
            let check = load(offset + 16)
            let (returned, hash) = (load(offset), load(offset + 8))
            if check == returned ^ hash ^ Self.magic, returned > best.reading.returned {
                best = (Reading(returned: returned, hash: hash), slot)
            }
        }
        best.reading.offered = load(8)
        return best
    }

    private func field(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private func load(_ offset: Int) -> UInt64 { field(offset).pointee.load(ordering: .acquiring) }

    private func store(_ offset: Int, _ value: UInt64) { field(offset).pointee.store(value, ordering: .releasing) }
}

/// zlib's CRC-32, eight bytes at a step (https://www.zlib.net/crc_v3.txt, slicing by table): a check on bytes, in every
/// script's library.
enum CRC32 {
    /// The checksum of what `crc` covers followed by `bytes`; 0 covers nothing.
    static func update(_ crc: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        tables.withUnsafeBufferPointer { tables in
            var crc = ~crc
            var place = 0
            while place &+ 8 <= bytes.count {
                let low = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self).littleEndian ^ crc
                let high = bytes.loadUnaligned(fromByteOffset: place &+ 4, as: UInt32.self).littleEndian
                crc = 0
                for byte in 0..<4 {
                    let row: Int = 256 &* (7 &- byte)
                    let early = Int(low >> (8 &* byte)) & 0xFF
                    let late = Int(high >> (8 &* byte)) & 0xFF
                    crc ^= tables[row &+ early] ^ tables[row &- 1024 &+ late]
                }
                place &+= 8
            }
            while place < bytes.count {
                crc = tables[Int((crc ^ UInt32(bytes[place])) & 0xFF)] ^ crc >> 8
                place &+= 1
            }
            return ~crc
        }
    }

    /// Eight tables of 256: table k advances a byte by k further zero bytes.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for byte in 0..<UInt32(256) {
            var crc = byte
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1) * 0xEDB8_8320 }
            tables.append(crc)
        }
        for index in 256..<2048 {
            let previous = tables[index - 256]
            tables.append(tables[Int(previous & 0xFF)] ^ previous >> 8)
        }
        return tables
    }()
}
