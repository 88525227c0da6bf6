import CLinux
import Glibc

/// A file descriptor that is owned, and closed exactly once.
public struct Descriptor: ~Copyable, Sendable {
    /// The raw number, borrowed: valid while this value lives.
    public let raw: Int32

    /// Takes over a descriptor that nobody else will close.
    public init(taking raw: Int32) {
        precondition(raw >= 0, "a descriptor is not negative")
        self.raw = raw
    }

    deinit { close(raw) }

    /// Gives the number away; the caller closes it.
    public consuming func release() -> Int32 {
        let number = raw
        discard self
        return number
    }

    /// Opens `path` relative to `directory` (`AT_FDCWD`: the working directory). O_CLOEXEC is always added.
    public static func open(
        _ path: String, _ flags: Int32, mode: mode_t = 0o600, in directory: Int32 = AT_FDCWD
    ) throws(SystemError) -> Descriptor {
        let raw = nb_openat(directory, path, flags | O_CLOEXEC, mode)
        guard raw >= 0 else { throw .last("open", path) }
        return Descriptor(taking: raw)
    }

    /// A copy with a number of at least `lowest`, close-on-exec.
    public func duplicate(above lowest: Int32 = 3) throws(SystemError) -> Descriptor {
        let copy = nb_duplicate_above(raw, lowest)
        guard copy >= 0 else { throw .last("dup") }
        return Descriptor(taking: copy)
    }

    /// A connected pair of Unix stream sockets, close-on-exec.
    public static func socketPair() throws(SystemError) -> SocketPair {
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            throw .last("socketpair")
        }
        return SocketPair(ours: Descriptor(taking: pair[0]), theirs: Descriptor(taking: pair[1]))
    }

    /// An anonymous file in memory holding `bytes`, read from the start. This is how a secret reaches a child.
    public static func memory(_ name: String, holding bytes: [UInt8]) throws(SystemError) -> Descriptor {
        let raw = nb_memfd(name)
        guard raw >= 0 else { throw .last("memfd_create", name) }
        let file = Descriptor(taking: raw)
        try file.write(bytes)
        guard lseek(raw, 0, SEEK_SET) == 0 else { throw .last("lseek", name) }
        return file
    }

    /// Writes all bytes, waiting as a blocking descriptor does.
    public func write(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            // Not empty here, so it has an address.
            let count = bytes.withUnsafeBytes { Glibc.write(raw, $0.baseAddress! + done, bytes.count - done) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw .last("write") }
            done += count
        }
    }

    /// Everything from the present position to the end, at most `limit` bytes.
    public func readAll(limit: Int = 1 << 20) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while bytes.count < limit {
            let count = Glibc.read(raw, &chunk, min(chunk.count, limit - bytes.count))
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .last("read") }
            if count == 0 { break }
            bytes += chunk[0..<count]
        }
        return bytes
    }

    /// Makes reads and writes answer EAGAIN instead of waiting.
    public func setNonBlocking() throws(SystemError) {
        guard nb_set_nonblocking(raw) == 0 else { throw .last("fcntl") }
    }
}

/// Both ends of a socket pair: one to keep, one to hand to a child.
public struct SocketPair: ~Copyable, Sendable {
    /// The end this process keeps.
    public let ours: Descriptor
    /// The end a child inherits.
    public let theirs: Descriptor

    /// Keeps our end and closes the other: to be called once the child has its copy.
    public consuming func keepOurs() -> Descriptor { ours }
}

/// A wake-up that any thread may give and one thread polls for (eventfd).
public struct WakeDescriptor: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// A new, silent wake descriptor.
    public init() throws(SystemError) {
        let raw = nb_eventfd()
        guard raw >= 0 else { throw .last("eventfd") }
        descriptor = Descriptor(taking: raw)
    }

    /// Takes over an inherited eventfd.
    public init(taking raw: Int32) { descriptor = Descriptor(taking: raw) }

    /// The number to poll for POLLIN.
    public var raw: Int32 { descriptor.raw }

    /// Wakes whoever polls. Never waits.
    public func wake() {
        var one: UInt64 = 1
        _ = Glibc.write(descriptor.raw, &one, 8)
    }

    /// Takes back all wake-ups given so far.
    public func clear() {
        var count: UInt64 = 0
        _ = Glibc.read(descriptor.raw, &count, 8)
    }
}
