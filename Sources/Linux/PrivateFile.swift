import CLinux
import Glibc

/// Files that only their owner may read, such as databases: mode 0600 whatever the umask, and never through a symbolic link.
public enum PrivateFile {
    /// Sees to it that `path` is a regular file of ours with mode 0600: an empty one is made when there is none, the mode of an existing one is
    /// tightened. True when it was made. A symbolic link is refused with ELOOP, what is not a file with EINVAL, another's file with EPERM.
    ///
    /// An existing file is not opened: closing a descriptor would drop the locks that SQLite holds on it in this process
    /// (https://www.sqlite.org/howtocorrupt.html, 2.2).
    @discardableResult
    public static func prepare(_ path: String) throws(SystemError) -> Bool {
        let raw = nb_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if raw >= 0 {
            let file = Descriptor(taking: raw)
            guard fchmod(file.raw, 0o600) == 0 else { throw .last("chmod", path) }
            try syncDirectory(of: path)
            return true
        }
        guard errno == EEXIST else { throw .last("create", path) }
        try check(path)
        return false
    }

    /// Puts the name of a new file on disk, as `fsync` on the file alone does not (fsync(2)).
    private static func syncDirectory(of path: String) throws(SystemError) {
        let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let directory = try Descriptor.open(parent, O_RDONLY | O_DIRECTORY)
        guard fsync(directory.raw) == 0 else { throw .last("fsync", parent) }
    }

    /// Refuses what `prepare` refuses, and a missing file with ENOENT.
    public static func check(_ path: String) throws(SystemError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw .last("open", path) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFLNK: throw SystemError(code: ELOOP, call: "open", subject: path)
        default: throw SystemError(code: EINVAL, call: "open", subject: path)
        }
        guard status.st_uid == geteuid() else { throw SystemError(code: EPERM, call: "open", subject: path) }
        if status.st_mode & 0o777 != 0o600 {
            guard chmod(path, 0o600) == 0 else { throw .last("chmod", path) }
        }
    }
}
