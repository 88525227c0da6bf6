import CSQLite

/// A compiled statement. Bind, step, read columns, reset; finalised when it goes.
public final class Statement {
    private let connection: Connection
    private let handle: OpaquePointer
    private let sql: String

    init(_ connection: Connection, _ sql: String) throws(SQLiteError) {
        var compiled: OpaquePointer?
        let status = sqlite3_prepare_v3(
            connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard status == SQLITE_OK, let compiled else { throw connection.error(status, sql) }
        self.connection = connection
        self.sql = sql
        handle = compiled
    }

    deinit { sqlite3_finalize(handle) }

    /// Binds an integer to parameter `index` (from 1).
    public func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(handle, index, value) }

    /// Binds text, with its length, so that a NUL in it does not cut it; nil is NULL.
    public func bind(_ index: Int32, _ value: String?) {
        guard var value else {
            sqlite3_bind_null(handle, index)
            return
        }
        _ = value.withUTF8 { text in
            text.withMemoryRebound(to: CChar.self) {
                sqlite3_bind_text64(handle, index, $0.baseAddress, UInt64($0.count), transient, UInt8(SQLITE_UTF8))
            }
        }
    }

    /// Binds bytes, copied.
    public func bind(_ index: Int32, _ value: UnsafeRawBufferPointer) {
        guard let base = value.baseAddress, value.count > 0 else {
            sqlite3_bind_zeroblob(handle, index, 0)
            return
        }
        sqlite3_bind_blob64(handle, index, base, UInt64(value.count), transient)
    }

    /// Binds bytes that stay valid and unchanged until the statement is reset: SQLite makes no copy.
    public func bindBorrowed(_ index: Int32, _ value: UnsafeRawBufferPointer) {
        guard let base = value.baseAddress, value.count > 0 else {
            sqlite3_bind_zeroblob(handle, index, 0)
            return
        }
        sqlite3_bind_blob64(handle, index, base, UInt64(value.count), nil)
    }

    /// Binds bytes, copied.
    public func bind(_ index: Int32, _ value: [UInt8]) { value.withUnsafeBytes { bind(index, $0) } }

    /// Runs to the next row: true when there is one, false when done.
    @discardableResult
    public func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let status:
            let failure = connection.error(status, sql)
            sqlite3_reset(handle)
            throw failure
        }
    }

    /// Makes it ready to run again. Bindings stay.
    public func reset() { sqlite3_reset(handle) }

    /// Runs a statement that answers no rows, and resets it, also when it fails.
    public func run() throws(SQLiteError) {
        try step()
        reset()
    }

    /// Column `index` (from 0) as an integer.
    public func integer(_ index: Int32) -> Int64 { sqlite3_column_int64(handle, index) }

    /// Column `index` as text; nil when NULL.
    public func text(_ index: Int32) -> String? {
        sqlite3_column_text(handle, index).map {
            String(
                decoding: UnsafeBufferPointer(start: $0, count: Int(sqlite3_column_bytes(handle, index))), as: UTF8.self
            )
        }
    }

    /// Runs `body` with the bytes of column `index`, not copied; they are gone after it.
    public func withBlob<Result>(_ index: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let base = sqlite3_column_blob(handle, index)
        return body(
            UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_column_bytes(handle, index))))
    }

    /// Column `index` as bytes, copied.
    public func blob(_ index: Int32) -> [UInt8] {
        guard let base = sqlite3_column_blob(handle, index) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(handle, index))))
    }

    /// Whether column `index` is NULL.
    public func isNull(_ index: Int32) -> Bool { sqlite3_column_type(handle, index) == SQLITE_NULL }
}

// SQLITE_TRANSIENT is a cast in C that Swift cannot import: "copy the bytes before the call returns" (sqlite3.h).
private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
