import Accounts
import Foundation
import Glibc
import Testing
import Wire

@Suite("how accounts come and go") struct AccountLifeTests {
    let scratch: Scratch
    let root: Root
    let registry: Registry
    let life: AccountLife
    let alice: Profile

    init() throws {
        scratch = try Scratch()
        root = try scratch.root()
        registry = try Registry.open(path: root.database)
        life = AccountLife(root: root, registry: registry)
        alice = try #require(Profile("dev/alice"))
    }

    private var files: [String] {
        (FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? [])
            .filter { !$0.hasPrefix("supervisor.sqlite") && $0 != ".lock" }.sorted()
    }

    private func lock() throws -> RootLock { try RootLock.take(root) }

    @Test("one of a simulated network has a key and a passphrase, one of a real network has neither")
    func create() throws {
        try life.create(alice, isSimulated: true)
        #expect(
            files == [
                "dev", "dev/alice", "dev/alice/log", "dev/alice/node", "dev/alice/node/ckb", "dev/alice/node/ckb/key",
                "dev/alice/passphrase",
            ])
        let bob = try #require(Profile("testnet/bob"))
        try life.create(bob, isSimulated: false)
        #expect(
            files.filter { $0.hasPrefix("testnet") } == [
                "testnet", "testnet/bob", "testnet/bob/log", "testnet/bob/node",
            ])
        #expect(try registry.accounts().map(\.step) == [.there, .there])
        let again = #expect(throws: AccountsError.self) { try life.create(alice, isSimulated: true) }
        #expect(again?.code == .exists)
    }

    @Test("after an error nothing of it is left, and what was there is as it was") func failed() throws {
        mkdir(root.path + "/dev", 0o700)
        symlink(scratch.path, root.path + "/dev/alice")
        let linked = #expect(throws: AccountsError.self) { try life.create(alice, isSimulated: true) }
        #expect(linked?.code == .exists)
        unlink(root.path + "/dev/alice")
        mkdir(root.path + "/dev/alice", 0o700)
        let stranger = #expect(throws: AccountsError.self) { try life.create(alice, isSimulated: true) }
        #expect(stranger?.code == .exists)
        #expect(files == ["dev", "dev/alice"])
        #expect(try registry.accounts().isEmpty)
        try life.create(alice, isSimulated: true, adopting: true)
        #expect(try registry.account(alice)?.step == .there)
    }

    @Test("what is removed is kept aside, and what is purged is not") func remove() throws {
        let lock = try lock()
        try life.create(alice, isSimulated: true)
        let place = try life.remove(alice, purge: false, lastSeq: 41, under: lock)
        #expect(try registry.accounts().isEmpty)
        #expect(try registry.ceiling(of: alice) == 41)
        #expect(access(place + "/node/ckb/key", F_OK) == 0)
        #expect(try mode(root.path + "/.removed") == 0o700)
        try life.create(alice, isSimulated: true)
        symlink(place, root.path + "/dev/alice/link")
        let doomed = try life.remove(alice, purge: true, lastSeq: 7, under: lock)
        #expect(try registry.ceiling(of: alice) == 41)
        #expect(access(root.path + "/dev/alice", F_OK) != 0)
        #expect(access(doomed, F_OK) == 0)
        try root.purge()
        #expect(access(doomed, F_OK) != 0)
        #expect(access(place + "/node/ckb/key", F_OK) == 0, "only what is to be purged goes, and a link goes alone")
        try root.purge()
        let gone = #expect(throws: AccountsError.self) {
            _ = try life.remove(alice, purge: false, lastSeq: 0, under: lock)
        }
        #expect(gone?.code == .missing)
    }

    @Test("one whose files are gone can be removed, one that is a link cannot") func strange() throws {
        let lock = try lock()
        try life.create(alice, isSimulated: true)
        try FileManager.default.moveItem(atPath: root.path + "/dev/alice", toPath: scratch.path + "/alice")
        symlink(scratch.path + "/alice", root.path + "/dev/alice")
        let error = #expect(throws: AccountsError.self) {
            _ = try life.remove(alice, purge: true, lastSeq: 0, under: lock)
        }
        #expect(error?.code == .unsafePath)
        #expect(try registry.account(alice)?.step == .there)
        unlink(root.path + "/dev/alice")
        _ = try life.remove(alice, purge: false, lastSeq: 0, under: lock)
        #expect(try registry.accounts().isEmpty)
    }

    @Test("one that a process holds is not removed") func held() throws {
        let lock = try lock()
        try life.create(alice, isSimulated: true)
        let holder = try OtherProcess(
            "f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); say('held'); s.recv(1)",
            [try lockFile()])
        #expect(try holder.line() == "held")
        let error = #expect(throws: AccountsError.self) {
            _ = try life.remove(alice, purge: true, lastSeq: 0, under: lock)
        }
        #expect(error?.code == .locked)
        #expect(error?.holder == holder.process.pid)
        #expect(try registry.account(alice)?.step == .there)
        try holder.end()
        _ = try life.remove(alice, purge: true, lastSeq: 0, under: lock)
    }

    private func lockFile() throws -> String {
        let path = root.prefix(alice).lockFile
        try put(path, "")
        return path
    }

    @Test("what a kill cut short is finished at the next start, or told") func finish() throws {
        let names = ["dev/made", "dev/going", "dev/gone", "dev/stuck"].compactMap { Profile($0) }
        for profile in names { try life.create(profile, isSimulated: true) }
        try registry.setStep(.creating, of: names[0])
        unlink(root.prefix(names[0]).node + "/ckb/key")
        for profile in names[1...] { try registry.setStep(.removing(as: "x-\(profile.account)"), of: profile) }
        try FileManager.default.createDirectory(
            atPath: root.path + "/.removed/x-stuck", withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: root.path + "/dev/gone", toPath: root.path + "/.removed/x-gone")
        let notes = try life.finish()
        #expect(notes.count == 4)
        #expect(notes.contains { $0.contains("dev/stuck is neither whole nor gone") })
        #expect(try registry.account(names[0])?.step == .there)
        #expect(access(root.prefix(names[0]).node + "/ckb/key", F_OK) == 0)
        #expect(access(root.path + "/.removed/x-going/passphrase", F_OK) == 0)
        #expect(access(root.path + "/.removed/x-gone/passphrase", F_OK) == 0)
        #expect(access(root.path + "/dev/stuck/passphrase", F_OK) == 0, "never over what is there")
        #expect(try registry.accounts().map(\.profile.account) == ["made", "stuck"])
    }
}
