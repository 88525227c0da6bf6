import CLinux
import Glibc

/// Unix stream sockets by path, close-on-exec, none of whose calls wait.
public enum UnixSocket {
    /// The longest path that fits an address (unix.7), in bytes.
    public static let pathLimit = 107

    /// Connects to `path`. ENOENT and ECONNREFUSED say that nobody listens; EAGAIN that somebody does who has no room
    /// now.
    public static func connect(_ path: String) throws(SystemError) -> Descriptor {
        let descriptor = try make()
        try call("connect", path) { Glibc.connect(descriptor.raw, $0, $1) }
        return descriptor
    }

    /// Binds to `path`, which must not exist, with exactly `mode` whatever the umask, and listens.
    public static func listen(_ path: String, mode: mode_t = 0o600, backlog: Int32) throws(SystemError) -> Descriptor {
        let descriptor = try make()
        // On Linux the file gets the socket's own mode less the umask, so that no moment is open to others.
        guard fchmod(descriptor.raw, mode) == 0 else { throw .last("chmod", path) }
        try call("bind", path) { Glibc.bind(descriptor.raw, $0, $1) }
        guard chmod(path, mode) == 0, Glibc.listen(descriptor.raw, backlog) == 0 else {
            let error = SystemError.last("listen", path)
            unlink(path)
            throw error
        }
        return descriptor
    }

    /// The process at the other end, as it was when it connected or began to listen; nil when the kernel does not tell.
    public static func peer(of descriptor: borrowing Descriptor) -> pid_t? {
        let pid = nb_peer_pid(descriptor.raw)
        return pid > 0 ? pid : nil
    }

    /// Ends the connection behind `raw` for both sides, if it is one that was accepted on one of `paths`: for a number
    /// that someone else owns and may have closed by now. False when it is not.
    @discardableResult
    public static func shutDown(_ raw: Int32, acceptedOn paths: [String]) -> Bool {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(raw, $0, &size) }
        }
        guard status == 0, address.sun_family == sa_family_t(AF_UNIX) else { return false }
        let path = withUnsafeBytes(of: address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return paths.contains(path) && shutdown(raw, Int32(SHUT_RDWR)) == 0
    }

    private static func make() throws(SystemError) -> Descriptor {
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let raw = socket(AF_UNIX, flags, 0)
        guard raw >= 0 else { throw .last("socket") }
        return Descriptor(taking: raw)
    }

    private static func call(
        _ name: String, _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(SystemError) {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0) else { throw SystemError(code: EINVAL, call: name, subject: path) }
        guard bytes.count <= pathLimit else { throw SystemError(code: ENAMETOOLONG, call: name, subject: path) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw .last(name, path) }
    }
}
