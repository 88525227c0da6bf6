import Testing
import YAML

@Suite("YAML text becomes a tree with places, or one clear error")
struct YAMLTests {
    @Test("mappings keep their order, and every node its line and column")
    func tree() throws {
        let root = try YAML.parse("b: 1\na: [x, 'true', true]\nempty:\n")
        #expect(root.mapping?.map(\.name) == ["b", "a", "empty"])
        #expect(root["b"]?.integer == 1)
        let list = try #require(root["a"]?.sequence)
        #expect(list.map(\.line) == [2, 2, 2])
        #expect(list.map(\.column) == [5, 8, 16])
        #expect(list.map(\.text) == ["x", "true", "true"])
        #expect(list.map(\.bool) == [nil, nil, true])
        #expect(root["empty"]?.isNull == true)
        #expect(root["missing"] == nil)
        #expect(root.mapping?[1].key.line == 2)
    }

    @Test("what is quoted is text; what is plain can be more", arguments: [("12", 12), ("-7", -7), ("0", 0)])
    func integers(text: String, value: Int64) throws {
        #expect(try YAML.parse(text).integer == value)
        #expect(try YAML.parse("'\(text)'").integer == nil)
        #expect(try YAML.parse("\"\(text)\"").plain == nil)
    }

    @Test(
        "not every plain word is a number",
        arguments: ["+1", "1.5", "0x10", "1_000", "9223372036854775808", "yes", "''"])
    func noIntegers(text: String) throws { #expect(try YAML.parse(text).integer == nil) }

    @Test("null is nothing, ~ or null, without quotes")
    func null() throws {
        for text in ["~", "null", "a:", "NULL"] {
            let root = try YAML.parse(text)
            #expect((root["a"] ?? root).isNull)
        }
        #expect(try !YAML.parse("'null'").isNull)
        #expect(try !YAML.parse("nullable").isNull)
    }

    @Test("a block is text, and a character outside ASCII is one column")
    func blocks() throws {
        let root = try YAML.parse("|\n  12\n")
        #expect(root.text == "12\n")
        #expect(root.integer == nil)
        #expect(try YAML.parse("[é, b]").sequence?[1].column == 5)
    }

    @Test(
        "a fault is named with its place",
        arguments: [
            ("a: 1\nb: 2\na: 3", "3:1: the key \"a\" stands here a second time; the first is on line 1"),
            ("{a: {x: 1, x: 2}}", "1:12: the key \"x\" stands here a second time; the first is on line 1"),
            ("a: &one 1\nb: *one", "1:4: an anchor (&name) stands here; anchors and aliases are not read"),
            ("a: *one", "1:4: an alias (*name) stands here; write the value out instead"),
            ("&x [1]", "1:1: an anchor (&name) stands here; anchors and aliases are not read"),
            ("&x {a: 1}", "1:1: an anchor (&name) stands here; anchors and aliases are not read"),
            ("a: !!str 1", "1:4: a tag (!name) stands here; tags are not read"),
            ("a: 1\n---\nb: 2", "2:1: a second document starts here; exactly one is read"),
            ("", "1:1: there is nothing in it"),
            ("# only words\n", "1:1: there is nothing in it"),
            ("? [a]\n: 1", "1:3: a key must be a word, not a list or a mapping"),
            ("a: [1, 2", "2:1: while parsing a flow sequence: did not find expected ',' or ']'"),
            (
                "a:\n\tb: 1",
                "2:1: while scanning for the next token: found character that cannot start any token "
                    + "(indent with spaces: YAML allows no tab)"
            ),
        ])
    func faults(text: String, message: String) {
        let error = #expect(throws: YAMLError.self) { try YAML.parse(text) }
        #expect(error?.description == message)
    }

    @Test("bytes that are not UTF-8 are refused at their place")
    func badBytes() {
        let error = #expect(throws: YAMLError.self) { try YAML.parse(Array("a: 1\nbc: ".utf8) + [0xff, 0x41]) }
        #expect(error?.line == 2)
        #expect(error?.column == 5)
        #expect(error?.problem.hasPrefix("not UTF-8 text: ") == true)
        #expect(throws: YAMLError.self) { try YAML.parse([0xff, 0xfe, 0x61, 0x00]) }
        #expect(throws: YAMLError.self) { try YAML.parse(Array("a: b\0c".utf8)) }
    }

    @Test("depth has a limit, in lists and in mappings")
    func depth() throws {
        let limit = YAML.depthLimit
        func nested(_ open: String, _ close: String, _ count: Int) -> String {
            String(repeating: open, count: count) + "x" + String(repeating: close, count: count)
        }
        _ = try YAML.parse(nested("[", "]", limit))
        _ = try YAML.parse(nested("{a: ", "}", limit))
        for text in [nested("[", "]", limit + 1), nested("{a: ", "}", limit + 1), nested("[", "", 500_000)] {
            let error = #expect(throws: YAMLError.self) { try YAML.parse(text) }
            #expect(error?.problem == "nested more than 64 levels deep")
        }
    }

    @Test("size has a limit")
    func size() throws {
        _ = try YAML.parse(String(repeating: "x", count: YAML.sizeLimit))
        let error = #expect(throws: YAMLError.self) {
            try YAML.parse(String(repeating: "x", count: YAML.sizeLimit + 1))
        }
        #expect(error?.problem == "1048577 bytes are too many; the limit is 1048576")
    }

    @Test("no bytes whatever end the process")
    func noise() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("ab:,[]{}'\"|>-?#&*!%@ \n\t~0\u{0}".utf8) + [0xc3, 0xa9, 0xff]
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 0..<40)).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            _ = try? YAML.parse(bytes)
        }
    }
}
