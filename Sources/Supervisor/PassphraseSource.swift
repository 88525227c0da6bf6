import Accounts
import Glibc
import Linux
import Wire

/// Where an account's passphrase comes from: `passphrase` of a network in the configuration. `{network}` and `{account}` in it stand for the
/// account's.
public enum PassphraseSource: Sendable, Equatable {
    /// The file `passphrase` in the account's directory.
    case account
    /// The one line of a file.
    case file(String)
    /// A credential that systemd hands to the supervisor's unit (https://systemd.io/CREDENTIALS).
    case credential(String)
    /// What a program writes to its standard output: its path, and its arguments. No shell reads them.
    case command([String])

    /// What is allowed between braces.
    static let placeholders = ["{network}", "{account}"]

    /// The source of one account.
    func filled(for profile: Profile) -> PassphraseSource {
        func fill(_ text: String) -> String {
            text.replacing("{network}", with: profile.network).replacing("{account}", with: profile.account)
        }
        switch self {
        case .account: return self
        case .file(let path): return .file(fill(path))
        case .credential(let name): return .credential(fill(name))
        case .command(let words): return .command(words.map(fill))
        }
    }

    /// What errors call it: never what it holds, nor a program's arguments.
    var name: String {
        switch self {
        case .account: "the account's file passphrase"
        case .file(let path): "the file \(path)"
        case .credential(let name): "the credential \(name)"
        case .command(let words): "the command \(words.first ?? "")"
        }
    }

    /// Reads what is there to be read at once; nil for a command, which is run by `PassphraseCommand`.
    func read(_ keys: Keys) throws(PassphraseRefusal) -> [UInt8]? {
        switch self {
        case .account:
            let found: [UInt8]?
            do { found = try keys.passphrase() } catch {
                throw PassphraseRefusal(.invalid, error.description)
            }
            guard let found else {
                throw PassphraseRefusal(
                    .missing,
                    "there is no file passphrase in the account's directory, and the network names no other source")
            }
            return found
        case .file(let path): return try read(path)
        case .credential(let credential):
            guard let directory = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }), !directory.isEmpty
            else {
                throw PassphraseRefusal(
                    .missing, "\(name) cannot be had: systemd gave this process no credentials (LoadCredential=)")
            }
            return try read("\(directory)/\(credential)")
        case .command: return nil
        }
    }

    private func read(_ path: String) throws(PassphraseRefusal) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            // Non-blocking, so that a FIFO of that name does not hold us up.
            let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
            var status = stat()
            guard fstat(file.raw, &status) == 0 else { throw .last("stat", path) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw SystemError(code: EINVAL, call: "read", subject: path)
            }
            if status.st_mode & 0o007 != 0 {
                Log.write(.warning, "accounts", "\(name) can be read by every user of this machine")
            }
            bytes = try file.readAll(limit: Keys.passphraseLimit + 2)
        } catch {
            throw PassphraseRefusal(.missing, "\(name) cannot be read: \(error.reason)")
        }
        return try check(bytes)
    }

    /// The passphrase in what a source gave.
    func check(_ bytes: [UInt8]) throws(PassphraseRefusal) -> [UInt8] {
        guard let passphrase = Keys.passphrase(in: bytes) else {
            throw PassphraseRefusal(.invalid, "\(name) did not give \(Keys.passphraseRule)")
        }
        return passphrase
    }
}

/// Why there is no passphrase; never with any of it.
struct PassphraseRefusal: Error {
    /// Stable words.
    enum Reason: String {
        /// There is none where it should be.
        case missing = "passphrase_missing"
        /// What is there cannot be one.
        case invalid = "passphrase_invalid"
        /// The command failed, which may pass.
        case unavailable = "passphrase_unavailable"
    }

    let reason: Reason
    let message: String

    init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
