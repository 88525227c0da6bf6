import Glibc
import Linux
import Supervisor
import Wire

/// Where a key comes from: a file, a pipe, or a person at a terminal, who does not see it. Never from an argument.
enum KeyInput {
    /// Longest text taken, in bytes: more is no key.
    private static let limit = 1024

    /// The text of a key, as it was given. `file`: its path; nil: standard input.
    static func read(file: String?, for profile: Profile) throws(Failure) -> String {
        let bytes: [UInt8]
        if let file {
            do throws(SystemError) {
                bytes = try Descriptor.open(file, O_RDONLY).readAll(limit: limit + 1)
            } catch {
                throw Failure(.refused, "\(file) cannot be read: \(error.reason)")
            }
        } else if isatty(STDIN_FILENO) == 1 {
            bytes = try ask("Key of \(profile) (64 hex digits, not shown): ")
        } else {
            let input = Descriptor(taking: dup(STDIN_FILENO))
            do throws(SystemError) { bytes = try input.readAll(limit: limit + 1) } catch {
                throw Failure(.refused, "standard input cannot be read: \(error.reason)")
            }
        }
        guard !bytes.isEmpty else { throw Failure(.refused, "no key was given") }
        guard bytes.count <= limit, let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.refused, "what was given is no key: a key is 64 hex digits")
        }
        return text
    }

    /// Whether a word of the command line is a key, or was meant to be one.
    static func looksLikeKey(_ word: String) -> Bool {
        let digits = word.hasPrefix("0x") || word.hasPrefix("0X") ? word.dropFirst(2) : word[...]
        return digits.utf8.count >= 32 && digits.allSatisfy { $0.isHexDigit && $0.isASCII }
    }

    /// What is said to whoever put one there.
    static let notThere =
        "a key does not belong on a command line: every process of this machine can read it there, and the shell keeps it. "
        + "Best take a new key. Then let `nodebus account import-key NETWORK/ACCOUNT` ask for it, or read it with --file FILE "
        + "or from standard input"

    /// How the terminal was before it was told not to show what is typed; a signal that ends us restores it.
    nonisolated(unsafe) private static var before = termios()

    private static func ask(_ prompt: String) throws(Failure) -> [UInt8] {
        guard tcgetattr(STDIN_FILENO, &before) == 0 else {
            throw Failure(.refused, "the terminal cannot be kept from showing the key; use --file")
        }
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            signal(number) { number in
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &KeyInput.before)
                _exit(128 + number)
            }
        }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0 else {
            throw Failure(.refused, "the terminal cannot be kept from showing the key; use --file")
        }
        _ = Array(prompt.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            printError("")
        }
        // A terminal gives one line at a time; its end is none of the key.
        var line = [UInt8](repeating: 0, count: limit + 1)
        let count = Glibc.read(STDIN_FILENO, &line, line.count)
        guard count > 0 else { return [] }
        return line[..<count].filter { $0 != 0x0a }
    }
}
