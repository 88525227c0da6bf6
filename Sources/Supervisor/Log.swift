import Linux
import Wire

/// The supervisor's log: one line an event on stderr: time, level, component, message, key=value. No secret is ever handed to it.
public enum Log {
    /// How much a line matters.
    public enum Level: String, Sendable {
        /// What an operator may want to know.
        case info
        /// What an operator should look at.
        case warning
        /// What an operator must act on.
        case error
    }

    /// How many lines stderr did not take since it last took one.
    private static let dropped = Lock(0)

    /// Writes one line.
    public static func write(
        _ level: Level, _ component: String, _ message: String, _ fields: KeyValuePairs<String, String> = [:]
    ) {
        var line = "\(Timestamp.text(WallClock.microseconds)) \(level.rawValue) \(component): \(oneLine(message))"
        for (key, value) in fields { line += " \(key)=\(field(value))" }
        offer(line)
    }

    /// Writes a line if stderr takes it now. A log that is read slowly, or stands on a full disk, must neither hold the node's supervisor up nor
    /// end it; how many lines it cost is said with the first one that gets through.
    private static func offer(_ line: String) {
        let bytes = cut(line)
        dropped.withLock { count in
            if count > 0 {
                let note = "\(Timestamp.text(WallClock.microseconds)) warning log: lines were dropped count=\(count)"
                guard StandardStream.errors.offer(cut(note)) else { return count += 1 }
                count = 0
            }
            if !StandardStream.errors.offer(bytes) { count += 1 }
        }
    }

    /// A line with its end, and no longer than what is written at once.
    private static func cut(_ line: String) -> [UInt8] {
        let room = StandardStream.lineLimit - 1
        guard line.utf8.count > room else { return Array(line.utf8) + [0x0a] }
        // A character that the cut halves is shown as one that is broken, which is as long as the dots.
        let kept = String(decoding: line.utf8.prefix(room - 6), as: UTF8.self)
        return Array("\(kept)…\n".utf8)
    }

    /// Writes an `info` line.
    public static func info(_ component: String, _ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        write(.info, component, message, fields)
    }

    /// A value as it stands in a line: quoted when it holds anything but plain characters.
    private static func field(_ value: String) -> String {
        let plain = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x3d && $0 != 0x5c }
        return plain && !value.isEmpty ? value : JSON.string(value).encoded
    }

    /// Control characters escaped, so that what an error quotes cannot forge a line.
    private static func oneLine(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else { return text }
        return String(JSON.string(text).encoded.dropFirst().dropLast())
    }
}
