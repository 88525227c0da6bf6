import FoundationEssentials
import SQLite

/// What the node keeps over restarts, in `<prefix>/fiber/store/data.sqlite`: one table a kind, each row one record as
/// JSON. Used by the node's thread alone.
final class Store {
    /// The kinds of records, which are the names of the tables.
    enum Kind: String, CaseIterable { case peer, channel, invoice, payment }

    private let connection: Connection
    private var writers: [Kind: Statement] = [:]
    /// What makes a store of each version one of the next.
    private static let steps = [
        Kind.allCases.map {
            "CREATE TABLE IF NOT EXISTS \($0.rawValue) (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT"
        }.joined(separator: "; "),
        """
        UPDATE channel SET record = json_set(record, '$.inbound', json('[]'), '$.nextInboundTLC', 0);
        UPDATE invoice SET record = json_set(record, '$.status', 'Open')
        """,
        """
        UPDATE channel SET record = json_set(record, '$.spent', json_extract(record, '$.funding'),
            '$.returned', '0x0', '$.fundingFee', '0x0')
        """,
        """
        UPDATE channel SET record = json_set(record, '$.peerFunding', '0x24e160300', '$.isAcceptor', json('false'),
            '$.isEnabled', json('true'), '$.paysWallet', json('true'), '$.tlcMinimum', '0x0', '$.closingFee', '0x3e8')
        """,
    ]

    init(path: String) throws {
        connection = try Connection(path: path)
        // NORMAL: a commit is in the kernel's hands and survives the death of the process, which is what the simulation
        // is about.
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        let found = try connection.integer("PRAGMA user_version") ?? 0
        guard found <= Self.steps.count else {
            throw Refusal.startup(
                "Database version \(found) is newer than the latest supported version \(Self.steps.count). "
                    + "Please upgrade the fiber binary.")
        }
        guard found < Self.steps.count else { return }
        try connection.transaction {
            for step in Self.steps.dropFirst(Int(found)) { try connection.execute(step) }
            try connection.execute("PRAGMA user_version = \(Self.steps.count)")
        }
    }

    /// Writes a record, new or changed.
    func write(_ kind: Kind, id: String, _ record: some Encodable) throws {
        let writer =
            try writers[kind]
            ?? connection.prepare(
                "INSERT INTO \(kind.rawValue) (id, record) VALUES (?1, ?2) "
                    + "ON CONFLICT (id) DO UPDATE SET record = excluded.record")
        writers[kind] = writer
        writer.bind(1, id)
        writer.bind(2, String(decoding: try JSONEncoder().encode(record), as: UTF8.self))
        try writer.run()
    }

    /// All records of a kind.
    func read<Record: Decodable>(_ kind: Kind, as type: Record.Type) throws -> [Record] {
        let rows = try connection.prepare("SELECT record FROM \(kind.rawValue)")
        var records: [Record] = []
        while try rows.step() {
            records.append(try JSONDecoder().decode(Record.self, from: Data((rows.text(0) ?? "").utf8)))
        }
        return records
    }

    /// Runs `body` in one transaction.
    func transaction(_ body: () throws -> Void) throws { try connection.transaction(body) }
}
