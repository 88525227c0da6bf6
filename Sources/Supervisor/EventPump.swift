import Glibc
import HostLink
import Journal
import Linux
import Supervision
import Wire

/// The journal thread: ring ─► journal ─► PUB. The one way for an event; lifecycle events join it here, each after everything that the ring held
/// when its turn came. Nothing is published that is not journaled; what cannot be journaled waits, in the ring and here, for as long as it takes.
final class EventPump: Sendable {
    /// A lifecycle event on its way.
    struct Note: Sendable {
        let kind: String
        let payload: JSON
        let run: Int64
        /// The run it begins, to be told to the main thread once it is on disk.
        var begins = false
        /// Whether it ends the run that is open.
        var ends = false
        let time = WallClock.microseconds
    }

    /// Where its results go.
    struct Outlets: Sendable {
        let publish: @Sendable (EventBatch) -> Void
        let announce: @Sendable (String, JSON) -> Void
        let tell: @Sendable (MainInbox.Item) -> Void
    }

    /// Something of ours that waits its turn behind what the ring holds.
    private enum Item: Sendable {
        case note(Note)
        /// `bus/<kind>`, not journaled, to be published after everything before it.
        case announcement(kind: String, payload: JSON)
    }

    private struct Inbox: Sendable {
        var items: [Item] = []
        var newRing: RingReader?
        var source: String?
        var isStopping = false
    }

    private let inbox = Lock(Inbox())
    private let wake: WakeDescriptor
    private let outlets: Outlets
    private let finished: Flag

    /// Starts the thread on an open journal and the account's ring.
    init(_ opened: sending OpenedAccount, _ outlets: Outlets) throws(SystemError) {
        wake = try WakeDescriptor()
        finished = try Flag()
        self.outlets = outlets
        // Handed over whole: nobody else touches journal and ring from here on.
        let cargo = Lock<OpenedAccount?>(opened)
        try startThread("journal") { [self] in
            guard let opened = cargo.withLock({ $0.take() }) else { return }
            work(on: opened)
            // By now the journal is closed: the account's lock can be let go.
            finished.raise()
            outlets.tell(.accountClosed)
        }
    }

    private func work(on opened: OpenedAccount) {
        PumpLoop(journal: opened.journal, ring: opened.ring, source: opened.source, pump: self).run()
    }

    /// Hands over a lifecycle event. Never waits.
    func put(_ note: Note) { change { $0.items.append(.note(note)) } }

    /// Has `bus/<kind>` published after everything handed over before.
    func announce(kind: String, payload: JSON) {
        change { $0.items.append(.announcement(kind: kind, payload: payload)) }
    }

    /// The source under which what the ring holds is published: what the host called itself.
    func setSource(_ source: String) { change { $0.source = source } }

    /// Takes a new ring in place of one that was broken.
    func replaceRing(_ ring: RingReader) { change { $0.newRing = ring } }

    /// Journals and publishes what there is, closes the journal and ends the thread, which `accountClosed` then tells.
    func finish() { change { $0.isStopping = true } }

    /// Finishes and waits for it; false when the disk did not take it all by the deadline. The ring keeps what is left of native events for the
    /// next start.
    func stop(by deadline: Instant) -> Bool {
        finish()
        return finished.wait(until: deadline)
    }

    private func change(_ change: (inout Inbox) -> Void) {
        inbox.withLock(change)
        wake.wake()
    }

    /// What the thread itself works with.
    private final class PumpLoop {
        private let journal: Journal
        private var ring: RingReader
        private var source: String
        private let pump: EventPump
        private var ringIsBroken = false
        private var scratch: [UInt8] = []
        private var intake = Intake()
        /// Most bytes and records of one transaction: large enough that an fsync is shared, small enough that none waits long.
        private static let batchBytes = 1 << 20
        private static let batchRecords = 2000

        init(journal: Journal, ring: RingReader, source: String, pump: EventPump) {
            self.journal = journal
            self.ring = ring
            self.source = source
            self.pump = pump
        }

