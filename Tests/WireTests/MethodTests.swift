import Testing
import Wire

private let method = MethodDescription(
    "fiber.try", "Tries.",
    [
        .init("text", .text(maxBytes: 4), required: true, "a text"), .init("flag", .boolean, "a flag"),
        .init("count", .integer(min: 1, max: .max), "a count"),
        .init("amount", .amount(udtWhen: "script"), "an amount"),
        .init("hash", .hash, "a hash"), .init("key", .publicKey, "a key"),
        .init("word", .choice(["a", "b"]), "a word"),
        .init("secret", .secret(.text(maxBytes: 4)), "a secret"), .init("preimage", .secret(.hash), "a preimage"),
        .init("script", .object, "a script"), .init("list", .array, "a list"), .init("names", .texts, "names"),
        .init("never", .refused(why: "it is broken"), "never"),
    ], result: "nothing", effect: .money, find: "fiber.look with text")

private let hex64 = String(repeating: "Ab", count: 32)
private let key66 = "02" + String(repeating: "Ab", count: 32)

@Test("good parameters come out in normal form") func normalForm() throws {
    let given: JSON = [
        "text": "äb", "flag": true, "count": "0x10", "amount": "1 CKB", "hash": .string(hex64),
        "key": .string("0x" + key66),
        "word": "b", "list": [1], "names": ["x"], "script": nil,
    ]
    let normal = try method.check(given)
    #expect(normal["count"] == 16)
    #expect(normal["amount"] == "100000000")
    #expect(normal["hash"]?.text == "0x" + hex64.lowercased())
    #expect(normal["key"]?.text == key66.lowercased())
    #expect(normal["script"] == nil, "null is as good as absent")
    #expect(try method.check(normal) == normal, "the normal form is normal")
}

@Test(
    "bad parameters are refused by name",
    arguments: [
        ("text", nil), ("text", 5), ("text", "abcde"), ("text", "a\0b"), ("flag", "true"), ("flag", 1), ("count", 0),
        ("count", -1),
        ("count", "x"), ("count", "+1"), ("count", .number("1.5")), ("count", .number("18446744073709551616")),
        ("amount", "1.5"),
        ("amount", .number("1.5")), ("hash", "0x12"), ("hash", .string(hex64 + "0")), ("key", .string("04" + hex64)),
        ("key", .string(hex64)),
        ("word", "c"), ("word", 1), ("script", []), ("script", ["a": ["b\0": 1]]), ("list", [:]), ("list", ["a\0"]),
        ("names", [1]),
        ("names", "x"), ("never", 1), ("stranger", 1),
    ] as [(String, JSON)])
func badParameter(name: String, value: JSON) {
    let given = JSON.members(["text": "ok"]).with(name, value)
    #expect {
        try method.check(given)
    } throws: { error in
        guard let error = error as? BusError, error.code == .invalidParams else { return false }
        return error.json["data"]?["path"]?.text?.hasPrefix(name) == true
    }
}

@Test("a UDT channel's amount is not written in CKB") func udtAmount() {
    #expect(throws: BusError.self) { try method.check(["text": "a", "amount": "1 CKB", "script": [:]]) }
}

@Test("descriptions travel whole", arguments: BusMethods.all + [method]) func travels(description: MethodDescription) {
    #expect(MethodDescription(parsing: description.json) == description)
}

@Test("a description with the same parameter twice is none") func twice() {
    let parameters = method.json["parameters"]?.elements ?? []
    #expect(
        MethodDescription(parsing: method.json.with("parameters", .array(parameters + parameters.prefix(1)))) == nil)
    #expect(MethodDescription(parsing: method.json.with("parameters", .array(parameters))) == method)
}

@Test("method names", arguments: ["a", "a.b.c", ".b", "a.", "A.b", "a.b-c", "a. b", "1.a", ""]) func badMethodNames(
    name: String
) {
    #expect(!MethodDescription.isName(name))
}

@Test(
    "no error repeats a secret",
    arguments: [
        ("secret", "swordfish"), ("secret", "sw\0"), ("secret", ["swordfish"]), ("secret", ["swordfish": 1]),
        ("preimage", "swordfish"), ("preimage", .string(hex64 + "swordfish")), ("preimage", ["swordfish"]),
    ] as [(String, JSON)])
func secrets(name: String, value: JSON) throws {
    let error = #expect(throws: BusError.self) { try method.check(JSON.members(["text": "ok"]).with(name, value)) }
    let told = try #require(error).json.encoded
    #expect(told.contains(name))
    #expect(!told.contains("sw") && !told.contains("Ab"))
}

@Test("what is secret says so in its description, and is checked like what is not") func secretDescription() throws {
    let secrets = method.json["parameters"]?.elements?.filter { $0["secret"] == true }.compactMap { $0["name"]?.text }
    #expect(secrets == ["secret", "preimage"])
    let normal = try method.check(["text": "a", "secret": "abcd", "preimage": .string(hex64)])
    #expect(normal["secret"] == "abcd")
    #expect(normal["preimage"]?.text == "0x" + hex64.lowercased())
    #expect(ParameterType.secret(.hash).isSecret && !ParameterType.hash.isSecret)
    // A host cannot make a secret of what an error would repeat.
    let amount: JSON = [
        "type": "amount", "udt_when": nil, "secret": true, "name": "a", "required": false, "summary": "",
    ]
    let description = method.json.with("parameters", [amount])
    #expect(MethodDescription(parsing: description) == nil)
}
