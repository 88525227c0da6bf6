import Glibc
import Linux
import Wire

/// How an account comes into being and how it goes. The registry says what is being done before it is done, so that a process may end at any
/// moment: `finish`, at the next start, does the rest.
public struct AccountLife {
    private let root: Root
    private let registry: Registry

    /// The accounts of a root, whose lock the caller holds.
    public init(root: Root, registry: Registry) {
        self.root = root
        self.registry = registry
    }

    /// Makes an account: its directories, and on a simulated network a random key and passphrase. What was begun and not finished before is
    /// finished. `exists`: there is one, or, unless `adopting`, files that the registry does not know stand in its place. After any error
    /// nothing of it is left.
    ///
    /// - Parameter adopting: whether files that stand there are taken as those of the account.
    public func create(_ profile: Profile, isSimulated: Bool, adopting: Bool = false) throws(AccountsError) {
        let isBegun = try registry.account(profile)?.step == .creating
        let mayHaveFiles = adopting || isBegun
        if !mayHaveFiles { try refuseStrangers(profile) }
        if !isBegun { try registry.add(profile, isSimulated: isSimulated, step: .creating) }
        do throws(AccountsError) {
            try complete(profile, isSimulated: isSimulated)
        } catch {
            // What cannot be undone now is finished by the next try or the next start.
            if !mayHaveFiles { try? directory(of: profile.network).deleteTree(profile.account) }
            if !isBegun { try? registry.forget(profile) }
            throw error
        }
    }

    private func complete(_ profile: Profile, isSimulated: Bool) throws(AccountsError) {
        let prefix = root.prefix(profile)
        try prefix.make()
        // A simulated node's key is worth nothing, so it is made here; a real one is only ever brought by its owner.
        if isSimulated { try Keys(prefix).createDemo() }
        try registry.setStep(.there, of: profile)
    }

    private func refuseStrangers(_ profile: Profile) throws(AccountsError) {
        let network: PrivateDirectory
        do { network = try directory(of: profile.network) } catch {
            guard error.code == .missing else { throw error }
            return
        }
        guard network.holds(profile.account) else { return }
        guard try registry.account(profile) == nil else { return }
        throw AccountsError(
            .exists, "files that the registry does not know stand in this account's place",
            root.prefix(profile).path, hint: "move them away, or name the account as start in the configuration")
    }

    /// Takes an account that is not in use out of the registry and moves its files to `.removed/<network>-<account>-<time>`; with `purge` the
    /// name ends in `.purge`, and `purge` deletes them. `missing`: there is none; `locked`: a process still uses it. `lastSeq` raises the ceiling
    /// first. Answers where the files are now.
    public func remove(_ profile: Profile, purge: Bool, lastSeq: Int64, under lock: borrowing RootLock)
        throws(AccountsError) -> String
    {
        guard try registry.account(profile)?.step == .there else {
            throw AccountsError(.missing, "there is no account \(profile)", root.database, hint: "list the accounts")
        }
        let held = try takeLock(of: profile, under: lock)
        let name =
            "\(profile.network)-\(profile.account)-\(WallClock.microseconds)" + (purge ? AccountLife.doomed : "")
        if lastSeq > 0 { try registry.raiseCeiling(of: profile, to: lastSeq) }
        try registry.setStep(.removing(as: name), of: profile)
        do throws(AccountsError) { try move(profile, to: name) } catch {
            try? registry.setStep(.there, of: profile)
            throw error
        }
        _ = consume held
        try registry.forget(profile)
        return "\(root.path)/\(AccountLife.trash)/\(name)"
    }

    /// The lock of the account, so that no orphaned host loses its files while it runs; nil when there are no files.
    private func takeLock(of profile: Profile, under lock: borrowing RootLock) throws(AccountsError) -> AccountLock? {
        let prefix = root.prefix(profile)
        do throws(AccountsError) {
            switch try AccountLock.tryTake(prefix, under: lock) {
            case .taken(let held): return held
            case .held(.orphan(let pid)): throw locked(prefix, pid)
            case .held(.other(let pid)): throw locked(prefix, pid)
            }
        } catch {
            guard error.code == .missing else { throw error }
            return nil
        }
    }

    private func locked(_ prefix: Prefix, _ pid: Int32?) -> AccountsError {
        AccountsError(
            .locked, "\(pid.map { "process \($0)" } ?? "another process") uses this account", prefix.lockFile,
            hint: "end it first", holder: pid)
    }

    private func move(_ profile: Profile, to name: String) throws(AccountsError) {
        var notes: [String] = []
        let network: PrivateDirectory
        do { network = try directory(of: profile.network) } catch {
            guard error.code == .missing else { throw error }
            return
        }
        guard network.holds(profile.account) else { return }
        let trash = try root.open().child(AccountLife.trash, create: true, &notes)
        try network.move(profile.account, to: trash, as: name)
    }

    /// Finishes what an earlier process began. Answers what it did, and what it could not do, in words.
    public func finish() throws(AccountsError) -> [String] {
        var notes: [String] = []
        for account in try registry.accounts() {
            let profile = account.profile
            do throws(AccountsError) {
                switch account.step {
                case .there: continue
                case .creating:
                    try complete(profile, isSimulated: account.isSimulated)
                    notes.append("the creation of account \(profile) was cut short and is finished now")
                case .removing(let name):
                    try move(profile, to: name)
                    try registry.forget(profile)
                    notes.append(
                        "the removal of account \(profile) was cut short and is finished now: "
                            + "\(root.path)/\(AccountLife.trash)/\(name)")
                }
            } catch {
                notes.append("account \(profile) is neither whole nor gone: \(error)")
            }
        }
        return notes
    }

    private func directory(of network: String) throws(AccountsError) -> PrivateDirectory {
        var notes: [String] = []
        return try root.open().child(network, create: false, &notes)
    }

    /// No account and no network can have this name.
    fileprivate static let trash = ".removed"
    /// What the names of files that are to be deleted end with.
    fileprivate static let doomed = ".purge"
}

extension Root {
    /// Deletes the files of all accounts that were removed for good. It may take long; any thread may do it. After an error the rest stays
    /// for the next call.
    public func purge() throws(AccountsError) {
        var notes: [String] = []
        let trash: PrivateDirectory
        do { trash = try open().child(AccountLife.trash, create: false, &notes) } catch {
            guard error.code == .missing else { throw error }
            return
        }
        for name in try trash.names() where name.hasSuffix(AccountLife.doomed) { try trash.deleteTree(name) }
    }
}
