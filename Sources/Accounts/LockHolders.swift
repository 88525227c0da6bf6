import Glibc
import Linux
import Wire

/// The processes that hold the lock of a file: those with an open descriptor for which the kernel reports it (proc(5), /proc/PID/fdinfo). The
/// number in that report is of the process that took the lock, which may be gone while those that inherited it go on.
///
/// Supervisors and hosts keep their descriptors from others of the same user (Hardening), so unless we are root the kernel does not let us see
/// those of a host. Its command line is for all to read: a process of our user that says there that it is the host of this account counts as a
/// holder too.
struct LockHolders {
    /// One process that holds it.
    struct Holder: Equatable {
        let pid: Int32
        /// Who took the lock; nil: we may not see, 0: gone, and not to be told from inside a container.
        let taker: Int32?
        let parent: Int32?
        /// Its command line, the program first.
        let commandLine: [String]

        /// Whether a supervisor's program or a host's runs in it.
        fileprivate var isOurs: Bool {
            commandLine.first?.split(separator: "/").last.map { $0.hasPrefix("nodebus") } ?? false
        }

        /// Who started it as the host of the account with this data directory; nil: it is no such host.
        fileprivate func supervisor(ofHostOn dataDirectory: String) -> Int32? {
            guard isOurs, value(of: "--data") == dataDirectory else { return nil }
            return value(of: "--supervisor").flatMap { Int32($0) }
        }

        fileprivate func value(of option: String) -> String? {
            commandLine.firstIndex(of: option).flatMap { $0 + 1 < commandLine.count ? commandLine[$0 + 1] : nil }
        }
    }

    let holders: [Holder]
    private let dataDirectory: String?
    var pids: [Int32] { holders.map(\.pid) }

    /// Looks for them among all processes. `dataDirectory` is that of the account whose lock it is; nil: it is a root's.
    init(of file: borrowing Descriptor, dataDirectory: String? = nil) {
        self.dataDirectory = dataDirectory
        var status = stat()
        guard fstat(file.raw, &status) == 0 else {
            holders = []
            return
        }
        let (device, inode) = (status.st_dev, status.st_ino)
        holders = (entries("/proc") ?? []).compactMap { Int32($0) }.sorted().compactMap { pid in
            let descriptors = entries("/proc/\(pid)/fdinfo")
            let taker = descriptors.flatMap { LockHolders.taker(pid, $0, device, inode) }
            guard descriptors == nil || taker != nil else { return nil }
            let holder = Holder(
                pid: pid, taker: taker, parent: LockHolders.parent(pid), commandLine: LockHolders.commandLine(pid))
            if descriptors != nil { return holder }
            // Anybody can say so; of our own user nobody gains by it.
            let isHost = dataDirectory.flatMap(holder.supervisor(ofHostOn:)) != nil
            return isHost && LockHolders.number("Uid:", pid).map { uid_t($0) } == geteuid() ? holder : nil
        }
    }

    init(_ holders: [Holder], dataDirectory: String) {
        self.holders = holders
        self.dataDirectory = dataDirectory
    }

    /// Whether one of them is an orphan of ours: a host of this account whose parent no longer is the supervisor that started it, or a process
    /// of ours that has the lock from the supervisor that the note names and that is gone, such as a host that was killed out of its spawn.
    /// Nobody else ever is one, whatever number the note names: what is called an orphan will be killed.
    func judge(_ note: LockNote, ourselves: Int32 = getpid()) -> AccountLock.Holder {
        let orphan = holders.first { holder in
            guard holder.pid != ourselves, holder.parent != ourselves else { return false }
            if let supervisor = dataDirectory.flatMap(holder.supervisor(ofHostOn:)) {
                return holder.parent != supervisor
            }
            guard holder.isOurs, let supervisor = note.supervisor, holder.taker == supervisor else { return false }
            return !pids.contains(supervisor)
        }
        return orphan.map { .orphan($0.pid) } ?? .other(pids.first)
    }

    /// The hosts of accounts below `root` whose supervisor is not their parent any more: by what their command lines say, and no more.
    static func abandoned(under root: Root) -> [(pid: Int32, profile: Profile)] {
        (entries("/proc") ?? []).compactMap { Int32($0) }.sorted().compactMap { pid in
            let holder = Holder(pid: pid, taker: nil, parent: parent(pid), commandLine: commandLine(pid))
            guard holder.isOurs, let path = holder.value(of: "--data"), path.hasPrefix(root.path + "/"),
                let profile = Profile(
                    path.dropFirst(root.path.count + 1).split(separator: "/").dropLast().joined(separator: "/")),
                let supervisor = holder.supervisor(ofHostOn: root.prefix(profile).node), supervisor != holder.parent
            else { return nil }
            return (pid, profile)
        }
    }

    private static func taker(_ pid: Int32, _ names: [String], _ device: dev_t, _ inode: ino_t) -> Int32? {
        for name in names {
            guard let report = text("/proc/\(pid)/fdinfo/\(name)"), let taker = flockTaker(report) else { continue }
            // By stat, and not by the report's own numbers, which are not those of stat on every file system. Only now: a stat can hang.
            var status = stat()
            guard stat("/proc/\(pid)/fd/\(name)", &status) == 0, status.st_dev == device, status.st_ino == inode else {
                continue
            }
            return taker
        }
        return nil
    }

    /// From a line such as `lock:   1: FLOCK  ADVISORY  WRITE 14610 fe:00:16222016 0 EOF`.
    private static func flockTaker(_ report: String) -> Int32? {
        for line in report.split(separator: "\n") where line.hasPrefix("lock:") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            if words.count > 5, words[2] == "FLOCK" { return Int32(words[5]) ?? 0 }
        }
        return nil
    }

    private static func commandLine(_ pid: Int32) -> [String] {
        text("/proc/\(pid)/cmdline")?.split(separator: "\0", omittingEmptySubsequences: false).map(String.init) ?? []
    }

    private static func parent(_ pid: Int32) -> Int32? { number("PPid:", pid).flatMap { Int32($0) } }

    /// The first number behind a name in /proc/PID/status.
    private static func number(_ name: String, _ pid: Int32) -> UInt32? {
        guard let status = text("/proc/\(pid)/status"),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) })
        else { return nil }
        return line.split(whereSeparator: { $0 == "\t" || $0 == " " }).dropFirst().first.flatMap { UInt32($0) }
    }
}

private func text(_ path: String) -> String? {
    guard let file = try? Descriptor.open(path, O_RDONLY), let bytes = try? file.readAll(limit: 65536) else {
        return nil
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// The names in a directory; nil when we may not see them.
private func entries(_ path: String) -> [String]? {
    guard let directory = opendir(path) else { return errno == EACCES ? nil : [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
                String(cString: $0)
            }
        }
        names.append(name)
    }
    return names
}
