import Glibc
import Wire

/// Where the files of one account are. The names were checked when the profile was made.
public struct Prefix: Sendable, Equatable {
    /// The root it is below.
    public let root: Root
    /// Whose it is.
    public let profile: Profile

    /// The account's directory.
    public var path: String { "\(root.path)/\(profile)" }
    /// The file whose lock makes one node the only one.
    public var lockFile: String { path + "/.lock" }
    /// What the node said and the journal does not hold yet.
    public var ring: String { path + "/events.ring" }
    /// Every event of the account.
    public var journal: String { path + "/journal.sqlite" }
    /// The native library's data directory.
    public var node: String { path + "/node" }
    /// Where the node's own log and output go.
    public var log: String { path + "/log" }

    /// Makes the account's directories (mode 0700) where they are missing. A component that is a symbolic link or another user's is refused; a
    /// mode other than 0700 is set right, which a note then says.
    @discardableResult
    public func make() throws(AccountsError) -> [String] {
        var notes: [String] = []
        let account = try open(create: true, &notes)
        _ = try account.child("node", create: true, &notes)
        _ = try account.child("log", create: true, &notes)
        return notes
    }

    /// Checks that the account's directory is there and reached without a symbolic link: before its journal is read while another account runs.
    public func check() throws(AccountsError) {
        var notes: [String] = []
        _ = try open(create: false, &notes)
    }

    /// Checks that the account could run: that its directory takes a file, and that the disk has room for `bytes`. Before anything is stopped for
    /// its sake.
    public func checkRoom(bytes: Int64) throws(AccountsError) {
        var notes: [String] = []
        let account = try open(create: true, &notes)
        account.remove(try account.write(unfinished: "trial", [0]))
        var disk = statvfs()
        guard fstatvfs(account.descriptor.raw, &disk) == 0 else { throw AccountsError(.last("statvfs", path), path) }
        let free = Int64(clamping: UInt64(disk.f_bavail)).multipliedReportingOverflow(by: Int64(disk.f_frsize))
        guard free.overflow || free.partialValue >= bytes else {
            throw AccountsError(
                .storage, "the disk has only \(free.partialValue) bytes left, and \(bytes) are needed", path,
                hint: "make room on the disk")
        }
    }

    func open(create: Bool, _ notes: inout [String]) throws(AccountsError) -> PrivateDirectory {
        let top = try PrivateDirectory.root(root.path, &notes)
        let network = try top.child(profile.network, create: create, &notes)
        return try network.child(profile.account, create: create, &notes)
    }
}
