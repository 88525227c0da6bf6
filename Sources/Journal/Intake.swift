import Wire

/// How far the account's ring is covered by the journal: the last record of it that is in, by run and number within the run.
public struct RingPosition: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The node's start that the record belongs to; 0: nothing is covered.
    public let run: Int64
    /// The record's number within the run, from 1.
    public let n: Int64

    /// A position.
    public init(run: Int64, n: Int64) {
        self.run = run
        self.n = n
    }

    /// By run, then by number.
    public static func < (left: RingPosition, right: RingPosition) -> Bool {
        left.run != right.run ? left.run < right.run : left.n < right.n
    }

    /// `run 3, record 17`
    public var description: String { "run \(run), record \(n)" }
}

/// What goes into the journal with one transaction. The bytes of all records stand in one buffer, so that an event costs no allocation.
public struct Intake: Sendable {
    /// Who said it.
    public enum Origin: Sendable, Equatable {
        /// The node: the host's source name, the record's number within its run, and how many bytes the node's message had; more than the
        /// record holds means that the host cut it.
        case native(source: String, n: Int64, fullSize: Int)
        /// We: a lifecycle kind. Its payload is JSON text of ours.
        case supervisor(kind: String)
    }

    /// One event to be.
    public struct Record: Sendable, Equatable {
        /// Who said it.
        public let origin: Origin
        /// Its bytes in `Intake.bytes`.
        public let range: Range<Int>
        /// The node's start that it belongs to.
        public let run: Int64
        /// When it was said: microseconds since 1970, UTC.
        public let timeMicroseconds: Int64
    }

    /// The bytes of all records.
    public private(set) var bytes: [UInt8] = []
    /// The records, in the order they are to have in the journal.
    public private(set) var records: [Record] = []

    /// An empty intake.
    public init() {}

    /// Whether there is no record.
    public var isEmpty: Bool { records.isEmpty }

    /// Adds what the node said.
    public mutating func append(
        native message: UnsafeRawBufferPointer, source: String, n: Int64, fullSize: Int, run: Int64,
        timeMicroseconds: Int64
    ) {
        let start = bytes.count
        bytes.append(contentsOf: message)
        records.append(
            Record(
                origin: .native(source: source, n: n, fullSize: fullSize), range: start..<bytes.count, run: run,
                timeMicroseconds: timeMicroseconds))
    }

    /// Adds a lifecycle event.
    public mutating func append(kind: String, payload: JSON, run: Int64, timeMicroseconds: Int64) {
        let start = bytes.count
        payload.write(to: &bytes)
        records.append(
            Record(
                origin: .supervisor(kind: kind), range: start..<bytes.count, run: run,
                timeMicroseconds: timeMicroseconds))
    }

    /// Empties it for the next batch.
    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        records.removeAll(keepingCapacity: true)
    }
}
