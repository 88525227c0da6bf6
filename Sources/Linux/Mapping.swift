import Glibc

/// A file mapped into memory, shared with whoever else maps it. Unmapped once, when it goes.
public struct Mapping: ~Copyable, @unchecked Sendable {
    // Safe: `bytes` never changes; who touches the memory, and in which order, is the affair of the type built on it.

    /// The mapped memory, valid while this value lives.
    public let bytes: UnsafeMutableRawBufferPointer

    /// Maps the first `count` bytes of a file for reading and writing.
    public init(_ descriptor: borrowing Descriptor, count: Int) throws(SystemError) {
        let start = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.raw, 0)
        guard let start, start != MAP_FAILED else { throw .last("mmap") }
        bytes = UnsafeMutableRawBufferPointer(start: start, count: count)
    }

    deinit { munmap(bytes.baseAddress, bytes.count) }
}

/// Which start of the machine this is: the kernel's boot id, 36 characters (random.4). Empty when it cannot be read.
public func bootIdentity() -> String {
    guard let file = try? Descriptor.open("/proc/sys/kernel/random/boot_id", O_RDONLY),
        let bytes = try? file.readAll(limit: 64)
    else { return "" }
    return String(decoding: bytes.prefix(36), as: UTF8.self)
}
