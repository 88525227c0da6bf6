import Glibc
import Linux

/// The key and passphrase of an account. They are read only to be handed to its host.
public struct Keys: Sendable {
    private let prefix: Prefix

    /// The keys of the account at `prefix`.
    public init(_ prefix: Prefix) { self.prefix = prefix }

    /// Longest passphrase that is read, in bytes.
    public static let passphraseLimit = 1024

    private static let passphraseFile = "passphrase"
    static let keyFile = "key"
    /// What the key is called that another one has replaced.
    static var keptName: String { "\(keyFile).replaced-\(WallClock.microseconds)" }

    /// Makes a random passphrase and a random key (64 hex digits, which the node encrypts on its first read) for an account of a simulated
    /// network, both mode 0600; what is there is kept. False when both were there. A key without its passphrase is refused: with another one
    /// it would be lost.
    @discardableResult
    public func createDemo() throws(AccountsError) -> Bool {
        let account = try account()
        let directory = try open(create: true)
        let hasKey = directory.holds(Keys.keyFile) || account.holds(Keys.copyFile)
        let hasPassphrase = account.holds(Keys.passphraseFile)
        guard hasPassphrase || !hasKey else {
            throw AccountsError(
                .missing, "the account has a key, and its passphrase is not there", "\(account.path)/passphrase",
                hint: "put the passphrase of this key there")
        }
        // The passphrase first: a key must never be there without one.
        if !hasPassphrase { try account.write(new: Keys.passphraseFile, Keys.randomHex()) }
        if !hasKey { try directory.write(new: Keys.keyFile, Keys.randomHex()) }
        return !hasKey || !hasPassphrase
    }

    /// The passphrase in the account's own file `passphrase`, without a line end; nil when there is no such file.
    public func passphrase() throws(AccountsError) -> [UInt8]? {
        let account = try account()
        guard account.holds(Keys.passphraseFile) else { return nil }
        let path = "\(account.path)/\(Keys.passphraseFile)"
        let file = try account.file(Keys.passphraseFile, O_RDONLY)
        let bytes: [UInt8]
        do { bytes = try file.readAll(limit: Keys.passphraseLimit + 2) } catch { throw AccountsError(error, path) }
        guard let passphrase = Keys.passphrase(in: bytes) else {
            throw AccountsError(
                .damaged, "it is not \(Keys.passphraseRule)", path,
                hint: "put the passphrase of the account's key there"
            )
        }
        return passphrase
    }

    /// The passphrase that a source gave, without a line end; nil when it is none that a node could be given.
    public static func passphrase(in bytes: [UInt8]) -> [UInt8]? {
        let line = bytes.last == 0x0a ? bytes.dropLast() : bytes[...]
        guard (1...passphraseLimit).contains(line.count), !line.contains(0), !line.contains(0x0a) else { return nil }
        return Array(line)
    }

    /// What a passphrase is, for error messages.
    public static let passphraseRule = "one line of 1 to \(passphraseLimit) bytes without a NUL"

    /// What the key file is; `unsafePath`: a link stands in its place or above it. With `withoutReading` by its size alone, as suits an account
    /// that is not the active one.
    public func state(withoutReading: Bool = false) throws(AccountsError) -> KeyState {
        let directory: PrivateDirectory
        do { directory = try open(create: false) } catch {
            guard error.code == .missing else { throw error }
            return .missing
        }
        guard withoutReading else {
            guard let bytes = try read(Keys.keyFile, in: directory) else { return .missing }
            return KeyState(reading: bytes)
        }
        guard let size = try directory.size(of: Keys.keyFile) else { return .missing }
        return size == KeyState.encryptedBytes
            ? .encrypted : (64...66).contains(size) ? .plaintext : .damaged("it has \(size) bytes")
    }

    /// Writes a key, plaintext, for the node to encrypt on its first start: whole or not at all, mode 0600. A key that is there already, or the
    /// copy of one, is refused with `exists`, unless `replacing`; then an encrypted one is kept beside it, since it may be the only way to
    /// money, and its path is answered. A plaintext one and a copy are not kept. The caller holds the account's lock or knows that no node runs.
    public func importKey(_ key: FundingKey, replacing: Bool) throws(AccountsError) -> String? {
        let account = try account()
        let old = try state()
        let hasCopy = account.holds(Keys.copyFile)
        let directory = try open(create: true)
        guard old != .missing || hasCopy else {
            try directory.write(new: Keys.keyFile, key.digits)
            return nil
        }
        guard replacing else {
            throw AccountsError(
                .exists, "the account has a key already (\(old == .missing ? "a copy of it" : old.word))",
                "\(directory.path)/\(Keys.keyFile)",
                hint: "with replace it makes room for the new one; make sure that nothing depends on it")
        }
        let kept = old == .plaintext || old == .missing ? nil : Keys.keptName
        try directory.replace(Keys.keyFile, with: key.digits, keeping: kept)
        // Last: beside the new key it does no harm, and the old one must not lose it to an import that was cut short.
        if hasCopy { try account.deleteTree(Keys.copyFile) }
        return kept.map { "\(directory.path)/\($0)" }
    }

    /// Removes what a process that was cut short has left: a plaintext key that nobody looks for. Before a host is started.
    public func tidy() throws(AccountsError) {
        try account().remove(PrivateDirectory.unfinished(Keys.copyFile))
        do { try open(create: false).remove(PrivateDirectory.unfinished(Keys.keyFile)) } catch {
            guard error.code == .missing else { throw error }
        }
    }

    func account() throws(AccountsError) -> PrivateDirectory {
        var notes: [String] = []
        return try prefix.open(create: false, &notes)
    }

    /// The directory of the key.
    func open(create: Bool) throws(AccountsError) -> PrivateDirectory {
        var notes: [String] = []
        return try account().child("node", create: create, &notes).child("ckb", create: create, &notes)
    }

    /// What a file holds that may hold a key; nil: there is none.
    func read(_ name: String, in directory: borrowing PrivateDirectory) throws(AccountsError) -> [UInt8]? {
        guard try directory.size(of: name) != nil else { return nil }
        let file = try directory.file(name, O_RDONLY)
        do { return try file.readAll(limit: 4096) } catch { throw AccountsError(error, "\(directory.path)/\(name)") }
    }

    /// 32 bytes of the system's random source as 64 hex digits.
    private static func randomHex() -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return (0..<64).map { _ in digits[Int.random(in: 0..<16)] }
    }
}
