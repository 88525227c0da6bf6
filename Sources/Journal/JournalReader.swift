import SQLite
import Wire

/// Pages of a journal, read beside its writer on a connection of its own. Used by one thread at a time; closed when it goes.
public final class JournalReader {
    /// Where reading begins.
    public enum Position: Sendable, Equatable {
        /// Behind this seq, which must be of `epoch` when one is given; 0: before the first event ever.
        case after(Int64, epoch: String?)
        /// At the oldest event kept.
        case oldest
        /// At the end: no event, but where to go on from.
        case now
    }

    /// What is asked for.
    public struct Query: Sendable, Equatable {
        /// Where to begin.
        public var position: Position
        /// At most so many events; less than 1 is taken for 1.
        public var limit: Int
        /// Only events of these kinds; nil: all.
        public var kinds: Set<String>?

        /// A query.
        public init(_ position: Position, limit: Int = 1000, kinds: Set<String>? = nil) {
            self.position = position
            self.limit = limit
            self.kinds = kinds
        }
    }

    /// One page. It can be empty with `next` moved on, when none of the rows looked at was of the kinds asked for.
    public struct Page: Sendable, Equatable {
        /// How many events are in it.
        public let count: Int
        /// The result of `events.read` as JSON text; headers and payloads in it are the bytes that were published.
        public let json: [UInt8]
        /// The seq to read `after` next time.
        public let next: Int64
        /// The seq of the journal's last event when the page was read.
        public let head: Int64

        /// Whether there is no event in it.
        public var isEmpty: Bool { count == 0 }
        /// Whether everything that the journal held has been read.
        public var isLast: Bool { next == head }
    }

    /// A page ends before the event that would make its events larger than this, unless it is the first: 1 MiB.
    public static let pageBytes = 1 << 20
    /// A page ends after so many rows, whether they were of the kinds asked for or not.
    public static let pageRows = 20_000

    private let connection: Connection
    private let profile: Profile
    private let bounds: Statement
    private let epochs: Statement
    private let rows: Statement
    // By itself, so that a payload is read only for an event that goes into the page.
    private let payload: Statement
    private let topicRow: Statement
    private var topics: [Int64: TopicTable.Entry] = [:]

    /// Opens an existing journal for reading. The errors are those of `Journal.open`, and `missing`.
    public init(path: String, profile: Profile, busyTimeoutMilliseconds: Int32 = 5000) throws(JournalError) {
        let connection = try JournalFile.openForReading(path, profile, busyTimeoutMilliseconds)
        self.connection = connection
        self.profile = profile
        do {
            bounds = try connection.prepare(
                "SELECT head, ifnull((SELECT seq FROM events ORDER BY seq LIMIT 1), head + 1) FROM journal WHERE id = 1"
            )
            epochs = try connection.prepare("SELECT first_seq, epoch FROM epochs ORDER BY first_seq")
            rows = try connection.prepare(
                """
                SELECT seq, time, run, topic, prev, length(payload) FROM events WHERE seq > ?
                ORDER BY seq LIMIT \(JournalReader.pageRows)
                """)
            payload = try connection.prepare("SELECT payload FROM events WHERE seq = ?")
            topicRow = try connection.prepare("SELECT source, kind FROM topics WHERE id = ?")
        } catch {
            throw JournalError(error)
        }
    }

    /// Whether what it reads is not the journal at its path any more: that was moved away, or another one put in its place.
    public var isOutdated: Bool { connection.hasMoved }

    /// The seq of the last event: whether a long poll has something to read. Cheap.
    public func head() throws(BusError) -> Int64 {
        do { return try readBounds().head } catch { throw busError(error) }
    }

    /// Reads one page, in one transaction, so that head, oldest and events belong together. A position that is older than the oldest event is
    /// `history_truncated`, one above the head or of another epoch `history_changed`, a journal that cannot be read `storage`.
    public func page(_ query: Query) throws(BusError) -> Page {
        do {
            try connection.execute("BEGIN")
            defer {
                rows.reset()
                try? connection.execute("COMMIT")
            }
            let history = try readHistory()
            let start = try history.start(query.position)
            guard query.position != .now else { return PageBuilder(history, next: start).page }
            return try read(query, history, after: start)
        } catch {
            throw busError(error)
        }
    }

    private func read(_ query: Query, _ history: History, after start: Int64) throws -> Page {
        var builder = PageBuilder(history, next: start)
        let limit = max(1, query.limit)
        rows.bind(1, start)
        var looked = 0
        while builder.count < limit, try rows.step() {
            looked += 1
            let seq = rows.integer(0)
            let topic = try self.topic(rows.integer(3))
            if query.kinds?.contains(topic.topic.kind) ?? true {
                guard try builder.add(rows, topic, payload, epoch: history.epoch(of: seq)) else { break }
            }
            builder.next = seq
        }
        // Nothing was left to look at: the rest up to the head is not there to be read.
        if builder.count < limit, looked < JournalReader.pageRows, !builder.isFull { builder.next = history.head }
        return builder.page
    }

    private func readBounds() throws(SQLiteError) -> (head: Int64, oldest: Int64) {
        defer { bounds.reset() }
        guard try bounds.step() else { return (0, 1) }
        return (bounds.integer(0), bounds.integer(1))
    }

    private func readHistory() throws -> History {
        defer { epochs.reset() }
        var list: [History.Epoch] = []
        while try epochs.step() {
            list.append(History.Epoch(firstSeq: epochs.integer(0), name: epochs.text(1) ?? ""))
        }
        let (head, oldest) = try readBounds()
        return History(head: head, oldest: oldest, epochs: list)
    }

    private func topic(_ id: Int64) throws -> TopicTable.Entry {
        if let known = topics[id] { return known }
        defer { topicRow.reset() }
        topicRow.bind(1, id)
        guard try topicRow.step(), let source = topicRow.text(0), Topic.isSource(source), let kind = topicRow.text(1)
        else { throw JournalError.damaged("an event is of topic \(id), which is not there", connection.path) }
        let entry = TopicTable.Entry(Topic(profile: profile, source: source, kind: kind))
        topics[id] = entry
        return entry
    }

    private func busError(_ error: any Error) -> BusError {
        if let error = error as? BusError { return error }
        let journalError = JournalFile.wrap(error, connection.path)
        return BusError(.storage, "\(journalError.message); \(journalError.hint)")
    }
}
