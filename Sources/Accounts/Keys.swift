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
    private static let keyFile = "key"

    /// Makes a random passphrase and a random key (64 hex digits, which the node encrypts on its first read) for an account of a simulated
    /// network, both mode 0600; what is there is kept. False when both were there. A key without its passphrase is refused: with another one
    /// it would be lost.
    @discardableResult
    public func createDemo() throws(AccountsError) -> Bool {
        var notes: [String] = []
        let account = try prefix.open(create: false, &notes)
        let node = try account.child("node", create: true, &notes)
        let directory = try node.child("ckb", create: true, &notes)
        let hasKey = directory.holds(Keys.keyFile)
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

    /// The passphrase, without a line end; nil when there is none.
    public func passphrase() throws(AccountsError) -> [UInt8]? {
        var notes: [String] = []
        let account = try prefix.open(create: false, &notes)
        guard account.holds(Keys.passphraseFile) else { return nil }
        let path = "\(account.path)/\(Keys.passphraseFile)"
        let file = try account.file(Keys.passphraseFile, O_RDONLY)
        var bytes: [UInt8]
        do { bytes = try file.readAll(limit: Keys.passphraseLimit + 2) } catch { throw AccountsError(error, path) }
        if bytes.last == 0x0a { bytes.removeLast() }
        guard (1...Keys.passphraseLimit).contains(bytes.count), !bytes.contains(0), !bytes.contains(0x0a) else {
            throw AccountsError(
                .damaged, "it is not one line of 1 to \(Keys.passphraseLimit) bytes without a NUL", path,
                hint: "put the passphrase of the account's key there")
        }
        return bytes
    }

    /// 32 bytes of the system's random source as 64 hex digits.
    private static func randomHex() -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return (0..<64).map { _ in digits[Int.random(in: 0..<16)] }
    }
}
