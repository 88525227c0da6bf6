// SQLite: a thin, safe wrapper over the C library. Start here; then read Statement.swift. One connection belongs to one thread at a time.

import CSQLite

/// A failure that SQLite reported. `code` keeps the extended result code faithfully (https://www.sqlite.org/rescode.html).
public struct SQLiteError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The extended result code.
    public let code: Int32
    /// SQLite's message.
    public let message: String
    /// The file the connection is on.
    public let path: String
    /// The SQL at fault, without bound values; empty when no statement was involved.
    public let sql: String

    /// The primary result code, for matching.
    public var primaryCode: Int32 { code & 0xff }

    /// Whether the disk refused: full, read-only or failing.
    public var isStorage: Bool { [SQLITE_FULL, SQLITE_IOERR, SQLITE_READONLY, SQLITE_CANTOPEN].contains(primaryCode) }

    /// Whether another connection holds the lock.
    public var isBusy: Bool { [SQLITE_BUSY, SQLITE_LOCKED].contains(primaryCode) }

    /// Whether the file is not a sound database.
    public var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB].contains(primaryCode) }

    /// Whether a row broke a rule of its table, such as a key that is there already.
    public var isConstraint: Bool { primaryCode == SQLITE_CONSTRAINT }

    /// Whether the SQL did not fit the tables of the file.
    public var isMismatch: Bool { primaryCode == SQLITE_ERROR }

    /// A sentence for an operator.
    public var description: String {
        "SQLite error \(code) on \(path): \(message)" + (sql.isEmpty ? "" : " (while running: \(sql))")
    }
}

/// An open database. Closed when it goes; used by one thread at a time.
public final class Connection {
    let handle: OpaquePointer
    /// The file this connection is on.
    public let path: String

    /// How a database is opened.
    public enum Mode: Sendable {
        /// Read and write, creating the file when it is missing.
        case create
        /// Read and write an existing file.
        case readWrite
        /// Read only.
        case readOnly
    }

    /// Opens `path`, never through a symbolic link in its last component.
    public init(path: String, mode: Mode = .create, busyTimeoutMilliseconds: Int32 = 5000) throws(SQLiteError) {
        let access: Int32 =
            switch mode {
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readWrite: SQLITE_OPEN_READWRITE
            case .readOnly: SQLITE_OPEN_READONLY
            }
        var opened: OpaquePointer?
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let status = sqlite3_open_v2(path, &opened, flags, nil)
        guard status == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(opened)
            throw SQLiteError(code: status, message: message, path: path, sql: "")
        }
        handle = opened
        self.path = path
        sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs one or more statements that return nothing of interest.
    public func execute(_ sql: String) throws(SQLiteError) {
        let status = sqlite3_exec(handle, sql, nil, nil, nil)
        guard status == SQLITE_OK else { throw error(status, sql) }
    }

    /// Compiles one statement, to be kept and run many times.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement { try Statement(self, sql) }

    /// Runs `body` in a transaction (BEGIN IMMEDIATE), rolled back when it throws.
    public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try execute("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // SQLite may have rolled back by itself (full disk); a second ROLLBACK then fails harmlessly.
            if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }

    /// The first column of the first row, as text; nil when there is no row or it is NULL.
    public func text(_ sql: String) throws(SQLiteError) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    /// The first column of the first row, as an integer; nil when there is no row.
    public func integer(_ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// Whether the file that is open is not the one at `path` any more: somebody moved, removed or replaced it.
    public var hasMoved: Bool {
        var hasMoved: Int32 = 0
        return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved) == SQLITE_OK && hasMoved != 0
    }

    /// The row id of the last insert on this connection.
    public var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    func error(_ status: Int32, _ sql: String) -> SQLiteError {
        SQLiteError(code: status, message: String(cString: sqlite3_errmsg(handle)), path: path, sql: sql)
    }
}
