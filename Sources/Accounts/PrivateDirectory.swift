import Glibc
import Linux

/// An open directory that only its owner may enter. What is below it is reached through its descriptor, one component at a time and never
/// through a symbolic link, so that nothing can lead out of the root.
struct PrivateDirectory: ~Copyable {
    let path: String
    let descriptor: Descriptor

    /// Opens the root, which must be a real path.
    static func root(_ path: String, _ notes: inout [String]) throws(AccountsError) -> PrivateDirectory {
        try open(path, in: AT_FDCWD, path, &notes)
    }

    /// Opens the directory `name` in this one, making it (mode 0700 whatever the umask) when `create` says so.
    func child(_ name: String, create: Bool, _ notes: inout [String]) throws(AccountsError) -> PrivateDirectory {
        let full = "\(path)/\(name)"
        if create {
            if mkdirat(descriptor.raw, name, 0o700) == 0 {
                guard fchmodat(descriptor.raw, name, 0o700, 0) == 0, fsync(descriptor.raw) == 0 else {
                    throw AccountsError(.last("mkdir", full), full)
                }
            } else if errno != EEXIST {
                throw AccountsError(.last("mkdir", full), full)
            }
        }
        return try PrivateDirectory.open(name, in: descriptor.raw, full, &notes)
    }

    /// Opens a file of ours in this directory with mode 0600 whatever the umask; O_CREAT may be among the flags.
    func file(_ name: String, _ flags: Int32) throws(AccountsError) -> Descriptor {
        let full = "\(path)/\(name)"
        let opened: Descriptor
        // O_NONBLOCK: a FIFO in the file's place must not hold us up; for a regular file it means nothing.
        do {
            opened = try Descriptor.open(name, flags | O_NOFOLLOW | O_NONBLOCK, mode: 0o600, in: descriptor.raw)
        } catch {
            throw AccountsError(error, full)
        }
        var status = stat()
        guard fstat(opened.raw, &status) == 0 else { throw AccountsError(.last("stat", full), full) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw AccountsError(SystemError(code: EINVAL, call: "open", subject: full), full)
        }
        guard status.st_uid == geteuid() else {
            throw AccountsError(SystemError(code: EPERM, call: "open", subject: full), full)
        }
        if status.st_mode & 0o777 != 0o600, fchmod(opened.raw, 0o600) != 0 {
            throw AccountsError(.last("chmod", full), full)
        }
        return opened
    }

