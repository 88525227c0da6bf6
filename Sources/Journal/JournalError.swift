import Glibc
import Linux
import SQLite

/// Why the journal could not be opened, written or read. The file is kept as it is, whatever the reason.
public struct JournalError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong.
    public enum Code: Sendable, Equatable {
        /// The disk does not take it or does not give it: full, read-only, failing, not permitted.
        case storage
        /// Another process held the database for longer than the busy timeout.
        case busy
        /// The file is no sound journal.
        case damaged
        /// The file was written by a later version.
        case newerSchema
        /// The file is the journal of another network or account.
        case wrongProfile
        /// There is no such file.
        case missing
        /// A symbolic link, something that is no file, or another user's file stands there.
        case unsafePath
        /// A record is none that the journal may take, such as one of a run that never began.
        case invalidRecord
    }

    /// What went wrong.
    public let code: Code
    /// What happened, as a sentence without its file.
    public let message: String
    /// The journal's file.
    public let path: String
    /// What to do next.
    public let hint: String

    /// Whether the same call may succeed later without anything being changed here.
    public var isRetryable: Bool { code == .busy || code == .storage }

    /// A sentence for an operator.
    public var description: String { "journal \(path): \(message); \(hint)" }

    init(_ code: Code, _ message: String, _ path: String, hint: String) {
        self.code = code
        self.message = message
        self.path = path
        self.hint = hint
    }

    static func damaged(_ message: String, _ path: String) -> JournalError {
        JournalError(
            .damaged, message, path,
            hint: "it is kept as it is; restore it from a copy, or move it away to begin a new one")
    }

    /// What SQLite reported, in our terms.
    init(_ error: SQLiteError) {
        if error.isBusy {
            self.init(
                .busy, "another process holds it (\(error.message))", error.path,
                hint: "end whatever else has the file open")
        } else if error.isDamage || error.isConstraint || error.isMismatch {
            self = .damaged("it is not sound (\(error.message), SQLite \(error.code))", error.path)
        } else {
            self.init(
                .storage, "SQLite reports \(error.message) (\(error.code))", error.path,
                hint: "see that the disk has room and that the file and its directory can be written")
        }
    }

    /// What the kernel said about the file.
    init(_ error: SystemError, _ path: String) {
        switch error.code {
        case ENOENT:
            self.init(.missing, "there is no such file", path, hint: "it is made when the account's node first starts")
        case ELOOP:
            self.init(.unsafePath, "a symbolic link stands in its place", path, hint: "put the file itself there")
        case EINVAL:
            self.init(.unsafePath, "what stands there is no file", path, hint: "move it away")
        case EPERM:
            self.init(.unsafePath, "it belongs to another user", path, hint: "run as the user the data belongs to")
        default:
            self.init(
                .storage, error.description, path,
                hint: "see that the disk has room and that the directory can be written")
        }
    }
}
