import Testing
import Wire

private let method = MethodDescription(
    "fiber.try", "Tries.",
    [
        .init("flag", .boolean, "a flag"), .init("text", .text(maxBytes: 4), required: true, "a text"),
        .init("key", .publicKey, required: true, "a key"),
    ], result: "what came of it", effect: .money, find: "fiber.look")

@Suite struct OpenRPCDocument {
    @Test("a method is described whole, with what is required first")
    func whole() throws {
        let document = OpenRPC.document(version: "1.2.3", BusMethods.all + [method])
        #expect(document["openrpc"] == "1.3.2")
        #expect(document["info"]?["version"] == "1.2.3")
        let methods = try #require(document["methods"]?.elements)
        #expect(methods.count == BusMethods.all.count + 1)
        let last = try #require(methods.last)
        #expect(last["name"] == "fiber.try")
        #expect(last["summary"] == "Tries.")
        #expect(last["paramStructure"] == "by-name")
        #expect(last["params"]?.elements?.map { $0["name"] } == ["text", "key", "flag"])
        #expect(last["params"]?.elements?.map { $0["required"] } == [true, true, false])
        #expect(last["result"]?["description"] == "what came of it")
        #expect(last["x-effect"] == "money")
        #expect(last["x-find"] == "fiber.look")
        let errors = try #require(document["components"]?["errors"])
        #expect(errors["not_ready"]?["code"] == -32006)
        #expect(errors.members?.count == BusError.Code.allCases.count)
    }

    static let types: [ParameterType] = [
        .text(maxBytes: 4), .boolean, .integer(min: 1, max: 5), .amount(udtWhen: nil), .hash, .publicKey,
        .choice(["a", "b"]), .object, .array, .texts, .secret(.hash),
    ]
    static let values: [JSON] = [
        "a", "abcde", true, 1, 5, 6, -1, "5", "0x5", "+5", "x", "", "1.5 CKB", "1. CKB", "1.123456789 CKB", "0x",
        .integer(1 << 53), .integer((1 << 53) + 1), [], ["a"], [1], [:], ["a": 1],
        .string(String(repeating: "Ab", count: 32)),
        .string("0x" + String(repeating: "ab", count: 32)), .string("02" + String(repeating: "Ab", count: 32)),
        .string("04" + String(repeating: "ab", count: 32)),
    ]

    @Test("what the bus takes is of the schema", arguments: types)
    func taken(_ type: ParameterType) throws {
        var count = 0
        for value in Self.values where (try? type.check(value, at: "x") { _ in false }) != nil {
            #expect(try isValid(value, type.schema), "\(value)")
            count += 1
        }
        #expect(count > 0)
    }

    @Test("what is not of the schema, the bus refuses; what no schema can tell apart, it refuses too", arguments: types)
    func refused(_ type: ParameterType) throws {
        for value in Self.values where try !isValid(value, type.schema) {
            #expect(throws: BusError.self, "\(value)") { try type.check(value, at: "x") { _ in false } }
        }
    }

    @Test("what cannot be given is of no schema, and is refused with the reason") func refusal() throws {
        let type = ParameterType.refused(why: "the moon is in the way")
        #expect(type.schema["not"] == [:])
        let error = #expect(throws: BusError.self) { try type.check(1, at: "x") { _ in false } }
        #expect(try #require(error).message.hasSuffix("cannot be given: the moon is in the way"))
    }

    @Test("a secret is marked") func secret() {
        #expect(ParameterType.secret(.hash).schema["writeOnly"] == true)
        #expect(ParameterType.hash.schema["writeOnly"] == nil)
    }

    /// As much of JSON Schema as these schemas use.
    private func isValid(_ value: JSON, _ schema: JSON) throws -> Bool {
        if let choices = schema["anyOf"]?.elements { return try choices.contains { try isValid(value, $0) } }
        switch schema["type"]?.text {
        case "boolean": return value.bool != nil
        case "object": return value.members != nil
        case "array":
            let items = schema["items"]
            return try value.elements?.allSatisfy { element in try items.map { try isValid(element, $0) } ?? true }
                ?? false
        case "integer":
            guard let number = value.integer else { return false }
            return number >= schema["minimum"]?.integer ?? .min && number <= schema["maximum"]?.integer ?? .max
        case "string":
            guard let text = value.text else { return false }
            if let words = schema["enum"]?.elements, !words.contains(value) { return false }
            if let limit = schema["maxLength"]?.integer, text.unicodeScalars.count > limit { return false }
            return try schema["pattern"]?.text.map { try Regex($0).wholeMatch(in: text) != nil } ?? true
        default: return false
        }
    }
}
