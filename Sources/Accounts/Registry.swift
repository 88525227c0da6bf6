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
        /// How far it has come into being, or out of it.
        public let step: Step
    }

    /// Where an account is between not being and being. It is stored before each step on disk, so that whatever moment a process ends at, the
    /// next start knows what to finish.
    public enum Step: Sendable, Equatable {
        /// Its files are being made. It cannot be used yet.
        case creating
        /// It can be used.
        case there
        /// Its files are being moved below `.removed`, under this name. It cannot be used any more.
        case removing(as: String)
    }

    private static let applicationID: Int64 = 0x6e62_7277
    private static let schemaVersion: Int64 = 1
    private static let schema = """
        CREATE TABLE accounts(
            network TEXT NOT NULL, account TEXT NOT NULL, created INTEGER NOT NULL, simulated INTEGER NOT NULL,
            step TEXT NOT NULL, removed_as TEXT, PRIMARY KEY(network, account)) STRICT;
        CREATE TABLE ceilings(
            network TEXT NOT NULL, account TEXT NOT NULL, ceiling INTEGER NOT NULL, PRIMARY KEY(network, account)) STRICT;
        CREATE TABLE active(
            id INTEGER PRIMARY KEY CHECK(id = 1), network TEXT NOT NULL, account TEXT NOT NULL, plan TEXT,
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
                """
                SELECT network, account, created, simulated, step, removed_as FROM accounts
                WHERE ?1 IS NULL OR network = ?1 ORDER BY 1, 2
                """)
            rows.bind(1, network)
            var accounts: [Account] = []
            while try rows.step() {
                accounts.append(
                    Account(
                        profile: try profile(rows), createdMicroseconds: rows.integer(2),
                        isSimulated: rows.integer(3) != 0, step: try step(rows)))
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

    /// Adds an account; one that is there already, whole or not, is refused with `exists`.
    public func add(
        _ profile: Profile, isSimulated: Bool, createdMicroseconds: Int64 = WallClock.microseconds, step: Step = .there
    ) throws(AccountsError) {
        guard try account(profile) == nil else {
            throw AccountsError(
                .exists, "the account \(profile) exists already", connection.path, hint: "choose another name")
        }
        try change("INSERT INTO accounts VALUES(?1, ?2, ?3, ?4, ?5, ?6)", profile) { row in
            row.bind(3, createdMicroseconds)
            row.bind(4, isSimulated ? 1 : 0)
            row.bind(5, step.word)
            row.bind(6, step.name)
        }
    }

    /// Stores the step that an account takes next.
    public func setStep(_ step: Step, of profile: Profile) throws(AccountsError) {
        try change("UPDATE accounts SET step = ?3, removed_as = ?4 WHERE network = ?1 AND account = ?2", profile) {
            row in
            row.bind(3, step.word)
            row.bind(4, step.name)
        }
    }

    /// Forgets an account, but not its ceiling. The chosen one is refused by the database.
    public func forget(_ profile: Profile) throws(AccountsError) {
        try change("DELETE FROM accounts WHERE network = ?1 AND account = ?2", profile)
    }

    /// At least the highest seq that an account of this name ever used; 0: none has been. It outlives the account, so that the history of
    /// another one of the same name begins above it.
    public func ceiling(of profile: Profile) throws(AccountsError) -> Int64 {
        do {
            let row = try connection.prepare("SELECT ceiling FROM ceilings WHERE network = ? AND account = ?")
            row.bind(1, profile.network)
            row.bind(2, profile.account)
            return try row.step() ? row.integer(0) : 0
        } catch {
            throw AccountsError(error)
        }
    }

    /// Raises a ceiling; one that is higher already stays.
    public func raiseCeiling(of profile: Profile, to seq: Int64) throws(AccountsError) {
        try change(
            """
            INSERT INTO ceilings VALUES(?1, ?2, ?3)
            ON CONFLICT(network, account) DO UPDATE SET ceiling = max(ceiling, excluded.ceiling)
            """, profile
        ) { $0.bind(3, seq) }
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

    /// The switch that was under way when it was last stored, as text of the supervisor's; nil: none.
    public func switchPlan() throws(AccountsError) -> String? {
        do { return try connection.text("SELECT plan FROM active WHERE id = 1") } catch {
            throw Registry.wrap(error, connection.path)
        }
    }

    /// Chooses a profile; one without an account is refused with `missing`. `plan`: the switch that is under way, in the same transaction.
    /// Nothing is written for what stands there already, so that a supervisor comes back on a full disk.
    public func setActiveProfile(_ profile: Profile, plan: String? = nil) throws(AccountsError) {
        let (profileNow, planNow) = (try activeProfile(), try switchPlan())
        guard profileNow != profile || planNow != plan else { return }
        guard try account(profile)?.step == .there else {
            throw AccountsError(.missing, "there is no account \(profile)", connection.path, hint: "create it first")
        }
        try change("INSERT OR REPLACE INTO active VALUES(1, ?1, ?2, ?3)", profile) { $0.bind(3, plan) }
    }

    /// Runs a statement whose first two values are the profile.
    private func change(_ sql: String, _ profile: Profile, _ bind: (Statement) -> Void = { _ in })
        throws(AccountsError)
    {
        do {
            let row = try connection.prepare(sql)
            row.bind(1, profile.network)
            row.bind(2, profile.account)
            bind(row)
            try row.run()
        } catch {
            throw AccountsError(error)
        }
    }

    private func step(_ row: Statement) throws -> Step {
        guard let step = Step(word: row.text(4) ?? "", name: row.text(5)) else {
            throw Registry.damaged("a step in it is none", connection.path)
        }
        return step
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

extension Registry.Step {
    fileprivate var word: String {
        switch self {
        case .creating: "creating"
        case .there: "there"
        case .removing: "removing"
        }
    }

    fileprivate var name: String? { if case .removing(let name) = self { name } else { nil } }

    fileprivate init?(word: String, name: String?) {
        switch (word, name) {
        case ("creating", nil): self = .creating
        case ("there", nil): self = .there
        case ("removing", let name?): self = .removing(as: name)
        default: return nil
        }
    }
}
