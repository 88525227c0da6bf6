// Accounts: where everything is on disk, and whose turn it is there: the root and the prefix of each account, their locks, the registry of
// accounts, how they come and go, and their keys. Start here; then read Prefix.swift, Locks.swift, LockHolders.swift, Registry.swift,
// AccountLife.swift and Keys.swift.

import Glibc
import Linux
import Wire

/// The directory that one supervisor keeps everything in.
public struct Root: Sendable, Equatable {
    /// Its real path: absolute, without symbolic links.
    public let path: String

    /// The registry: accounts and the chosen profile.
    public var database: String { path + "/supervisor.sqlite" }
    /// The file whose lock makes one supervisor the only one.
    public var lockFile: String { path + "/.lock" }

    /// Where an account's files are.
    public func prefix(_ profile: Profile) -> Prefix { Prefix(root: self, profile: profile) }

    /// Opens the root at `path`, making it and its missing parents with mode 0700. Links in the path are followed: it is the operator's choice,
    /// and nothing below it may be one. A root of another user is refused; a mode other than 0700 is set right, which a note then says.
    public static func make(at path: String) throws(AccountsError) -> (root: Root, notes: [String]) {
        var missing: [String] = []
        var existing = path.hasPrefix("/") ? path : "./" + path
        while access(existing, F_OK) != 0 {
            guard errno == ENOENT, let slash = existing.lastIndex(of: "/"), slash > existing.startIndex else {
                throw AccountsError(.last("open", existing), existing)
            }
            missing.append(existing)
            existing = String(existing[..<slash])
        }
        for directory in missing.reversed() {
            guard mkdir(directory, 0o700) == 0 || errno == EEXIST, chmod(directory, 0o700) == 0 else {
                throw AccountsError(.last("mkdir", directory), directory)
            }
        }
        guard let resolved = realpath(path, nil) else { throw AccountsError(.last("open", path), path) }
        defer { free(resolved) }
        let root = Root(path: String(cString: resolved))
        var notes: [String] = []
        _ = try PrivateDirectory.root(root.path, &notes)
        return (root, notes)
    }

    func open() throws(AccountsError) -> PrivateDirectory {
        var notes: [String] = []
        return try PrivateDirectory.root(path, &notes)
    }
}
