import Foundation
import Glibc
import Linux
import Testing
import Wire

@testable import Accounts

/// Takes the lock of a file with a process of its own.
private let takesLock = """
    f = open(sys.argv[1], 'a+'); os.chmod(sys.argv[1], 0o600)
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); say('held'); s.recv(1)
    """

/// The same, for as long as a process may take to die.
private let holdsLockForAMoment =
    takesLock.replacingOccurrences(of: "s.recv(1)", with: "s.settimeout(0.3); s.recv(1)")

/// Has a child of its own take the lock, so that the holder is no child of the test; both end when the test lets go of the socket.
private let hasChildTakeLock = """
    if os.fork() == 0:
        f = open(sys.argv[1], 'a+'); os.chmod(sys.argv[1], 0o600)
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); say(os.getpid())
    s.recv(1)
    """

/// Stands for a supervisor: takes the lock, writes its note, starts a host that inherits the lock, and is killed.
private let losesHost = """
    f = open(sys.argv[1], 'a+'); os.chmod(sys.argv[1], 0o600)
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    host = subprocess.Popen(
        sys.argv[3:] + ['60'], executable='/bin/sleep', pass_fds=[f.fileno()], stdin=subprocess.DEVNULL)
    f.truncate(0)
    f.write('{"supervisor":%d,"host":%s}' % (os.getpid(), host.pid if sys.argv[2] == 'named' else 'null')); f.flush()
    say(host.pid); s.recv(1)
    """

