// Journal: every event of one account, in order, on disk before anybody is shown it. One thread writes (Journal), one reads (JournalReader).
// Start here; then read Intake.swift (what goes in), Sequencer.swift (how an event gets its place), JournalFile.swift (what is on disk) and
// JournalReader.swift.

import Linux
import SQLite
import Wire

/// The journal of one account, open for writing. Used by one thread at a time; closed when it goes.
public final class Journal {
    /// Whose it is.
    public let profile: Profile
    /// Whether it was made by this opening.
    public let isNew: Bool
    /// Whether it is an older copy of itself: it ended below the head that it is known to have had. Its next event begins a new epoch.
    public let wentBack: Bool
    /// The seq of the oldest event kept; one above `head` when there is none.
    public private(set) var oldest: Int64
    let connection: Connection
    // What is on disk, but for an epoch that its next event begins: replaced only once a transaction is in.
    private var committed: Sequencer
    private let insertTopic: Statement
    private let insertEvent: Statement
    private let updateTopic: Statement
    private let updateJournal: Statement

    /// The history the sequence belongs to: 8 hex digits.
    public var epoch: String { committed.epoch }
    /// The seq of the last event; 0: there was none yet.
    public var head: Int64 { committed.head }
    /// How far the account's ring is covered.
    public var ringPosition: RingPosition { committed.ring }
    /// The last start of the node that was counted; 0: none.
    public var lastRun: Int64 { committed.lastRun }
    /// A run that began and whose end is not in the journal: its host, or we, died.
    public var openRun: Int64? { committed.openRun }

    /// Opens the journal at `path`, making it (mode 0600) when there is none: then its first event gets the seq above `ceiling`, which is at
    /// least the highest that was ever used under this name, so that no seq comes twice. A damaged file, one of a later schema or one of another
    /// profile is refused and left as it is. One that ends below `floor`, a head that it has had, is an older copy: it goes on above `ceiling`, in
    /// a new epoch. Another process that holds it delays every call up to `busyTimeoutMilliseconds`.
    public static func open(
        path: String, profile: Profile, startingAbove ceiling: Int64 = 0, neverBelow floor: Int64 = 0,
        busyTimeoutMilliseconds: Int32 = 5000
    ) throws(JournalError) -> Journal {
        precondition(ceiling >= 0 && floor <= ceiling, "a seq is at least 1, and the ceiling above every one")
        let file = try JournalFile.openForWriting(path, profile, ceiling, busyTimeoutMilliseconds)
        do { return try Journal(file.connection, profile, file.isNew, ceiling, floor) } catch {
            throw JournalFile.wrap(error, path)
        }
    }

    private init(_ connection: Connection, _ profile: Profile, _ isNew: Bool, _ ceiling: Int64, _ floor: Int64) throws {
        self.isNew = isNew
        self.connection = connection
        self.profile = profile
        committed = try Sequencer(reading: connection, profile)
        wentBack = committed.head < floor
        oldest = try connection.integer("SELECT seq FROM events ORDER BY seq LIMIT 1") ?? committed.head + 1
        insertTopic = try connection.prepare("INSERT INTO topics(id, source, kind, last) VALUES(?, ?, ?, ?)")
        insertEvent = try connection.prepare(
            "INSERT INTO events(seq, time, run, topic, prev, payload) VALUES(?, ?, ?, ?, ?, ?)")
        updateTopic = try connection.prepare("UPDATE topics SET last = ? WHERE id = ?")
        updateJournal = try connection.prepare(
            "UPDATE journal SET head = ?, ring_run = ?, ring_n = ?, last_run = ?, open_run = ? WHERE id = 1")
        guard wentBack else { return }
        // On disk with its first event; until then the next opening finds the same.
        committed.epoch = JournalFile.newEpoch()
        committed.head = ceiling
    }

    /// Puts an intake in with one transaction (events, the last seq of their topics, head, ring position, runs) and answers what to publish
    /// once it is on disk. Native records that the ring position covers are skipped. An error leaves journal and memory as they were: the same
    /// intake may be given again.
    ///
    /// - Parameters:
    ///   - beginsRun: the run, above `lastRun`, whose start the intake tells of.
    ///   - endsRun: whether the intake tells of the end of `openRun`. With both, the old run ends before the new one begins.
    public func append(_ intake: Intake, beginsRun: Int64? = nil, endsRun: Bool = false) throws(JournalError)
        -> EventBatch
    {
        var draft = committed
        if endsRun { draft.openRun = nil }
        if let beginsRun {
            precondition(beginsRun > committed.lastRun, "runs are counted upwards")
            draft.lastRun = beginsRun
            draft.openRun = beginsRun
        }
        do {
            let placement = try draft.place(intake)
            precondition(draft.head == committed.head + Int64(placement.events.count), "seq rises by exactly 1")
            if !placement.events.isEmpty || endsRun || beginsRun != nil {
                try connection.transaction { try store(placement, draft) }
                committed = draft
            }
            return batch(placement)
        } catch {
            throw JournalFile.wrap(error, connection.path)
        }
    }

