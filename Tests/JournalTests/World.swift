import Foundation
import Journal
import SQLite
import Testing
import Wire

/// A scratch directory with the journal of one account; gone with the test.
final class World {
    let directory: String
    let profile: Profile
    var path: String { directory + "/journal.sqlite" }

    init() throws {
        profile = try #require(Profile("dev/demo"))
        directory = NSTemporaryDirectory() + "nodebus-journal-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func open(busyTimeoutMilliseconds: Int32 = 5000) throws -> Journal {
        try Journal.open(path: path, profile: profile, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
    }

    /// A journal whose run has begun.
    func openInRun(_ run: Int64 = 1, busyTimeoutMilliseconds: Int32 = 5000) throws -> Journal {
        let journal = try open(busyTimeoutMilliseconds: busyTimeoutMilliseconds)
        _ = try journal.append(Intake(), beginsRun: run)
        return journal
    }

    /// Runs SQL on the file as another program would.
    func execute(_ sql: String) throws { try Connection(path: path).execute(sql) }

    /// Deletes the oldest events, as retention does.
    func trim(through seq: Int64) throws { try execute("DELETE FROM events WHERE seq <= \(seq)") }

    /// What the journal holds of an event.
    func storedPayload(_ seq: Int64) throws -> [UInt8] {
        let row = try Connection(path: path).prepare("SELECT payload FROM events WHERE seq = \(seq)")
        try #require(try row.step())
        return row.blob(0)
    }

    func reader() throws -> JournalReader { try JournalReader(path: path, profile: profile) }

    func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: directory + "/" + name)
        return try #require(attributes[.posixPermissions] as? Int)
    }
}

extension Intake {
    /// Adds a native message as the ring gives it, uncut.
    mutating func say(_ message: String, n: Int64, run: Int64 = 1, source: String = "fiber") {
        say(Array(message.utf8), n: n, run: run, source: source)
    }

    mutating func say(_ message: [UInt8], n: Int64, run: Int64 = 1, fullSize: Int? = nil, source: String = "fiber") {
        message.withUnsafeBytes {
            append(
                native: $0, source: source, n: n, fullSize: fullSize ?? message.count, run: run,
                timeMicroseconds: 1_796_000_000_123_456 + n)
        }
    }

    /// Adds so many events of one kind, numbered from `first`.
    static func of(_ count: Int, kind: String = "PeerConnected", from first: Int64 = 1, run: Int64 = 1) -> Intake {
        var intake = Intake()
        for n in first..<first + Int64(count) { intake.say(#"{"kind":"\#(kind)","n":\#(n)}"#, n: n, run: run) }
        return intake
    }
}

/// An event as a subscriber gets it.
struct Message: Equatable {
    let topic: String
    let headerText: String
    let header: EventHeader
    let payload: [UInt8]
    var text: String { String(decoding: payload, as: UTF8.self) }
}

extension EventBatch {
    /// Every event, its header read back.
    func messages() throws -> [Message] {
        try events.map { event in
            Message(
                topic: String(decoding: event.topic, as: UTF8.self),
                headerText: String(decoding: headers[event.header], as: UTF8.self),
                header: try #require(EventHeader(parsing: Array(headers[event.header]))),
                payload: Array(payloads[event.payload]))
        }
    }

    /// Every event as `events.read` must give it.
    func asRead() -> [String] {
        events.map {
            #"{"topic":"\#(String(decoding: $0.topic, as: UTF8.self))","header":"#
                + String(decoding: headers[$0.header], as: UTF8.self) + #","payload":"#
                + String(decoding: payloads[$0.payload], as: UTF8.self) + "}"
        }
    }
}
