import Accounts
import HostLink
import Journal
import Linux
import Supervision
import Wire

/// An account whose lock we hold, with its journal and its ring: what the journal thread works with.
struct OpenedAccount {
    let journal: Journal
    let ring: RingReader
    /// The source of what the ring still holds from an earlier run.
    let source: String
    /// What has to be said of the past, after the ring's rest.
    let notes: [EventPump.Note]

    /// Opens ring and journal of an account whose lock is held.
    init(prefix: Prefix, source: String) throws {
        self.source = source
        var found = RingFile.Found.nothing
        let file = try RingFile.open(path: prefix.ring, bootIdentity: bootIdentity(), found: &found)
        ring = RingReader(ring: file, recordWake: try WakeDescriptor(), spaceWake: try WakeDescriptor())
        journal = try Journal.open(path: prefix.journal, profile: prefix.profile)
        var notes: [EventPump.Note] = []
        if case .fromAnotherBoot(let bytes) = found, bytes > 0 {
            let payload: JSON = [
                "reason": "the machine went down before the journal took what the node had said", "count": .null,
                "bytes": .integer(Int64(clamping: bytes)),
            ]
            notes.append(EventPump.Note(kind: "EventsLost", payload: payload, run: journal.lastRun))
        }
        if let run = journal.openRun {
            let exit = LifecycleEvent.nodeExited(.lostSupervisor, nil, uptime: nil, detail: nil)
            notes.append(EventPump.Note(kind: exit.kind, payload: exit.payload, run: run, ends: true))
        }
        self.notes = notes
    }
}

/// An account's lock while we hold it: let go when this goes.
final class HeldAccount {
    let lock: AccountLock
    init(_ lock: consuming AccountLock) { self.lock = lock }
}
