import CFiber
import Glibc
import Linux

/// The directories and files of a node under its prefix, taken for one process.
final class DataDirectory: Sendable {
    /// The database file.
    let storePath: String

    private let prefix: String
    // Held until the process ends the node; the kernel gives it back when the process dies.
    private let lock: Descriptor

    /// Makes what is missing and takes the store's lock. The real SQLite store has none and two nodes on one store lose
    /// money, so here it is refused as the RocksDB store refuses it.
    init(prefix: String) throws {
        self.prefix = prefix
        let store = "\(prefix)/fiber/store"
        storePath = "\(store)/data.sqlite"
        for directory in [prefix, "\(prefix)/fiber", store] {
            guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
                throw Refusal.startup("failed to create \(directory): \(SystemError.last("mkdir").reason)")
            }
        }
        do { lock = try Descriptor.open("\(store)/LOCK", O_RDWR | O_CREAT) } catch {
            throw Refusal.startup("IO error: While opening lock file: \(store)/LOCK: \(error.reason)")
        }
        guard flock(lock.raw, LOCK_EX | LOCK_NB) == 0 else {
            throw Refusal.startup("IO error: While lock file: \(store)/LOCK: Resource temporarily unavailable")
        }
    }

    /// The 32 bytes of the node's identity, made at the first start.
    func nodeSecret() throws -> [UInt8] {
        let path = "\(prefix)/fiber/sk"
        do {
            return try Self.checked(Descriptor.open(path, O_RDONLY).readAll(), path)
        } catch let error as SystemError where error.code == ENOENT {
            let secret = [UInt8].random(count: 32)
            // There whole or not at all: half an identity, left by a start that was killed, would refuse every later start.
            let unfinished = "\(path).new"
            unlink(unfinished)
            try Descriptor.open(unfinished, O_WRONLY | O_CREAT | O_EXCL, mode: 0o400).write(secret)
            guard rename(unfinished, path) == 0 else { throw SystemError.last("rename", path) }
            return secret
        }
    }

    private static func checked(_ bytes: [UInt8], _ path: String) throws -> [UInt8] {
        guard bytes.count == 32 else {
            throw Refusal.startup("failed to read the node key \(path): \(bytes.count) bytes, expected 32")
        }
        return bytes
    }
}

/// The port that the node would listen on. It is bound, so that two nodes on one port collide as real ones do, but
/// nothing listens: the simulated network is inside the library.
final class Listener: Sendable {
    /// The address with its port resolved.
    let address: String

    private let socket: Descriptor

    init(_ multiaddr: String) throws {
        let parts = multiaddr.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "ip4", parts[3] == "tcp", let port = UInt16(parts[4])
        else { throw Self.failure("invalid listening_addr \(multiaddr); the simulator takes /ip4/ADDRESS/tcp/PORT") }
        var socketAddress = sockaddr_in()
        socketAddress.sin_family = sa_family_t(AF_INET)
        socketAddress.sin_port = port.bigEndian
        guard inet_pton(AF_INET, String(parts[2]), &socketAddress.sin_addr) == 1 else {
            throw Self.failure("invalid listening_addr \(multiaddr)")
        }
        let raw = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard raw >= 0 else { throw Self.failure(SystemError.last("socket").reason) }
        socket = Descriptor(taking: raw)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &socketAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(raw, $0, size) == 0 ? getsockname(raw, $0, &size) : -1
            }
        }
        guard status == 0 else {
            let error = SystemError.last("bind")
            throw Self.failure("\(error.reason) (os error \(error.code))")
        }
        address = "/ip4/\(parts[2])/tcp/\(UInt16(bigEndian: socketAddress.sin_port))"
    }

    private static func failure(_ text: String) -> Refusal {
        .startup("runtime thread panicked during startup: listen tentacle: \(text)")
    }
}
