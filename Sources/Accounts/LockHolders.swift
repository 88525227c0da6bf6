import Glibc
import Linux

/// The processes that hold the lock of a file: those with an open descriptor for which the kernel reports it (proc(5), /proc/PID/fdinfo). The
/// number in that report is of the process that took the lock, which may be gone while those that inherited it go on.
struct LockHolders {
    /// One process that holds it.
    struct Holder: Equatable {
        let pid: Int32
        /// Who took the lock; 0: gone, and not to be told from inside a container.
        let taker: Int32
        let parent: Int32?
    }

    let holders: [Holder]
    var pids: [Int32] { holders.map(\.pid) }

    /// Looks for them among all processes whose descriptors we may see.
    init(of file: borrowing Descriptor) {
        var status = stat()
        guard fstat(file.raw, &status) == 0 else {
            holders = []
            return
        }
        let (device, inode) = (status.st_dev, status.st_ino)
        holders = entries("/proc").compactMap { Int32($0) }.sorted().compactMap { pid in
            LockHolders.taker(pid, device, inode).map { Holder(pid: pid, taker: $0, parent: LockHolders.parent(pid)) }
        }
    }

    init(_ holders: [Holder]) { self.holders = holders }

    /// Whether one of them is an orphan of ours: the host that the note names, or, when a supervisor was killed before it could name one, a
    /// process that has the lock from that supervisor.
    func judge(_ note: LockNote, ourselves: Int32 = getpid()) -> AccountLock.Holder {
        let strangers = holders.filter { $0.pid != ourselves && $0.parent != ourselves }
        if let host = note.host {
            if strangers.contains(where: { $0.pid == host }) { return .orphan(host) }
        } else if let supervisor = note.supervisor, !holders.contains(where: { $0.pid == supervisor }),
            let heir = strangers.first(where: { $0.taker == supervisor || $0.taker == 0 })
        {
            return .orphan(heir.pid)
        }
        return .other(holders.first?.pid)
    }

    private static func taker(_ pid: Int32, _ device: dev_t, _ inode: ino_t) -> Int32? {
        for name in entries("/proc/\(pid)/fdinfo") {
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

    private static func parent(_ pid: Int32) -> Int32? {
        guard let status = text("/proc/\(pid)/status"),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("PPid:") })
        else { return nil }
        return Int32(line.dropFirst(5).drop { $0 == "\t" || $0 == " " })
    }
}

private func text(_ path: String) -> String? {
    guard let file = try? Descriptor.open(path, O_RDONLY), let bytes = try? file.readAll(limit: 65536) else {
        return nil
    }
    return String(decoding: bytes, as: UTF8.self)
}

private func entries(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
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