        func run() {
            while true {
                pump.wake.clear()
                let work = pump.inbox.withLock { inbox in
                    defer { inbox = Inbox(isStopping: inbox.isStopping) }
                    return inbox
                }
                if let named = work.source { source = named }
                for item in work.items {
                    drainRing()
                    switch item {
                    case .note(let note): append(note)
                    case .announcement(let kind, let payload): pump.outlets.announce(kind, payload)
                    }
                }
                if let fresh = work.newRing {
                    ring = fresh
                    ringIsBroken = false
                }
                let more = drainOnce()
                if work.isStopping && work.items.isEmpty && !more { return }
                if !more && work.items.isEmpty { sleep() }
            }
        }

        private func sleep() {
            guard ringIsBroken || ring.sleepIfEmpty() else { return }
            var entries = [
                pollfd(fd: pump.wake.raw, events: Int16(POLLIN), revents: 0),
                pollfd(fd: ringIsBroken ? -1 : ring.wakeDescriptor, events: Int16(POLLIN), revents: 0),
            ]
            // A host that was killed between moving the head and waking us wakes nobody: look once a second.
            poll(&entries, 2, 1000)
        }

        private func drainRing() { while drainOnce() {} }

        /// One batch from the ring; false when it was empty.
        private func drainOnce() -> Bool {
            guard !ringIsBroken else { return false }
            scratch.removeAll(keepingCapacity: scratch.capacity <= 4 * PumpLoop.batchBytes)
            intake.removeAll()
            var records: [RingReader.Record] = []
            do {
                try ring.read(
                    into: &scratch, byteLimit: PumpLoop.batchBytes, recordLimit: PumpLoop.batchRecords,
                    highestRun: journal.lastRun
                ) { records.append($0) }
            } catch {
                ringIsBroken = true
                pump.outlets.tell(.ringBroken(error.description))
            }
            scratch.withUnsafeBytes { bytes in
                for record in records {
                    intake.append(
                        native: UnsafeRawBufferPointer(rebasing: bytes[record.range]), source: source, n: record.n,
                        fullSize: record.fullSize, run: record.run, timeMicroseconds: record.timeMicroseconds)
                }
            }
            if !intake.isEmpty { commit() }
            if ringIsBroken {
                append(
                    Note(
                        kind: "EventsLost",
                        payload: ["reason": "the host wrote nonsense into its ring", "count": .null],
                        run: journal.lastRun))
            }
            return !records.isEmpty
        }

        private func append(_ note: Note) {
            intake.removeAll()
            intake.append(kind: note.kind, payload: note.payload, run: note.run, timeMicroseconds: note.time)
            // A run recorded by an earlier supervisor or by a start that timed out is not begun twice.
            let begins = note.begins && note.run > journal.lastRun
            commit(begins: begins ? note.run : nil, ends: note.ends)
            if note.begins { pump.outlets.tell(.startRecorded(run: note.run)) }
        }

        /// Journals the intake, frees the ring's space, publishes: in this order. Retries for as long as the disk refuses.
        private func commit(begins: Int64? = nil, ends: Bool = false) {
            var isStalled = false
            while true {
                do {
                    let batch = try journal.append(intake, beginsRun: begins, endsRun: ends)
                    ring.release()
                    if !batch.events.isEmpty { pump.outlets.publish(batch) }
                    if isStalled { pump.outlets.tell(.journalResumed) }
                    return
                } catch {
                    if !isStalled {
                        isStalled = true
                        pump.outlets.tell(.journalStalled(error.description))
                    }
                    // A stop that the disk holds up gives up at its own deadline (`stop(by:)`), with the process.
                    var nothing = pollfd(fd: -1, events: 0, revents: 0)
                    poll(&nothing, 1, 250)
                }
            }
        }
    }
}

/// A one-time signal that a thread can wait for with a deadline.
struct Flag: ~Copyable, Sendable {
    private let wake: WakeDescriptor

    init() throws(SystemError) { wake = try WakeDescriptor() }

    /// Raises it, for good.
    func raise() { wake.wake() }

    /// Waits until it is raised; false when the deadline passed first.
    func wait(until deadline: Instant) -> Bool {
        while true {
            var entry = pollfd(fd: wake.raw, events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, deadline.millisecondsFromNow()) > 0 { return true }
            if Instant.now >= deadline { return false }
        }
    }
}
