import Linux
import Supervision
import Wire

/// What `bus.status` answers from: written by the main and the journal thread, read by the bus thread, never waiting for either.
final class StatusBoard: Sendable {
    /// What is known at a moment.
    struct Snapshot: Sendable {
        var state = "stopped"
        var since = WallClock.microseconds
        var profile: Profile?
        var run: Int64 = 0
        var pid: Int32?
        var restarts: Int64 = 0
        var lastExit: JSON = .null
        var failure: JSON = .null
        var epoch: String?
        var head: Int64 = 0
        var journalIsStalled = false
        var isSimulated = false
        var host: JSON = .null
    }

    private let snapshot = Lock(Snapshot())

    /// Changes the snapshot.
    func update(_ change: (inout Snapshot) -> Void) { snapshot.withLock(change) }

    /// The answer of `bus.status`, but for what the bus itself knows.
    var json: JSON {
        let now = snapshot.withLock { $0 }
        return [
            "state": .string(now.state),
            "network": now.profile.map { .string($0.network) } ?? .null,
            "account": now.profile.map { .string($0.account) } ?? .null,
            "run": .integer(now.run), "pid": now.pid.map { .integer(Int64($0)) } ?? .null,
            "since": .string(Timestamp.text(now.since)), "restarts": .integer(now.restarts), "last_exit": now.lastExit,
            "failure": now.failure, "epoch": now.epoch.map { .string($0) } ?? .null, "head": .integer(now.head),
            "journal": .string(now.journalIsStalled ? "stalled" : "ok"), "simulated": .bool(now.isSimulated),
            "host": now.host, "version": .string(Version.supervisor),
        ]
    }

    /// The epoch of the journal in use.
    var epoch: String? { snapshot.withLock { $0.epoch } }
    /// Its head.
    var head: Int64 { snapshot.withLock { $0.head } }
    /// The active profile.
    var profile: Profile? { snapshot.withLock { $0.profile } }
}

/// Versions that users see.
public enum Version {
    /// Of the programs.
    public static let supervisor = "0.1.0"
    /// Of the wire contract: the `v` of a header.
    public static let wire: Int64 = 1
}
