import Accounts
import Foundation
import Glibc
import SQLite
import Testing
import Wire

@Suite("the registry of accounts") struct RegistryTests {
    let scratch: Scratch
    let root: Root
    init() throws {
        scratch = try Scratch()
        root = try scratch.root()
    }

    private func profile(_ text: String) throws -> Profile { try #require(Profile(text)) }

    @Test("accounts are kept, in order, and found again") func accounts() throws {
        do {
            let registry = try Registry.open(path: root.database)
            #expect(try registry.accounts().isEmpty)
            #expect(try registry.activeProfile() == nil)
            try registry.add(profile("testnet/bob"), isSimulated: false, createdMicroseconds: 7)
            try registry.add(profile("dev/demo"), isSimulated: true, createdMicroseconds: 5)
            try registry.setActiveProfile(profile("dev/demo"))
            try registry.setActiveProfile(profile("testnet/bob"))
        }
        let registry = try Registry.open(path: root.database)
        #expect(try mode(root.database) == 0o600)
        let found = try registry.accounts()
        #expect(found.map(\.profile.description) == ["dev/demo", "testnet/bob"])
        #expect(found.map(\.isSimulated) == [true, false])
        #expect(found.map(\.createdMicroseconds) == [5, 7])
        #expect(try registry.accounts(network: "dev").count == 1)
        #expect(try registry.account(profile("dev/bob")) == nil)
        #expect(try registry.account(profile("testnet/bob"))?.createdMicroseconds == 7)
        #expect(try registry.activeProfile() == profile("testnet/bob"))
    }

    @Test("an account that exists is refused, one that does not cannot be chosen") func refusals() throws {
        let registry = try Registry.open(path: root.database)
        try registry.add(profile("dev/demo"), isSimulated: true)
        let again = #expect(throws: AccountsError.self) { try registry.add(profile("dev/demo"), isSimulated: false) }
        #expect(again?.code == .exists)
        #expect(try registry.accounts().map(\.isSimulated) == [true])
        let none = #expect(throws: AccountsError.self) { try registry.setActiveProfile(profile("dev/other")) }
        #expect(none?.code == .missing)
        #expect(try registry.activeProfile() == nil)
    }

    @Test("a ceiling only rises, and outlives its account") func ceilings() throws {
        do {
            let registry = try Registry.open(path: root.database)
            try registry.add(profile("dev/alice"), isSimulated: true)
            #expect(try registry.ceiling(of: profile("dev/alice")) == 0)
            try registry.raiseCeiling(of: profile("dev/alice"), to: 100)
            try registry.raiseCeiling(of: profile("dev/alice"), to: 99)
            try registry.raiseCeiling(of: profile("test/alice"), to: 7)
            try registry.forget(profile("dev/alice"))
        }
        let registry = try Registry.open(path: root.database)
        #expect(try registry.accounts().isEmpty)
        #expect(try registry.ceiling(of: profile("dev/alice")) == 100)
        #expect(try registry.ceiling(of: profile("test/alice")) == 7)
    }

    @Test("an account that is half made or half gone can be found and not be chosen") func steps() throws {
        let registry = try Registry.open(path: root.database)
        let alice = try profile("dev/alice")
        try registry.add(alice, isSimulated: true, step: .creating)
        #expect(try registry.account(alice)?.step == .creating)
        let error = #expect(throws: AccountsError.self) { try registry.setActiveProfile(alice) }
        #expect(error?.code == .missing)
        try registry.setStep(.there, of: alice)
        try registry.setActiveProfile(alice)
        try registry.setStep(.removing(as: "dev-alice-7"), of: alice)
        #expect(try registry.account(alice)?.step == .removing(as: "dev-alice-7"))
        // The chosen one is held by its choice.
        #expect(throws: AccountsError.self) { try registry.forget(alice) }
        try Connection(path: root.database).execute("UPDATE accounts SET step = 'dancing'")
        let damaged = #expect(throws: AccountsError.self) { _ = try registry.accounts() }
        #expect(damaged?.code == .damaged)
    }

    @Test("a registry of a later version is refused and left as it is") func newer() throws {
        _ = try Registry.open(path: root.database)
        try Connection(path: root.database).execute("PRAGMA user_version = 2")
        let error = #expect(throws: AccountsError.self) { _ = try Registry.open(path: root.database) }
        #expect(error?.code == .newerSchema)
    }

    @Test("what is no registry is refused and left as it is") func foreign() throws {
        try Connection(path: root.database).execute("CREATE TABLE t(x)")
        let foreign = #expect(throws: AccountsError.self) { _ = try Registry.open(path: root.database) }
        #expect(foreign?.code == .damaged)
        let text = Data(String(repeating: "not a database at all ", count: 100).utf8)
        try text.write(to: URL(fileURLWithPath: root.database))
        let damaged = #expect(throws: AccountsError.self) { _ = try Registry.open(path: root.database) }
        #expect(damaged?.code == .damaged)
        #expect(try Data(contentsOf: URL(fileURLWithPath: root.database)) == text)
    }

    @Test("a registry that another process holds is busy") func busy() throws {
        let registry = try Registry.open(path: root.database, busyTimeoutMilliseconds: 1)
        let other = try Connection(path: root.database)
        try other.execute("BEGIN IMMEDIATE")
        let error = #expect(throws: AccountsError.self) { try registry.add(profile("dev/demo"), isSimulated: true) }
        #expect(error?.code == .busy)
        try other.execute("COMMIT")
        try registry.add(profile("dev/demo"), isSimulated: true)
    }

    @Test("a link in the registry's place is refused") func link() throws {
        symlink(scratch.path + "/other", root.database)
        let error = #expect(throws: AccountsError.self) { _ = try Registry.open(path: root.database) }
        #expect(error?.code == .unsafePath)
        #expect(access(scratch.path + "/other", F_OK) != 0)
    }

    @Test("choosing what is chosen writes nothing") func chosenAgain() throws {
        let registry = try Registry.open(path: root.database, busyTimeoutMilliseconds: 0)
        let profile = try profile("dev/demo")
        try registry.add(profile, isSimulated: true)
        try registry.setActiveProfile(profile)
        let other = try Connection(path: root.database)
        try other.execute("BEGIN IMMEDIATE")
        try registry.setActiveProfile(profile)
        #expect(try registry.activeProfile() == profile)
    }
}
