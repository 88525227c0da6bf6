import Glibc
import Linux
import ZeroMQ

/// A Unix socket of ours: made here and not by libzmq, whose own bind replaces whatever file is there, steals a live
/// endpoint without an error, and leaves the mode to the umask. Its file goes with it, if it still is ours.
final class ListeningSocket {
    let endpoint: String
    let path: String
    private let device: dev_t
    private let inode: ino_t

    private static let scheme = "ipc://"

    /// Listens at `endpoint` and lets `socket` accept what comes.
    init(_ endpoint: String, for socket: Socket) throws(BusSetupError) {
        self.endpoint = endpoint
        path = try ListeningSocket.path(of: endpoint)
        try ListeningSocket.prepareDirectory(of: path, endpoint)
        try ListeningSocket.clear(path, endpoint)
        let descriptor: Descriptor
        do { descriptor = try UnixSocket.listen(path, backlog: 1024) } catch {
            throw .system(endpoint, error)
        }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw .system(endpoint, SystemError.last("stat", path)) }
        device = status.st_dev
        inode = status.st_ino
        do { try socket.bind(endpoint, usingListening: descriptor.release()) } catch {
            throw .system(endpoint, error)
        }
    }

    deinit {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
        unlink(path)
    }

    /// The path of an endpoint that can be listened on.
    static func path(of endpoint: String) throws(BusSetupError) -> String {
        guard endpoint.hasPrefix(scheme + "/"), !endpoint.utf8.contains(0) else {
            throw BusSetupError(
                .badEndpoint, endpoint: endpoint, reason: "is not ipc:// with an absolute path",
                hint: "write it like ipc:///run/nodebus/events.sock")
        }
        let path = String(endpoint.dropFirst(scheme.count))
        guard path.utf8.count <= UnixSocket.pathLimit else {
            throw BusSetupError(
                .badEndpoint, endpoint: endpoint,
                reason: "its path has \(path.utf8.count) bytes, and a Unix socket's at most \(UnixSocket.pathLimit)",
                hint: "choose a shorter path")
        }
        guard let name = path.split(separator: "/", omittingEmptySubsequences: false).last, !name.isEmpty,
            name != ".", name != ".."
        else {
            throw BusSetupError(
                .badEndpoint, endpoint: endpoint, reason: "names a directory", hint: "add the name of a socket")
        }
        return path
    }

    private static func prepareDirectory(of path: String, _ endpoint: String) throws(BusSetupError) {
        func refuse(_ reason: String, _ hint: String) -> BusSetupError {
            BusSetupError(.directory, endpoint: endpoint, reason: reason, hint: hint)
        }
        let names = path.split(separator: "/").dropLast()
        var directory = ""
        for name in names {
            directory += "/" + name
            guard mkdir(directory, 0o700) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES else {
                let error = SystemError.last("mkdir", directory)
                throw refuse("its directory cannot be made: \(error)", "make \(directory), or choose another path")
            }
        }
        var status = stat()
        guard stat(directory.isEmpty ? "/" : directory, &status) == 0 else {
            throw refuse("\(SystemError.last("stat", directory))", "make the directory, or choose another path")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw refuse("\(directory) is not a directory", "choose another path")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o022 == 0 else {
            throw refuse(
                "others may write to \(directory), and so could put a socket of theirs in its place",
                "chmod 700 it, or choose a directory of your own")
        }
    }

    /// Makes room at `path`: takes away a socket that nobody listens on any more, and nothing else.
    private static func clear(_ path: String, _ endpoint: String) throws(BusSetupError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT else { throw .system(endpoint, SystemError.last("stat", path)) }
            return
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            let what = status.st_mode & S_IFMT == S_IFLNK ? "a symbolic link" : "something that is no socket"
            throw BusSetupError(
                .foreignFile, endpoint: endpoint, reason: "\(what) stands there, and was left alone",
                hint: "move it away, or choose another path")
        }
        do {
            let answer = try UnixSocket.connect(path)
            throw inUse(endpoint, UnixSocket.peer(of: answer))
        } catch let error as BusSetupError {
            throw error
        } catch let error as SystemError {
            switch error.code {
            case ECONNREFUSED, ENOENT: break
            case EAGAIN, EPROTOTYPE: throw inUse(endpoint, nil)
            default: throw .system(endpoint, error)
            }
        } catch {
            throw .system(endpoint, error)
        }
        guard unlink(path) == 0 || errno == ENOENT else { throw .system(endpoint, SystemError.last("unlink", path)) }
    }

    private static func inUse(_ endpoint: String, _ pid: pid_t?) -> BusSetupError {
        let who = pid.map { $0 == getpid() ? "this process" : "process \($0)" } ?? "a process"
        return BusSetupError(
            .inUse(pid: pid), endpoint: endpoint, reason: "\(who) listens there already",
            hint: "stop it, or choose another path")
    }
}

extension BusSetupError {
    static func system(_ endpoint: String, _ error: any Error) -> BusSetupError {
        BusSetupError(
            .system, endpoint: endpoint, reason: "\(error)", hint: "see to it that this user may listen there")
    }
}
