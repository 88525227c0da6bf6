/// How a database file stands to the schema of the program that opens it.
public enum SchemaState: Sendable, Equatable {
    /// A new file: no table, no mark.
    case empty
    /// The schema that was asked about.
    case current
    /// An earlier version of it.
    case older(Int64)
    /// A later version of it, which is not to be touched.
    case newer(Int64)
    /// Somebody else's database.
    case foreign
}

extension Connection {
    /// Tells by the two marks of SQLite's file header (https://www.sqlite.org/pragma.html#pragma_application_id) whose database this is. Writes
    /// nothing.
    public func schemaState(applicationID: Int64, version: Int64) throws(SQLiteError) -> SchemaState {
        let names = try integer("SELECT count(*) FROM sqlite_schema") ?? 0
        let found = try integer("PRAGMA user_version") ?? 0
        let application = try integer("PRAGMA application_id") ?? 0
        if names == 0 && found == 0 && application == 0 { return .empty }
        guard application == applicationID else { return .foreign }
        return found == version ? .current : found > version ? .newer(found) : .older(found)
    }

    /// Turns the write-ahead log on and makes `COMMIT` mean that what it answered survives the loss of the machine; false when SQLite would not.
    /// Both settings can be refused without an error, so they are read back.
    public func makeDurable() throws(SQLiteError) -> Bool {
        try execute("PRAGMA synchronous = FULL")
        let mode = try text("PRAGMA journal_mode = WAL")
        let synchronous = try integer("PRAGMA synchronous")
        return mode == "wal" && synchronous == 2
    }

    /// Makes a schema in a file that is `empty`, with its marks, in one transaction: there is all of it or nothing.
    public func createSchema(_ sql: String, applicationID: Int64, version: Int64, rows: () throws -> Void = {}) throws {
        try transaction {
            try execute("PRAGMA application_id = \(applicationID)")
            try execute("PRAGMA user_version = \(version)")
            try execute(sql)
            try rows()
        }
    }
}
