import Foundation
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

    private static let writing = Lock(())

    /// Writes one line.
    public static func write(
        _ level: Level, _ component: String, _ message: String, _ fields: KeyValuePairs<String, String> = [:]
    ) {
        var line = "\(Timestamp.text(WallClock.microseconds)) \(level.rawValue) \(component): \(oneLine(message))"
        for (key, value) in fields { line += " \(key)=\(field(value))" }
        line += "\n"
        writing.withLock { _ in FileHandle.standardError.write(Data(line.utf8)) }
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
