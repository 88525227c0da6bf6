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
    /// What was lost, with an earlier journal or start of the machine: in the journal, and to be published.
    let loss: EventBatch?
    /// What has to be said of the past, after the ring's rest.
    let notes: [EventPump.Note]

    /// Opens ring and journal of an account whose lock is held. `ceiling` is at least the highest seq ever used under its name, and at most
    /// `CeilingMark.room` above it.
    init(prefix: Prefix, source: String, ceiling: Int64) throws {
        self.source = source
        let journal = try Journal.open(
            path: prefix.journal, profile: prefix.profile, startingAbove: ceiling,
            neverBelow: max(0, ceiling - CeilingMark.room))
        self.journal = journal
        var loss: EventBatch?
        let file: RingFile
        do {
            // What a ring holds is of runs that a new journal knows nothing of. Else a loss is in the journal before the ring that shows it
            // is gone.
            file =
                journal.isNew || journal.wentBack
                ? try RingFile.create(path: prefix.ring, bootIdentity: bootIdentity())
                : try RingFile.open(path: prefix.ring, bootIdentity: bootIdentity()) {
                    loss = try OpenedAccount.tell(of: $0, journal)
                }
        } catch let error as SystemError {
            throw AccountsError(error, prefix.ring)
        }
        if journal.isNew, ceiling > 0 {
            loss = try OpenedAccount.tellLoss(
                "the journal was made anew: an earlier one of this name was removed or is lost", nil, journal)
        }
        if journal.wentBack {
            let reason =
                "the journal ended below the head that it had: it is an older copy, and what came after is lost"
            loss = try OpenedAccount.tellLoss(reason, nil, journal)
        }
        self.loss = loss
        ring = RingReader(ring: file, recordWake: try WakeDescriptor(), spaceWake: try WakeDescriptor())
        var notes: [EventPump.Note] = []
        if let run = journal.openRun {
            let exit = LifecycleEvent.nodeExited(.lostSupervisor, nil, uptime: nil, detail: nil)
            notes.append(EventPump.Note(kind: exit.kind, payload: exit.payload, run: run, ends: true))
        }
        self.notes = notes
    }

    /// Journals `EventsLost` if the journal lacks something that the ring held, or may have.
    private static func tell(of rest: RingRest, _ journal: Journal) throws -> EventBatch? {
        let lost = rest.records?.count { RingPosition(run: $0.run, n: $0.n) > journal.ringPosition }
        guard lost != 0 else { return nil }
        let reason =
            rest.keptAt.map { "events.ring could not be read; what it held of the node's events is kept at \($0)" }
            ?? "the machine went down before the journal took what the node had said"
        return try tellLoss(reason, lost, journal)
    }

    private static func tellLoss(_ reason: String, _ count: Int?, _ journal: Journal) throws -> EventBatch {
        Log.write(.warning, "journal", "events were lost", ["because": reason])
        let payload: JSON = ["reason": .string(reason), "count": count.map { .integer(Int64($0)) } ?? .null]
        var intake = Intake()
        intake.append(
            kind: "EventsLost", payload: payload, run: journal.lastRun, timeMicroseconds: WallClock.microseconds)
        return try journal.append(intake)
    }
}

/// An account's lock while we hold it: let go when this goes.
final class HeldAccount {
    let lock: AccountLock
    init(_ lock: consuming AccountLock) { self.lock = lock }
}
