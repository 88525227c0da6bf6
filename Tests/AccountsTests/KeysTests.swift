import Accounts
import Foundation
import Glibc
import Testing
import Wire

@Suite("keys of a first run") struct KeysTests {
    let scratch: Scratch
    let prefix: Prefix
    let keys: Keys
    var key: String { prefix.node + "/ckb/key" }
    var passphraseFile: String { prefix.path + "/passphrase" }

    init() throws {
        scratch = try Scratch()
        prefix = try scratch.prefix()
        keys = Keys(prefix)
    }

    private func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test("a demo account gets a random key and passphrase, private whatever the umask", arguments: [0, 0o077])
    func demo(mask: mode_t) throws {
        #expect(try keys.passphrase() == nil)
        try withUmask(mask) { _ = try keys.createDemo() }
        let digits = /[0-9a-f]{64}/
        #expect(try read(key).wholeMatch(of: digits) != nil)
        #expect(try read(passphraseFile).wholeMatch(of: digits) != nil)
        #expect(try read(key) != read(passphraseFile))
        #expect(try keys.passphrase() == Array(read(passphraseFile).utf8))
        #expect(try mode(key) == 0o600)
        #expect(try mode(passphraseFile) == 0o600)
        #expect(try mode(prefix.node + "/ckb") == 0o700)
        #expect(try FileManager.default.contentsOfDirectory(atPath: prefix.node + "/ckb") == ["key"])
        let other = try scratch.prefix("dev/other")
        try Keys(other).createDemo()
        #expect(try read(other.node + "/ckb/key") != read(key))
    }

    @Test("what is there is kept, and what a first run did not finish is finished") func again() throws {
        try keys.createDemo()
        let (first, passphrase) = (try read(key), try read(passphraseFile))
        #expect(try keys.createDemo() == false)
        #expect(try read(key) == first)
        unlink(key)
        try put(prefix.node + "/ckb/.key.new", "half")
        #expect(try keys.createDemo())
        #expect(try read(key) != first)
        #expect(try read(passphraseFile) == passphrase)
        #expect(try FileManager.default.contentsOfDirectory(atPath: prefix.node + "/ckb") == ["key"])
    }

    @Test("a key without its passphrase is left alone") func lostPassphrase() throws {
        try keys.createDemo()
        let first = try read(key)
        unlink(passphraseFile)
        let error = #expect(throws: AccountsError.self) { try keys.createDemo() }
        #expect(error?.code == .missing)
        #expect(error?.description.contains(first) == false)
        #expect(try read(key) == first)
        #expect(access(passphraseFile, F_OK) != 0)
    }

    @Test("links are not followed") func links() throws {
        symlink(scratch.path + "/elsewhere", passphraseFile)
        let reading = #expect(throws: AccountsError.self) { _ = try keys.passphrase() }
        #expect(reading?.code == .unsafePath)
        unlink(passphraseFile)
        mkdir(scratch.path + "/elsewhere", 0o700)
        symlink(scratch.path + "/elsewhere", prefix.node + "/ckb")
        let making = #expect(throws: AccountsError.self) { try keys.createDemo() }
        #expect(making?.code == .unsafePath)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path + "/elsewhere").isEmpty)
    }

    @Test(
        "a passphrase file is one line",
        arguments: [
            ("open sesame", true), ("open sesame\n", true), ("", false), ("\n", false), ("two\nlines", false),
            ("nul\u{0}", false),
            (String(repeating: "x", count: 1024), true), (String(repeating: "x", count: 1025), false),
        ])
    func passphrases(text: String, good: Bool) throws {
        try put(passphraseFile, text)
        chmod(passphraseFile, 0o644)
        if good {
            #expect(try keys.passphrase() == Array(text.split(separator: "\n")[0].utf8))
            #expect(try mode(passphraseFile) == 0o600)
        } else {
            let error = #expect(throws: AccountsError.self) { _ = try keys.passphrase() }
            #expect(error?.code == .damaged)
            #expect(text.count < 3 || error?.description.contains(text) == false)
        }
    }
}
