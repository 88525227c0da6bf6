import Glibc
import Linux
import Wire

/// What a lock file says of its holders, beside the lock itself: the kernel names only the process that took a lock, not those that inherited it.
struct LockNote: Equatable {
    var supervisor: Int32?
    var host: Int32?

    var bytes: [UInt8] {
        func number(_ pid: Int32?) -> JSON { pid.map { .integer(Int64($0)) } ?? .null }
        return (["supervisor": number(supervisor), "host": number(host)] as JSON).bytes + [0x0a]
    }

    init(supervisor: Int32? = nil, host: Int32? = nil) {
        self.supervisor = supervisor
        self.host = host
    }

    /// Reads what there is; a text that is half written or not ours says nothing.
    init(reading file: borrowing Descriptor) {
        guard lseek(file.raw, 0, SEEK_SET) == 0, let bytes = try? file.readAll(limit: 4096),
            let json = try? JSON.parse(bytes)
        else { return }
        func pid(_ name: String) -> Int32? {
            json[name]?.integer.flatMap { Int32(exactly: $0) }.flatMap { $0 > 0 ? $0 : nil }
        }
        supervisor = pid("supervisor")
        host = pid("host")
    }

    func write(to file: borrowing Descriptor, _ path: String) throws(AccountsError) {
        let bytes = bytes
        guard pwrite(file.raw, bytes, bytes.count, 0) == bytes.count, ftruncate(file.raw, off_t(bytes.count)) == 0
        else {
            throw AccountsError(.last("write", path), path)
        }
    }
}

/// The lock of a root: one supervisor at a time. Let go when this value goes; no child inherits it.
public struct RootLock: ~Copyable, Sendable {
    private let file: Descriptor

    /// Takes the lock, waiting at most for `dyingLimit`. `locked` names the supervisor that holds it.
    public static func take(_ root: Root) throws(AccountsError) -> RootLock {
        let file = try root.open().file(".lock", O_RDWR | O_CREAT)
        guard try lock(file, root.lockFile, orUntil: { false }) else {
            // Unless we are root the kernel does not show us who it is (LockHolders); then whoever took it last has said so in it.
            let holder = LockHolders(of: file).pids.first ?? LockNote(reading: file).supervisor
            let name = holder.map { "process \($0)" } ?? "another process"
            throw AccountsError(
                .locked, "\(name) holds this root's lock", root.lockFile,
                hint: "stop the supervisor that runs there, or give this one another root", holder: holder)
        }
        try LockNote(supervisor: getpid()).write(to: file, root.lockFile)
        return RootLock(file: file)
    }

    private init(file: consuming Descriptor) { self.file = file }
}

/// The lock of an account: one node at a time. The host inherits the descriptor, and with it the lock, so that it outlives a killed supervisor.
public struct AccountLock: ~Copyable, Sendable {
    private let file: Descriptor
    private let path: String

    /// The descriptor that the host is to inherit.
    public var descriptor: Int32 { file.raw }

    /// Who holds an account's lock when it cannot be taken.
    public enum Holder: Sendable, Equatable {
        /// The host of a supervisor of this root that is gone: to be waited for, then ended.
        case orphan(Int32)
        /// Anybody else; nil when it cannot be told.
        case other(Int32?)
    }

    /// What came of trying.
    public enum Attempt: ~Copyable, Sendable {
        /// It is ours.
        case taken(AccountLock)
        /// Somebody holds it.
        case held(Holder)
    }

    /// Tries to take the lock, waiting at most for `dyingLimit`, and for an orphan not at all. The account's directory must be there. Whoever
    /// holds the root's lock is the only supervisor there, so a host that inherited the account's lock and is no child of ours is an orphan.
    public static func tryTake(_ prefix: Prefix, under root: borrowing RootLock) throws(AccountsError) -> Attempt {
        var notes: [String] = []
        let file = try prefix.open(create: false, &notes).file(".lock", O_RDWR | O_CREAT)
        var holder = Holder.other(nil)
        let isTaken = try lock(file, prefix.lockFile) {
            holder = judge(file, prefix)
            if case .orphan = holder { return true }
            return false
        }
        guard isTaken else { return .held(holder) }
        let taken = AccountLock(file: file, path: prefix.lockFile)
        try taken.record(host: nil)
        return .taken(taken)
    }

    /// Whether the lock is held, and `pid` is an orphan that holds it: to be asked once the process is held by a pidfd, since before that its
    /// number may have gone to another.
    public static func isOrphan(_ pid: Int32, of prefix: Prefix) -> Bool {
        var notes: [String] = []
        guard let file = try? prefix.open(create: false, &notes).file(".lock", O_RDWR),
            flock(file.raw, LOCK_EX | LOCK_NB) != 0
        else { return false }
        return judge(file, prefix) == .orphan(pid)
    }

    /// An orphan of any account of the root, and the account that it holds: one node runs at a time, whatever account the next one is of.
    public static func orphan(under root: Root) -> (pid: Int32, prefix: Prefix)? {
        LockHolders.abandoned(under: root).lazy.map { ($0.pid, root.prefix($0.profile)) }.first(where: isOrphan)
    }

    private static func judge(_ file: borrowing Descriptor, _ prefix: Prefix) -> Holder {
        LockHolders(of: file, dataDirectory: prefix.node).judge(LockNote(reading: file))
    }

    /// Writes down which process is the host now; nil: none.
    public func record(host: Int32?) throws(AccountsError) {
        try LockNote(supervisor: getpid(), host: host).write(to: file, path)
    }

    private init(file: consuming Descriptor, path: String) {
        self.file = file
        self.path = path
    }
}

/// How long a lock is asked for again before its holder counts. A process that is being killed keeps its locks when it has lost its command line
/// already, and one that was about to become a host still holds all that its supervisor held: neither is anybody who could be named.
private let dyingLimit = Duration.seconds(1)

/// Takes the lock of a file; false when it was held until `dyingLimit` had passed or `isEnough` said so, which is asked each time.
private func lock(_ file: borrowing Descriptor, _ path: String, orUntil isEnough: () -> Bool) throws(AccountsError)
    -> Bool
{
    let deadline = Instant.now + dyingLimit
    while flock(file.raw, LOCK_EX | LOCK_NB) != 0 {
        guard errno == EWOULDBLOCK else { throw AccountsError(.last("flock", path), path) }
        if isEnough() || Instant.now >= deadline { return false }
        poll(nil, 0, 10)
    }
    return true
}
