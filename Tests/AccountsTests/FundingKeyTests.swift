import Accounts
import Foundation
import Glibc
import Testing

private let key = String(repeating: "5eed", count: 16)
private let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
private let zeros = String(repeating: "0", count: 64)
private let belowOrder = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140"

private let badKeys: [String] = [
    "", "0x", key + "0", String(key.dropLast()), "0x0x" + key, "x" + key, String(key.dropLast(2)) + "zz",
    "\(key.prefix(32)) \(key.suffix(32))", "\(key.prefix(32))\n\(key.suffix(32))", key + "\0", zeros, order,
    String(repeating: "f", count: 64), String(repeating: "\u{ff11}", count: 64),
    String(repeating: "\u{0661}", count: 64),
    "5\u{301}" + String(key.dropFirst()),
]

private let files: [(String, String)] = [
    (key, "plaintext"), (key + "\n", "plaintext"), (String(repeating: "s", count: 77), "encrypted"),
    ("0x" + key, "invalid"), (order, "invalid"), (zeros, "invalid"), ("", "damaged"), (" \n", "damaged"),
    (String(key.dropLast()), "damaged"), (String(repeating: "a", count: 77), "damaged"),
    (String(repeating: "s", count: 76), "damaged"), (String(repeating: "s", count: 5000), "damaged"),
]

@Suite("keys that are imported") struct FundingKeyTests {
    let scratch: Scratch
    let keys: Keys
    let path: String

    init() throws {
        scratch = try Scratch()
        let prefix = try scratch.prefix()
        keys = Keys(prefix)
        path = prefix.node + "/ckb/key"
    }

    private func stored() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test(
        "32 bytes in hex are a key, with 0x and white space around them or without",
        arguments: [
            key, "0x" + key, "0X" + key.uppercased(), " \t\r\n0x\(key)\n", belowOrder,
            String(repeating: "0", count: 63) + "1",
        ])
    func good(text: String) throws {
        _ = try keys.importKey(try FundingKey(text.utf8), replacing: false)
        let plain = text.trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
        #expect(try stored() == (plain.hasPrefix("0x") ? String(plain.dropFirst(2)) : plain))
        #expect(try mode(path) == 0o600)
        #expect(try keys.state() == .plaintext)
    }

    @Test("everything else is refused, and none of it repeated", arguments: badKeys)
    func bad(text: String) throws {
        let refusal = #expect(throws: FundingKey.Refusal.self) { _ = try FundingKey(text.utf8) }
        #expect(text.count < 8 || refusal?.description.contains(text.prefix(8)) == false)
    }

    @Test("a key is replaced only when that is asked for, and an encrypted one is kept") func replacing() throws {
        let (first, second) = (try FundingKey(key.utf8), try FundingKey(belowOrder.utf8))
        #expect(try keys.importKey(first, replacing: true) == nil)
        let error = #expect(throws: AccountsError.self) { _ = try keys.importKey(second, replacing: false) }
        #expect(error?.code == .exists)
        #expect(try stored() == key)
        #expect(try keys.importKey(second, replacing: true) == nil)
        #expect(try stored() == belowOrder)
        let encrypted = String(repeating: "s", count: 77)
        try put(path, encrypted)
        let kept = try #require(try keys.importKey(first, replacing: true))
        #expect(try String(contentsOfFile: kept, encoding: .utf8) == encrypted)
        #expect(try mode(kept) == 0o600)
        #expect(try stored() == key)
        #expect(try FileManager.default.contentsOfDirectory(atPath: String(path.dropLast(4))).count == 2)
    }

    @Test("links are not followed, not even to be replaced") func links() throws {
        try keys.createDemo()
        let target = scratch.path + "/target"
        try FileManager.default.moveItem(atPath: path, toPath: target)
        symlink(target, path)
        let before = try String(contentsOfFile: target, encoding: .utf8)
        for replacing in [false, true] {
            let error = #expect(throws: AccountsError.self) {
                _ = try keys.importKey(try FundingKey(key.utf8), replacing: replacing)
            }
            #expect(error?.code == .unsafePath)
        }
        #expect(throws: AccountsError.self) { _ = try keys.state() }
        #expect(try String(contentsOfFile: target, encoding: .utf8) == before)
    }

    @Test("what a file is, is told by its bytes", arguments: files)
    func states(text: String, word: String) throws {
        try keys.createDemo()
        try put(path, text)
        let state = try keys.state()
        #expect(state.word == word)
        // The sentence says what is wrong, and nothing of what is there.
        #expect(text.count < 8 || !"\(state)".contains(text.prefix(8)))
    }

    @Test("no key is no error; what an import left behind is taken away") func missing() throws {
        #expect(try keys.state() == .missing)
        #expect(try keys.state(withoutReading: true) == .missing)
        try keys.tidy()
        try keys.createDemo()
        #expect(try keys.state(withoutReading: true) == .plaintext)
        let left = path.replacingOccurrences(of: "/key", with: "/.key.new")
        try put(left, key)
        try keys.tidy()
        #expect(access(left, F_OK) != 0)
        #expect(try keys.state() == .plaintext)
    }
}
