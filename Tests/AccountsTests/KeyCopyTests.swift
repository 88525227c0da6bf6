import Accounts
import Foundation
import Glibc
import Testing

private let key = String(repeating: "5eed", count: 16)
private let other = String(repeating: "cafe", count: 16)
private let encrypted = String(repeating: "s", count: 77)

private let keyStates: [KeyState] = [.missing, .plaintext, .encrypted, .invalid("0x"), .damaged("short")]

@Suite("the copy of a key that the node encrypts") struct KeyCopyTests {
    let scratch: Scratch
    let keys: Keys
    let path: String
    let copy: String

    init() throws {
        scratch = try Scratch()
        let prefix = try scratch.prefix()
        keys = Keys(prefix)
        try keys.createDemo()
        path = prefix.node + "/ckb/key"
        copy = prefix.path + "/key.before-encryption"
    }

    private func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test("before a start a plaintext key is copied, and a key that is torn or gone put back") func start() {
        for state in keyStates { #expect(KeyCopyStep(.start, key: .plaintext, copy: state) == .keep) }
        for key in [KeyState.damaged("short"), .missing] {
            #expect(KeyCopyStep(.start, key: key, copy: .plaintext) == .restore)
        }
        // What may be whole is tried first; what somebody put there is not replaced.
        for key in [KeyState.encrypted, .invalid("0x")] {
            #expect(KeyCopyStep(.start, key: key, copy: .plaintext) == .nothing)
        }
    }

    @Test("a key that the node refuses is put back only if it may have been torn") func refused() {
        for key in keyStates {
            let step = KeyCopyStep(.refused, key: key, copy: .plaintext)
            #expect(step == (key == .encrypted ? .restore : .nothing))
        }
    }

    @Test("the copy goes when a node is ready with an encrypted key, and at no other time") func ready() {
        for key in keyStates {
            for copy in keyStates {
                let isDone = key == .encrypted && copy != .missing
                #expect(KeyCopyStep(.ready, key: key, copy: copy) == (isDone ? .forget : .nothing))
                #expect(KeyCopyStep(.start, key: key, copy: copy) != .forget)
                #expect(KeyCopyStep(.refused, key: key, copy: copy) != .forget)
            }
        }
    }

    @Test("without a sound copy nothing is put back", arguments: keyStates.filter { $0 != .plaintext })
    func unsound(copy: KeyState) {
        for moment in KeyCopyStep.Moment.allCases {
            for key in keyStates { #expect(KeyCopyStep(moment, key: key, copy: copy) != .restore) }
        }
    }

    @Test("it is private, made anew for another key, and deleted for good", arguments: [0, 0o077])
    func life(mask: mode_t) throws {
        #expect(try keys.copyState() == .missing)
        try withUmask(mask) { try keys.keepCopy() }
        #expect(try keys.copyState() == .plaintext)
        #expect(try read(copy) == read(path))
        #expect(try mode(copy) == 0o600)
        try put(path, other)
        try keys.keepCopy()
        #expect(try read(copy) == other)
        try put(path, encrypted)
        #expect(throws: AccountsError.self) { try keys.keepCopy() }
        #expect(try read(copy) == other)
        try keys.forgetCopy()
        #expect(access(copy, F_OK) != 0)
        #expect(try read(path) == encrypted)
    }

    @Test("what it replaces is kept", arguments: ["", "s", encrypted]) func restoring(torn: String) throws {
        try keys.keepCopy()
        let before = try read(path)
        try put(path, torn)
        let kept = try #require(try keys.restoreCopy())
        #expect(try read(path) == before)
        #expect(try read(kept) == torn)
        #expect(try mode(path) == 0o600)
        // A start that is cut short again needs it again.
        #expect(try read(copy) == before)
    }

    @Test("a key that is gone comes back with its directory") func gone() throws {
        try keys.keepCopy()
        let before = try read(path)
        try FileManager.default.removeItem(atPath: String(path.dropLast(4)))
        #expect(try keys.restoreCopy() == nil)
        #expect(try read(path) == before)
    }

    @Test("without it nothing is touched") func none() throws {
        try put(path, "torn")
        #expect(throws: AccountsError.self) { _ = try keys.restoreCopy() }
        try put(copy, "torn too")
        #expect(throws: AccountsError.self) { _ = try keys.restoreCopy() }
        #expect(try read(path) == "torn")
    }

    @Test("links are not followed") func links() throws {
        let target = scratch.path + "/target"
        try put(target, other)
        symlink(target, copy)
        #expect(throws: AccountsError.self) { _ = try keys.copyState() }
        #expect(throws: AccountsError.self) { _ = try keys.restoreCopy() }
        try keys.keepCopy()
        #expect(try read(target) == other)
        #expect(try read(copy) == read(path))
    }

    @Test("an import deletes it, and is refused beside it unless it replaces") func importing() throws {
        let fresh = try FundingKey(other.utf8)
        try keys.keepCopy()
        unlink(path)
        let error = #expect(throws: AccountsError.self) { _ = try keys.importKey(fresh, replacing: false) }
        #expect(error?.code == .exists)
        #expect(try keys.copyState() == .plaintext)
        #expect(try keys.createDemo() == false, "no other key is made up")
        #expect(try keys.importKey(fresh, replacing: true) == nil)
        #expect(try read(path) == other)
        #expect(try keys.copyState() == .missing)
    }

    @Test("what a process that was cut short has left of it is taken away") func unfinished() throws {
        let left = copy.replacingOccurrences(of: "/key.", with: "/.key.") + ".new"
        try put(left, key)
        try keys.tidy()
        #expect(access(left, F_OK) != 0)
    }
}
