import Glibc
import Linux

/// What is to be done about the copy of a key. The node encrypts a plaintext key where it stands, not atomically, so a kill or a loss of power at
/// that moment can destroy it: until a node has been ready with what it made of the key, a copy of the plaintext lies beside the passphrase.
public enum KeyCopyStep: Sendable, Equatable {
    /// Nothing: the key is used, or refused, as it is.
    case nothing
    /// Make the copy.
    case keep
    /// Put the copy in the key's place.
    case restore
    /// Delete the copy.
    case forget

    /// When it is asked for.
    public enum Moment: Sendable, CaseIterable {
        /// Before a host is started.
        case start
        /// The node has refused a key that was encrypted before it was started.
        case refused
        /// The node is ready.
        case ready
    }

    /// What to do at this moment with these two files.
    public init(_ moment: Moment, key: KeyState, copy: KeyState) {
        let hasCopy = copy == .plaintext
        switch (moment, key) {
        case (.start, .plaintext): self = .keep
        case (.start, .damaged), (.start, .missing): self = hasCopy ? .restore : .nothing
        // As many bytes as there must be, and torn perhaps all the same: only the node can tell.
        case (.start, .encrypted): self = .nothing
        // No torn file is a whole key: somebody put it there, and means it.
        case (.start, .invalid): self = .nothing
        case (.refused, .encrypted): self = hasCopy ? .restore : .nothing
        case (.refused, .plaintext), (.refused, .damaged), (.refused, .missing), (.refused, .invalid): self = .nothing
        case (.ready, .encrypted): self = copy == .missing ? .nothing : .forget
        case (.ready, .plaintext), (.ready, .damaged), (.ready, .missing), (.ready, .invalid): self = .nothing
        }
    }
}

extension Keys {
    /// Its name in the account's directory.
    static let copyFile = "key.before-encryption"

    /// What the copy is; `missing`: there is none.
    public func copyState() throws(AccountsError) -> KeyState {
        guard let bytes = try read(Keys.copyFile, in: account()) else { return .missing }
        return KeyState(reading: bytes)
    }

    /// Makes the copy of a plaintext key, or makes it anew: whole and on disk, mode 0600.
    public func keepCopy() throws(AccountsError) {
        let directory = try open(create: false)
        guard let key = try read(Keys.keyFile, in: directory), KeyState(reading: key) == .plaintext else {
            throw AccountsError(
                .damaged, "it has changed just now", "\(directory.path)/\(Keys.keyFile)",
                hint: "see who else writes to it")
        }
        try account().replace(Keys.copyFile, with: key, keeping: nil)
    }

    /// Puts the copy in the key's place, and leaves it where it is too. What stood there is kept beside it; its path is answered, nil when there was
    /// nothing.
    public func restoreCopy() throws(AccountsError) -> String? {
        let account = try account()
        guard let copy = try read(Keys.copyFile, in: account), KeyState(reading: copy) == .plaintext else {
            throw AccountsError(
                .damaged, "it is no copy of a key", "\(account.path)/\(Keys.copyFile)",
                hint: "import the account's key")
        }
        let directory = try open(create: true)
        let kept = directory.holds(Keys.keyFile) ? Keys.keptName : nil
        try directory.replace(Keys.keyFile, with: copy, keeping: kept)
        return kept.map { "\(directory.path)/\($0)" }
    }

    /// Deletes the copy, for good, once what the node made of the key is on disk: the node itself does not wait for that.
    public func forgetCopy() throws(AccountsError) {
        let directory = try open(create: false)
        let file = try directory.file(Keys.keyFile, O_RDONLY)
        guard fsync(file.raw) == 0, fsync(directory.descriptor.raw) == 0 else {
            let path = "\(directory.path)/\(Keys.keyFile)"
            throw AccountsError(.last("fsync", path), path)
        }
        try account().deleteTree(Keys.copyFile)
    }
}
