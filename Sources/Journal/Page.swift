import SQLite
import Wire

/// Where a journal stands while a page is read.
struct History {
    struct Epoch {
        let firstSeq: Int64
        let name: String
    }

    let head: Int64
    let oldest: Int64
    /// Oldest first.
    let epochs: [Epoch]

    /// The epoch that events get now.
    var current: String { epochs.last?.name ?? "" }

    /// The epoch an event was published in.
    func epoch(of seq: Int64) -> String { epochs.last { $0.firstSeq <= seq }?.name ?? current }

    /// The seq behind which a position begins. Never moved silently: what cannot be read from there is refused, with where the journal stands.
    func start(_ position: JournalReader.Position) throws(BusError) -> Int64 {
        switch position {
        case .now: return head
        case .oldest: return oldest - 1
        case .after(let seq, let epoch):
            if let epoch, epoch != current {
                throw refusal(.historyChanged, "epoch \(quoted(epoch)) is not the journal's: its history changed")
            }
            guard seq <= head else { throw refusal(.historyChanged, "seq \(seq) is above the journal's head") }
            guard seq >= oldest - 1 else {
                throw refusal(.historyTruncated, "events behind seq \(seq) are no longer kept; the oldest is \(oldest)")
            }
            return seq
        }
    }

    private func refusal(_ code: BusError.Code, _ reason: String) -> BusError {
        BusError(
            code, "\(reason); read from \"oldest\" and take its epoch, or from \"now\"",
            ["oldest": .integer(oldest), "head": .integer(head), "epoch": .string(current)])
    }
}

/// A row that the same transaction showed and then did not.
struct PageError: Error, CustomStringConvertible { let description: String }

/// Writes a page as the text it travels as.
struct PageBuilder {
    private let history: History
    private var json: [UInt8] = Array(#"{"events":["#.utf8)
    private(set) var count = 0
    /// Whether an event did not fit any more.
    private(set) var isFull = false
    /// The last seq looked at.
    var next: Int64

    init(_ history: History, next: Int64) {
        self.history = history
        self.next = next
    }

    /// Adds the event that `row` stands on; false when the page is full, and the event is not in it.
    mutating func add(_ row: Statement, _ topic: TopicTable.Entry, _ payload: Statement, epoch: String) throws -> Bool {
        let start = json.count
        if count > 0 { json.append(UInt8(ascii: ",")) }
        json += #"{"topic":""#.utf8
        json += topic.frame
        json += #"","header":"#.utf8
        topic.tail.write(
            epoch: epoch, seq: row.integer(0), prev: row.integer(4), timeMicroseconds: row.integer(1),
            run: row.integer(2), to: &json)
        json += #","payload":"#.utf8
        let size = Int(row.integer(5))
        if size > Payload.limit {
            json += Payload.omitted(size: size)
        } else {
            payload.bind(1, row.integer(0))
            defer { payload.reset() }
            guard try payload.step() else { throw PageError(description: "an event has no payload") }
            payload.withBlob(0) { json.append(contentsOf: $0) }
        }
        json.append(UInt8(ascii: "}"))
        if count > 0, json.count > JournalReader.pageBytes {
            json.removeSubrange(start...)
            isFull = true
            return false
        }
        count += 1
        return true
    }

    /// The page, whole.
    var page: JournalReader.Page {
        var whole = json
        whole += #"],"next":\#(next),"head":\#(history.head),"oldest":\#(history.oldest),"epoch":""#.utf8
        whole += history.current.utf8
        whole += #""}"#.utf8
        return JournalReader.Page(count: count, json: whole, next: next, head: history.head)
    }
}