    private func store(_ placement: Sequencer.Placement, _ draft: Sequencer) throws {
        for place in committed.topics.entries.count..<draft.topics.entries.count {
            let topic = draft.topics.entries[place].topic
            insertTopic.bind(1, Int64(place + 1))
            insertTopic.bind(2, topic.source)
            insertTopic.bind(3, topic.kind)
            insertTopic.bind(4, draft.topics.last[place])
            try insertTopic.run()
        }
        for (place, seq) in committed.topics.last.enumerated() where draft.topics.last[place] != seq {
            updateTopic.bind(1, draft.topics.last[place])
            updateTopic.bind(2, Int64(place + 1))
            try updateTopic.run()
        }
        if wentBack {
            let epoch = try connection.prepare("INSERT OR IGNORE INTO epochs VALUES(?, ?)")
            epoch.bind(1, committed.head + 1)
            epoch.bind(2, committed.epoch)
            try epoch.run()
        }
        try placement.payloads.withUnsafeBytes { bytes in
            for event in placement.events {
                insertEvent.bind(1, event.seq)
                insertEvent.bind(2, event.timeMicroseconds)
                insertEvent.bind(3, event.run)
                insertEvent.bind(4, Int64(event.topic + 1))
                insertEvent.bind(5, event.prev)
                insertEvent.bindBorrowed(6, UnsafeRawBufferPointer(rebasing: bytes[event.stored]))
                try insertEvent.run()
                precondition(connection.lastInsertedRow == event.seq, "the row is the seq")
            }
        }
        updateJournal.bind(1, draft.head)
        updateJournal.bind(2, draft.ring.run)
        updateJournal.bind(3, draft.ring.n)
        updateJournal.bind(4, draft.lastRun)
        if let run = draft.openRun { updateJournal.bind(5, run) } else { updateJournal.bind(5, nil as String?) }
        try updateJournal.run()
    }

    private func batch(_ placement: Sequencer.Placement) -> EventBatch {
        let topics = committed.topics.entries
        return EventBatch(
            profile: profile, epoch: epoch, head: head, headers: placement.headers, payloads: placement.payloads,
            events: placement.events.map {
                EventBatch.Event(topic: topics[$0.topic].frame, header: $0.header, payload: $0.published)
            })
    }
}

extension Sequencer {
    /// What the journal holds, checked: a sequence that its own events contradict is not continued.
    fileprivate init(reading connection: Connection, _ profile: Profile) throws {
        let path = connection.path
        let row = try connection.prepare("SELECT head, ring_run, ring_n, last_run, open_run FROM journal WHERE id = 1")
        guard try row.step(),
            let epoch = try connection.text("SELECT epoch FROM epochs ORDER BY first_seq DESC LIMIT 1")
        else { throw JournalError.damaged("its first row is missing", path) }
        self.profile = profile
        self.epoch = epoch
        head = row.integer(0)
        ring = RingPosition(run: row.integer(1), n: row.integer(2))
        lastRun = row.integer(3)
        openRun = row.isNull(4) ? nil : row.integer(4)
        row.reset()
        let newest = try connection.prepare("SELECT seq FROM events ORDER BY seq DESC LIMIT 1")
        if try newest.step(), newest.integer(0) != head {
            throw JournalError.damaged("its head is \(head), its last event \(newest.integer(0))", path)
        }
        newest.reset()
        let topicRows = try connection.prepare("SELECT id, source, kind, last FROM topics ORDER BY id")
        while try topicRows.step() {
            guard topicRows.integer(0) == Int64(topics.entries.count + 1), let source = topicRows.text(1),
                Topic.isSource(source), let kind = topicRows.text(2), (0...head).contains(topicRows.integer(3))
            else { throw JournalError.damaged("its list of topics is not sound", path) }
            topics.add(Topic(profile: profile, source: source, kind: kind), last: topicRows.integer(3))
        }
    }
}