    /// Whether something of this name is in the directory.
    func holds(_ name: String) -> Bool {
        var status = stat()
        return fstatat(descriptor.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// The size of a file of ours; nil: there is none of this name. What is no file is refused.
    func size(of name: String) throws(AccountsError) -> Int64? {
        let full = "\(path)/\(name)"
        var status = stat()
        guard fstatat(descriptor.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return nil }
            throw AccountsError(.last("stat", full), full)
        }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG else {
            throw AccountsError(SystemError(code: kind == S_IFLNK ? ELOOP : EINVAL, call: "open", subject: full), full)
        }
        return Int64(status.st_size)
    }

    /// Makes a file that is there whole, on disk, or not at all; never in place of another.
    func write(new name: String, _ bytes: [UInt8]) throws(AccountsError) {
        let full = "\(path)/\(name)"
        let unfinished = try write(unfinished: name, bytes)
        defer { remove(unfinished) }
        // A link, unlike a rename, fails when the name is taken.
        guard linkat(descriptor.raw, unfinished, descriptor.raw, name, 0) == 0, fsync(descriptor.raw) == 0 else {
            throw AccountsError(.last("write", full), full)
        }
    }

    /// Puts new bytes in the place of a file, which is there whole before and after; with `keeping` the old file gets that name.
    func replace(_ name: String, with bytes: [UInt8], keeping old: String?) throws(AccountsError) {
        let full = "\(path)/\(name)"
        let unfinished = try write(unfinished: name, bytes)
        defer { remove(unfinished) }
        if let old, linkat(descriptor.raw, name, descriptor.raw, old, 0) != 0 {
            throw AccountsError(.last("link", full), full)
        }
        guard renameat(descriptor.raw, unfinished, descriptor.raw, name) == 0, fsync(descriptor.raw) == 0 else {
            throw AccountsError(.last("write", full), full)
        }
    }

    /// The name under which a file is written that is not whole yet.
    static func unfinished(_ name: String) -> String { ".\(name).new" }

    /// Removes a file, if it is there.
    func remove(_ name: String) { unlinkat(descriptor.raw, name, 0) }

    /// Writes a file, on disk, under a name that nobody looks for, and answers that.
    func write(unfinished name: String, _ bytes: [UInt8]) throws(AccountsError) -> String {
        let full = "\(path)/\(name)"
        let unfinished = PrivateDirectory.unfinished(name)
        // Left by a process that ended before it was finished: nobody has used it.
        remove(unfinished)
        let file = try file(unfinished, O_WRONLY | O_CREAT | O_EXCL)
        do throws(SystemError) {
            try file.write(bytes)
            guard fsync(file.raw) == 0 else { throw SystemError.last("fsync", full) }
        } catch {
            remove(unfinished)
            throw AccountsError(error, full)
        }
        return unfinished
    }

    /// Moves what has this name into another directory, where its new name must be free; on disk when it returns.
    func move(_ name: String, to other: borrowing PrivateDirectory, as newName: String) throws(AccountsError) {
        let full = "\(path)/\(name)"
        guard !other.holds(newName) else {
            throw AccountsError(SystemError(code: EEXIST, call: "rename", subject: newName), "\(other.path)/\(newName)")
        }
        guard renameat(descriptor.raw, name, other.descriptor.raw, newName) == 0, fsync(other.descriptor.raw) == 0,
            fsync(descriptor.raw) == 0
        else { throw AccountsError(.last("rename", full), full) }
    }

    /// The names in it.
    func names() throws(AccountsError) -> [String] {
        do { return try directoryNames(descriptor.raw) } catch { throw AccountsError(error, path) }
    }

    /// Deletes what has this name, and all that is below it; a link goes, and not what it points to.
    func deleteTree(_ name: String) throws(AccountsError) {
        do { try delete(name, in: descriptor.raw) } catch { throw AccountsError(error, "\(path)/\(name)") }
        guard fsync(descriptor.raw) == 0 else { throw AccountsError(.last("fsync", path), path) }
    }

    private static func open(
        _ name: String, in directory: Int32, _ full: String, _ notes: inout [String]
    ) throws(AccountsError) -> PrivateDirectory {
        let opened: Descriptor
        do { opened = try Descriptor.open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, in: directory) } catch {
            // The kernel says "not a directory" of a link too.
            var status = stat()
            let isLink =
                fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFLNK
            throw AccountsError(isLink ? SystemError(code: ELOOP, call: "open", subject: full) : error, full)
        }
        var status = stat()
        guard fstat(opened.raw, &status) == 0 else { throw AccountsError(.last("stat", full), full) }
        guard status.st_uid == geteuid() else {
            throw AccountsError(SystemError(code: EPERM, call: "open", subject: full), full)
        }
        if status.st_mode & 0o7777 != 0o700 {
            guard fchmod(opened.raw, 0o700) == 0 else { throw AccountsError(.last("chmod", full), full) }
            notes.append("\(full) had mode \(String(status.st_mode & 0o7777, radix: 8)) and has 700 now")
        }
        return PrivateDirectory(path: full, descriptor: opened)
    }
}

private func delete(_ name: String, in directory: Int32) throws(SystemError) {
    if unlinkat(directory, name, 0) == 0 || errno == ENOENT { return }
    // unlink(2) of a directory is EISDIR on Linux, EPERM by POSIX.
    guard errno == EISDIR || errno == EPERM else { throw .last("unlink", name) }
    do throws(SystemError) {
        let child = try Descriptor.open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, in: directory)
        for entry in try directoryNames(child.raw) { try delete(entry, in: child.raw) }
    } catch {
        // Another thread was faster.
        guard error.code == ENOENT else { throw error }
    }
    guard unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT else { throw .last("rmdir", name) }
}

/// The names in an open directory, but for `.` and `..`.
private func directoryNames(_ raw: Int32) throws(SystemError) -> [String] {
    // Opened anew: the stream takes its descriptor over, and moves its position.
    let stream = fdopendir(try Descriptor.open(".", O_RDONLY | O_DIRECTORY, in: raw).release())
    guard let stream else { throw .last("opendir") }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
                String(cString: $0)
            }
        }
        if name != "." && name != ".." { names.append(name) }
    }
    return names
}
