import Glibc
import Linux
import SQLite

/// Why a root, an account's files or the registry could not be used. Nothing was changed. No secret is ever in it.
public struct AccountsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong.
    public enum Code: Sendable, Equatable {
        /// The disk does not take it or does not give it: full, read-only, failing, not permitted.
        case storage
        /// Another process held the database for longer than the busy timeout.
        case busy
        /// A file is not what it must be.
        case damaged
        /// The registry was written by a later version.
        case newerSchema
        /// A symbolic link, another kind of file, or another user's stands where ours belongs.
        case unsafePath
        /// It is there already.
        case exists
        /// It is not there.
        case missing
        /// Another process holds the lock; `holder` is its pid where it can be told.
        case locked
    }

    /// What went wrong.
    public let code: Code
    /// What happened, as a sentence without its path.
    public let message: String
    /// The file or directory it is about.
    public let path: String
    /// What to do next.
    public let hint: String
    /// For `locked`: the process that holds the lock.
    public let holder: Int32?

    /// Whether the same call may succeed later without anything being changed here.
    public var isRetryable: Bool { code == .busy || code == .storage || code == .locked }

    /// A sentence for an operator.
    public var description: String { "\(path): \(message); \(hint)" }

    init(_ code: Code, _ message: String, _ path: String, hint: String, holder: Int32? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.hint = hint
        self.holder = holder
    }

    /// What SQLite reported, in our terms.
    init(_ error: SQLiteError) {
        if error.isBusy {
            self.init(
                .busy, "another process holds it (\(error.message))", error.path,
                hint: "end whatever else has the file open")
        } else if error.isDamage || error.isConstraint || error.isMismatch {
            self.init(
                .damaged, "it is not sound (\(error.message), SQLite \(error.code))", error.path,
                hint: "it is kept as it is; restore it from a copy, or move it away")
        } else {
            self.init(
                .storage, "SQLite reports \(error.message) (\(error.code))", error.path,
                hint: "see that the disk has room and that the file and its directory can be written")
        }
    }

    /// What the kernel said about a path.
    public init(_ error: SystemError, _ path: String) {
        switch error.code {
        case ENOENT: self.init(.missing, "there is no such file", path, hint: "see that the root is the right one")
        case ELOOP:
            self.init(
                .unsafePath, "a symbolic link stands in its place", path, hint: "put what it points to there itself")
        case ENOTDIR: self.init(.unsafePath, "it is no directory", path, hint: "move it away")
        // A directory cannot be opened for writing (EISDIR), a socket not at all (ENXIO).
        case EINVAL, EISDIR, ENXIO:
            self.init(.unsafePath, "what stands there is no file", path, hint: "move it away")
        case EEXIST: self.init(.exists, "it is there already", path, hint: "nothing was replaced")
        case EPERM:
            self.init(.unsafePath, "it belongs to another user", path, hint: "run as the user the data belongs to")
        default:
            self.init(
                .storage, error.description, path,
                hint: "see that the disk has room and that its directory can be written")
        }
    }
}
