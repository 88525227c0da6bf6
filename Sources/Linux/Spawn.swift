import CLinux
import Glibc

/// A child process, held by a pidfd: no other process can be hit by its signals, and it is reaped exactly once.
public struct ChildProcess: ~Copyable, Sendable {
    /// The process id, for people and logs.
    public let pid: pid_t
    private let pidfd: Descriptor

    /// How a child ended.
    public enum End: Sendable, Equatable {
        /// It exited with this status.
        case exited(Int32)
        /// This signal ended it.
        case signalled(Int32)
    }

    /// Starts `path` with a process group of its own, default signals, and only the descriptors named. `inherited` become 3, 4, 5, …
    /// in the child. Call it from the main thread only: PDEATHSIG fires when the spawning *thread* ends.
    public static func spawn(
        path: String, arguments: [String], environment: [String], standardOutput: Int32, standardError: Int32,
        inherited: [Int32]
    ) throws(SystemError) -> ChildProcess {
        // Sources are moved above all targets, so that no dup2 in the child overwrites a source still to come.
        let lowest = Int32(3 + inherited.count)
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        for source in [standardOutput, standardError] + inherited {
            let copy = nb_duplicate_above(source, lowest)
            guard copy >= 0 else { throw .last("dup") }
            copies.append(copy)
        }
        let table = inherited.indices.map { nb_inherited(source: copies[$0 + 2], target: Int32(3 + $0)) }
        var pid: pid_t = -1
        let status = withCStrings([path] + arguments) { argv in
            withCStrings(environment) { envp in
                nb_spawn(path, argv, envp, copies[0], copies[1], table, table.count, &pid)
            }
        }
        guard status == 0 else { throw SystemError(code: status, call: "spawn", subject: path) }
        let raw = nb_pidfd_open(pid)
        guard raw >= 0 else {
            let error = SystemError.last("pidfd_open")
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
            throw error
        }
        return ChildProcess(pid: pid, pidfd: Descriptor(taking: raw))
    }

    /// The number to poll for POLLIN: readable when the child has ended.
    public var descriptor: Int32 { pidfd.raw }

    /// Sends a signal; false when the child is already gone.
    @discardableResult
    public func signal(_ signal: Int32) -> Bool { nb_pidfd_send_signal(pidfd.raw, signal) == 0 }

    /// How the child ended, or nil while it runs. Reaps it.
    public func reap() -> End? {
        var exited: Int32 = 0
        var value: Int32 = 0
        guard nb_reap(pidfd.raw, &exited, &value) == 1 else { return nil }
        return exited == 1 ? .exited(value) : .signalled(value)
    }
}

/// A process that is not our child, held by a pidfd, so that its number cannot be reused under us.
public struct ForeignProcess: ~Copyable, Sendable {
    /// The process id.
    public let pid: pid_t
    private let pidfd: Descriptor

    /// The process with this id, or nil when there is none.
    public init?(pid: pid_t) {
        let raw = nb_pidfd_open(pid)
        guard raw >= 0 else { return nil }
        self.pid = pid
        pidfd = Descriptor(taking: raw)
    }

    /// The number to poll for POLLIN: readable when the process has ended.
    public var descriptor: Int32 { pidfd.raw }

    /// Sends a signal; false when the process is already gone.
    @discardableResult
    public func signal(_ signal: Int32) -> Bool { nb_pidfd_send_signal(pidfd.raw, signal) == 0 }

    /// Whether it has ended.
    public var hasEnded: Bool {
        var entry = pollfd(fd: pidfd.raw, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }
}

private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    // It holds at least the nil at its end, so it has an address.
    return pointers.withUnsafeBufferPointer { body($0.baseAddress!) }
}
