import Linux
import SQLite
import Wire

/// The file of a journal: its schema, and the checks that writer and reader make before they trust it.
enum JournalFile {
    /// "nbjl": what `file` and SQLite's header call this database.
    static let applicationID: Int64 = 0x6e62_6a6c
    /// The schema written here; a journal of a later one is refused.
    static let schemaVersion: Int64 = 1

    /// `journal` is one row. `head` stands by itself because the events below it may be trimmed; `open_run` is a run that began and has no
    /// `NodeExited` yet. A kind is stored as it was said; frame 1 is made of it.
    private static let schema = """
        CREATE TABLE journal(
            id INTEGER PRIMARY KEY CHECK(id = 1), network TEXT NOT NULL, account TEXT NOT NULL,
            head INTEGER NOT NULL, ring_run INTEGER NOT NULL, ring_n INTEGER NOT NULL,
            last_run INTEGER NOT NULL, open_run INTEGER) STRICT;
        CREATE TABLE epochs(first_seq INTEGER PRIMARY KEY, epoch TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE topics(
            id INTEGER PRIMARY KEY, source TEXT NOT NULL, kind TEXT NOT NULL, last INTEGER NOT NULL,
            UNIQUE(source, kind)) STRICT;
        CREATE TABLE events(
            seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, run INTEGER NOT NULL,
            topic INTEGER NOT NULL REFERENCES topics(id), prev INTEGER NOT NULL, payload BLOB NOT NULL) STRICT;
        """

    /// Opens the journal for its one writer, making it, with the head `ceiling`, when there is none.
    static func openForWriting(
        _ path: String, _ profile: Profile, _ ceiling: Int64, _ busyTimeoutMilliseconds: Int32
    ) throws(JournalError) -> (connection: Connection, isNew: Bool) {
        do { try PrivateFile.prepare(path) } catch { throw JournalError(error, path) }
        do {
            let connection = try Connection(
                path: path, mode: .readWrite, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
            // Whose file it is comes first: a file that is not ours to write is not even switched to another journal mode.
            let state = try connection.schemaState(applicationID: applicationID, version: schemaVersion)
            if state != .empty { try check(state, connection, profile) }
            guard try connection.makeDurable() else {
                throw JournalError(
                    .storage, "SQLite would not promise durability", path, hint: "put the root on a local file system")
            }
            try connection.execute("PRAGMA wal_autocheckpoint = 4000")
            try connection.execute("PRAGMA journal_size_limit = 67108864")
            if state == .empty { try create(connection, profile, ceiling) }
            return (connection, state == .empty)
        } catch {
            throw wrap(error, path)
        }
    }

    /// Opens an existing journal beside its writer. Read-write because a reader of a WAL takes part in its shared memory; `query_only` keeps it
    /// from changing anything.
    static func openForReading(_ path: String, _ profile: Profile, _ busyTimeoutMilliseconds: Int32)
        throws(JournalError)
        -> Connection
    {
        do { try PrivateFile.check(path) } catch { throw JournalError(error, path) }
        do {
            let connection = try Connection(
                path: path, mode: .readWrite, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
            try connection.execute("PRAGMA query_only = ON")
            let state = try connection.schemaState(applicationID: applicationID, version: schemaVersion)
            try check(state, connection, profile)
            return connection
        } catch {
            throw wrap(error, path)
        }
    }

    static func wrap(_ error: any Error, _ path: String) -> JournalError {
        switch error {
        case let error as JournalError: error
        case let error as SQLiteError: JournalError(error)
        case let refusal as Sequencer.Refusal:
            JournalError(.invalidRecord, refusal.reason, path, hint: "end the host that wrote it")
        default: .damaged("\(error)", path)
        }
    }

    private static func create(_ connection: Connection, _ profile: Profile, _ ceiling: Int64) throws {
        try connection.createSchema(schema, applicationID: applicationID, version: schemaVersion) {
            let row = try connection.prepare("INSERT INTO journal VALUES(1, ?, ?, ?, 0, 0, 0, NULL)")
            row.bind(1, profile.network)
            row.bind(2, profile.account)
            row.bind(3, ceiling)
            try row.run()
            let epoch = try connection.prepare("INSERT INTO epochs VALUES(?, ?)")
            epoch.bind(1, ceiling + 1)
            epoch.bind(2, newEpoch())
            try epoch.run()
        }
    }

    /// Eight hex digits from the system's random source.
    static func newEpoch() -> String {
        let digits = String(UInt32.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    private static func check(_ state: SchemaState, _ connection: Connection, _ profile: Profile) throws {
        let path = connection.path
        switch state {
        case .current: break
        case .newer(let version):
            throw JournalError(
                .newerSchema, "its schema is \(version), and this version knows \(schemaVersion)", path,
                hint: "run the newer nodebus that wrote it")
        case .empty:
            throw JournalError(.missing, "it is being made", path, hint: "read again in a moment")
        case .foreign, .older: throw JournalError.damaged("it is a database, but no journal", path)
        }
        let row = try connection.prepare("SELECT network, account FROM journal WHERE id = 1")
        guard try row.step(), let network = row.text(0), let account = row.text(1) else {
            throw JournalError.damaged("its first row is missing", path)
        }
        guard network == profile.network, account == profile.account else {
            throw JournalError(
                .wrongProfile, "it is the journal of \(network)/\(account), not of \(profile)", path,
                hint: "put each account's files back under its own name")
        }
    }
}
