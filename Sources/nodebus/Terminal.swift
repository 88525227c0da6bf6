import Glibc
import Supervisor
import Wire

/// Standard output, gathered so that history prints fast. A reader that went away (`| head`) ends the program quietly.
final class Output {
    /// The main thread's; nothing else prints.
    nonisolated(unsafe) static let shared = Output()

    private var buffer: [UInt8] = []
    /// Whether a person reads it.
    let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Whether to colour: on a terminal that can, unless NO_COLOR is set (https://no-color.org).
    var colours: Bool {
        guard isTerminal, getenv("TERM").map({ String(cString: $0) }) != "dumb" else { return false }
        return getenv("NO_COLOR").map { String(cString: $0).isEmpty } ?? true
    }

    /// How many columns the terminal has; nil when it is none.
    var width: Int? {
        var size = winsize()
        guard isTerminal, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// A line of text.
    func print(_ text: String) { print(Array(text.utf8)) }

    /// A line of bytes.
    func print(_ bytes: [UInt8]) {
        buffer += bytes
        buffer.append(0x0a)
        if buffer.count > 1 << 16 { flush() }
    }

    /// A JSON value: with line breaks for a person, on one line for a program.
    func print(json text: [UInt8]) {
        guard isTerminal, let json = try? JSON.parse(text) else { return print(text) }
        print(pretty(json))
    }

    /// Ends the program when nobody reads any more: without it, a quiet `watch | head` would stay until the next event.
    func endIfReaderIsGone() {
        var entry = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        if poll(&entry, 1, 0) == 1, Int32(entry.revents) & POLLERR != 0 { exit(0) }
    }

    /// Writes what was gathered; the program's last step.
    func finish() -> ExitCode {
        flush()
        return .done
    }

    /// Writes what was gathered.
    func flush() {
        var start = 0
        while start < buffer.count {
            let count = buffer.withUnsafeBytes {
                write(STDOUT_FILENO, $0.baseAddress.map { $0 + start }, $0.count - start)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                if errno == EPIPE { exit(0) }
                printError("nodebus: standard output: \(String(cString: strerror(errno)))")
                exit(1)
            }
            start += count
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// A line on standard error.
func printError(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    // Where stderr cannot be written nothing is left to tell it to.
    _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Colours of a terminal (ECMA-48).
enum Colour: String {
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case cyan = "36"

    func paint(_ text: String) -> String { "\u{1b}[\(rawValue)m\(text)\u{1b}[0m" }
}

/// A text from outside with everything that a terminal would obey instead of show (controls, changes of direction)
/// written as an escape.
func visible(_ text: String) -> String {
    func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
    guard text.unicodeScalars.contains(where: isObeyed) else { return text }
    return text.unicodeScalars.reduce(into: "") { out, scalar in
        if isObeyed(scalar) {
            let digits = String(scalar.value, radix: 16)
            out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        } else {
            out.unicodeScalars.append(scalar)
        }
    }
}

/// JSON with a line for each member and element.
func pretty(_ json: JSON, indent: String = "") -> String {
    let inner = indent + "  "
    switch json {
    case .array(let elements) where !elements.isEmpty:
        let lines = elements.map { inner + pretty($0, indent: inner) }
        return "[\n\(lines.joined(separator: ",\n"))\n\(indent)]"
    case .object(let members) where !members.isEmpty:
        let lines = members.map {
            "\(inner)\(visible(JSON.string($0.key).encoded)): \(pretty($0.value, indent: inner))"
        }
        return "{\n\(lines.joined(separator: ",\n"))\n\(indent)}"
    case .null, .bool, .integer, .number, .string, .array, .object: return visible(json.encoded)
    }
}