@Suite("locks") struct LockTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    @Test("one supervisor holds a root, and a second one is told its pid") func rootLock() throws {
        let root = try scratch.root()
        do {
            let lock = try RootLock.take(root)
            #expect(try mode(root.lockFile) == 0o600)
            #expect(
                try String(contentsOfFile: root.lockFile, encoding: .utf8)
                    == "{\"supervisor\":\(getpid()),\"host\":null}\n")
            let error = #expect(throws: AccountsError.self) { _ = try RootLock.take(root) }
            #expect(error?.code == .locked)
            #expect(error?.holder == getpid())
            _ = consume lock
        }
        _ = try RootLock.take(root)
    }

    @Test("the holder is named whatever the file says") func rootLockElsewhere() throws {
        let root = try scratch.root()
        let other = try OtherProcess(takesLock, [root.lockFile])
        #expect(try other.line() == "held")
        let pid = other.process.pid
        let error = #expect(throws: AccountsError.self) { _ = try RootLock.take(root) }
        #expect(error?.holder == pid)
        #expect(error?.message == "process \(pid) holds this root's lock")
        try other.end()
        _ = try RootLock.take(root)
    }

    @Test("a lock whose holder is about to be gone is waited for") func dying() throws {
        let prefix = try scratch.prefix()
        for path in [prefix.root.lockFile, prefix.lockFile] {
            let other = try OtherProcess(holdsLockForAMoment, [path])
            #expect(try other.line() == "held")
            let root = try RootLock.take(prefix.root)
            #expect(try attempt(prefix, root) == nil)
        }
    }

    @Test("a lock file that is a link is refused") func linkedLock() throws {
        let root = try scratch.root()
        symlink(scratch.path + "/other", root.lockFile)
        let error = #expect(throws: AccountsError.self) { _ = try RootLock.take(root) }
        #expect(error?.code == .unsafePath)
        #expect(access(scratch.path + "/other", F_OK) != 0)
    }

    @Test("an account's lock notes supervisor and host, and a host that inherits it keeps it") func inherited() throws {
        let prefix = try scratch.prefix()
        let root = try RootLock.take(prefix.root)
        let other: OtherProcess
        switch try AccountLock.tryTake(prefix, under: root) {
        case .held(let holder):
            Issue.record("held by \(holder)")
            return
        case .taken(let lock):
            other = try OtherProcess("say('up'); s.recv(1)", [], inheriting: [lock.descriptor])
            #expect(try other.line() == "up")
            try lock.record(host: other.process.pid)
            let text = try String(contentsOfFile: prefix.lockFile, encoding: .utf8)
            #expect(text == "{\"supervisor\":\(getpid()),\"host\":\(other.process.pid)}\n")
        }
        // Ours is closed now; the host has it still, and as our own child it is no orphan.
        #expect(try attempt(prefix, root) == .other(other.process.pid))
        try other.end()
        #expect(try attempt(prefix, root) == nil)
    }

    @Test("the host of a killed supervisor is an orphan, named in the file or not", arguments: ["named", "unnamed"])
    func orphan(how: String) throws {
        let prefix = try scratch.prefix()
        let root = try RootLock.take(prefix.root)
        let other = try OtherProcess(losesHost, [prefix.lockFile, how, "/opt/nodebus-fiber"])
        let host = try #require(Int32(try other.line()))
        defer { kill(host, SIGKILL) }
        try other.end()
        #expect(try attempt(prefix, root) == .orphan(host))
        // The way a supervisor goes on: ends it, waits, takes the lock.
        guard let process = ForeignProcess(pid: host) else {
            Issue.record("the host is not there")
            return
        }
        process.signal(SIGKILL)
        var entry = pollfd(fd: process.descriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 10_000) == 1)
        #expect(try attempt(prefix, root) == nil)
    }

    @Test(
        "a shell that holds the lock is nobody's orphan, whatever number is in the file",
        arguments: ["named", "unnamed"])
    func heirOfSomebodyElse(how: String) throws {
        let prefix = try scratch.prefix()
        let root = try RootLock.take(prefix.root)
        // As after `exec 9>.lock; flock 9`: the process that took the lock is gone, as a supervisor would be.
        let other = try OtherProcess(losesHost, [prefix.lockFile, how, "sh"])
        let shell = try #require(Int32(try other.line()))
        defer { kill(shell, SIGKILL) }
        try other.end()
        #expect(try attempt(prefix, root) == .other(shell))
        #expect(!AccountLock.isOrphan(shell, of: prefix))
    }

    @Test(
        "a process that took the lock by itself is no orphan, whatever an old note says",
        arguments: [
            #"{"supervisor":999999999,"host":null}"#, #"{"supervisor":1,"host":1}"#, "{\"superv", "", "null", "\u{0}",
        ])
    func stranger(note: String) throws {
        let prefix = try scratch.prefix()
        let root = try RootLock.take(prefix.root)
        try put(prefix.lockFile, note)
        let other = try OtherProcess(hasChildTakeLock, [prefix.lockFile])
        let holder = try #require(Int32(try other.line()))
        #expect(try attempt(prefix, root) == .other(holder))
        try other.end()
    }

    @Test("who is an orphan") func judging() {
        typealias Holder = LockHolders.Holder
        let ours: Int32 = 10
        func host(taker: Int32?, parent: Int32, data: String = "/root/dev/demo/node") -> Holder {
            let words = ["/opt/nodebus-fiber", "--library", "x", "--data", data, "--supervisor", "20"]
            return Holder(pid: 30, taker: taker, parent: parent, commandLine: words)
        }
        func other(_ pid: Int32, taker: Int32, _ program: String) -> Holder {
            Holder(pid: pid, taker: taker, parent: 1, commandLine: [program, "run"])
        }
        let cases: [([Holder], LockNote, AccountLock.Holder)] = [
            ([host(taker: 20, parent: 1)], LockNote(supervisor: 20, host: 30), .orphan(30)),
            // In a container, and for a user whom the kernel does not show the host's descriptors.
            ([host(taker: 0, parent: 1)], LockNote(), .orphan(30)),
            ([host(taker: nil, parent: 1)], LockNote(supervisor: 20, host: 31), .orphan(30)),
            // Its supervisor lives, though it is not the one of this root.
            ([host(taker: 20, parent: 20)], LockNote(supervisor: 20, host: 30), .other(30)),
            ([other(20, taker: 20, "nodebus"), host(taker: 20, parent: 20)], LockNote(supervisor: 20), .other(20)),
            ([host(taker: ours, parent: ours)], LockNote(supervisor: ours, host: 30), .other(30)),
            // Another account's host.
            ([host(taker: 0, parent: 1, data: "/root/dev/else/node")], LockNote(supervisor: 20, host: 30), .other(30)),
            // Killed between fork and exec of its host, a supervisor leaves a process that still bears its name.
            ([other(30, taker: 20, "/opt/nodebus")], LockNote(supervisor: 20), .orphan(30)),
            ([other(30, taker: 20, "/opt/nodebus")], LockNote(supervisor: 21), .other(30)),
            ([other(30, taker: 20, "bash")], LockNote(supervisor: 20, host: 30), .other(30)),
            ([other(30, taker: 0, "bash")], LockNote(supervisor: 20, host: 30), .other(30)),
            ([], LockNote(supervisor: 20, host: 30), .other(nil)),
        ]
        for (holders, note, expected) in cases {
            let found = LockHolders(holders, dataDirectory: "/root/dev/demo/node").judge(note, ourselves: ours)
            #expect(found == expected, "\(holders) \(note)")
        }
    }

    /// Who holds the lock; nil: nobody did, and it has been let go again.
    private func attempt(_ prefix: Prefix, _ root: borrowing RootLock) throws -> AccountLock.Holder? {
        switch try AccountLock.tryTake(prefix, under: root) {
        case .taken: nil
        case .held(let holder): holder
        }
    }
}
