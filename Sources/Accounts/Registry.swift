import Linux
import SQLite
import Wire

/// The accounts of a root and which of them is chosen. Used by one thread at a time; closed when it goes.
public final class Registry {
    /// One account.
    public struct Account: Sendable, Equatable {
        /// Its network and name.
        public let profile: Profile
        /// When it was added: microseconds since 1970, UTC.
        public let createdMicroseconds: Int64
        /// Whether it belongs to a simulated network.
        public let isSimulated: Bool
    }

    private static let applicationID: Int64 = 0x6e62_7277
    private static let schemaVersion: Int64 = 1
    private static let schema = """
        CREATE TABLE accounts(
            network TEXT NOT NULL, account TEXT NOT NULL, created INTEGER NOT NULL, simulated INTEGER NOT NULL,
            PRIMARY KEY(network, account)) STRICT;
        CREATE TABLE active(
            id INTEGER PRIMARY KEY CHECK(id = 1), network TEXT NOT NULL, account TEXT NOT NULL,
            FOREIGN KEY(network, account) REFERENCES accounts(network, account)) STRICT;
        """

    private let connection: Connection

    /// Opens the registry at `path`, making it (mode 0600) when there is none. A damaged one or one of a later version is refused and left as it
    /// is.
    public static func open(path: String, busyTimeoutMilliseconds: Int32 = 5000) throws(AccountsError) -> Registry {
        do { try PrivateFile.prepare(path) } catch { throw AccountsError(error, path) }
        do {
            let connection = try Connection(
                path: path, mode: .readWrite, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
            let state = try connection.schemaState(applicationID: applicationID, version: schemaVersion)
            try check(state, path)
            guard try connection.makeDurable() else {
                throw AccountsError(
                    .storage, "SQLite would not promise durability", path, hint: "put the root on a local file system")
            }
            try connection.execute("PRAGMA foreign_keys = ON")
            if state == .empty {
                try connection.createSchema(schema, applicationID: applicationID, version: schemaVersion)
            }
            return Registry(connection)
        } catch {
            throw wrap(error, path)
        }
    }

    private init(_ connection: Connection) { self.connection = connection }

    /// All accounts, by network and name; of one network when it is named.
    public func accounts(network: String? = nil) throws(AccountsError) -> [Account] {
        do {
            let rows = try connection.prepare(
                "SELECT network, account, created, simulated FROM accounts WHERE ?1 IS NULL OR network = ?1 ORDER BY 1, 2"
            )
            rows.bind(1, network)
            var accounts: [Account] = []
            while try rows.step() {
                accounts.append(
                    Account(
                        profile: try profile(rows), createdMicroseconds: rows.integer(2),
                        isSimulated: rows.integer(3) != 0))
            }
            return accounts
        } catch {
            throw Registry.wrap(error, connection.path)
        }
    }

    /// The account of this name; nil when there is none.
    public func account(_ profile: Profile) throws(AccountsError) -> Account? {
        try accounts(network: profile.network).first { $0.profile == profile }
    }

    /// Adds an account; one that is there already is refused with `exists`.
    public func add(_ profile: Profile, isSimulated: Bool, createdMicroseconds: Int64 = WallClock.microseconds)
        throws(AccountsError)
    {
        guard try account(profile) == nil else {
            throw AccountsError(
                .exists, "the account \(profile) exists already", connection.path, hint: "choose another name")
        }
        do {
            let row = try connection.prepare("INSERT INTO accounts VALUES(?, ?, ?, ?)")
            row.bind(1, profile.network)
            row.bind(2, profile.account)
            row.bind(3, createdMicroseconds)
            row.bind(4, isSimulated ? 1 : 0)
            try row.run()
        } catch {
            throw AccountsError(error)
        }
    }

    /// The profile that was chosen last; nil: none yet.
    public func activeProfile() throws(AccountsError) -> Profile? {
        do {
            let row = try connection.prepare("SELECT network, account FROM active WHERE id = 1")
            return try row.step() ? try profile(row) : nil
        } catch {
            throw Registry.wrap(error, connection.path)
        }
    }

    /// Chooses a profile; one without an account is refused with `missing`. Nothing is written for one that is chosen already, so that a
    /// supervisor comes back on a full disk.
    public func setActiveProfile(_ profile: Profile) throws(AccountsError) {
        guard try activeProfile() != profile else { return }
        guard try account(profile) != nil else {
            throw AccountsError(.missing, "there is no account \(profile)", connection.path, hint: "create it first")
        }
        do {
            let row = try connection.prepare("INSERT OR REPLACE INTO active VALUES(1, ?, ?)")
            row.bind(1, profile.network)
            row.bind(2, profile.account)
            try row.run()
        } catch {
            throw AccountsError(error)
        }
    }

    private func profile(_ row: Statement) throws -> Profile {
        guard let profile = Profile(network: row.text(0) ?? "", account: row.text(1) ?? "") else {
            throw Registry.damaged("a name in it is none", connection.path)
        }
        return profile
    }

    private static func check(_ state: SchemaState, _ path: String) throws {
        switch state {
        case .empty, .current: break
        case .newer(let version):
            throw AccountsError(
                .newerSchema, "its schema is \(version), and this version knows \(schemaVersion)", path,
                hint: "run the newer nodebus that wrote it")
        case .older, .foreign: throw damaged("it is a database, but no registry", path)
        }
    }

    private static func damaged(_ message: String, _ path: String) -> AccountsError {
        AccountsError(
            .damaged, message, path, hint: "it is kept as it is; restore it from a copy, or move it away")
    }

    private static func wrap(_ error: any Error, _ path: String) -> AccountsError {
        switch error {
        case let error as AccountsError: error
        case let error as SQLiteError: AccountsError(error)
        default: damaged("\(error)", path)
        }
    }
}
