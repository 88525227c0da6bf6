import Testing
import Wire

@Test(
    "what is JSON is read, and written back the same",
    arguments: [
        "null", "true", "[]", "{}", #"{"a":1,"b":[1,-2,"x\ny"],"c":{"d":null}}"#, "9223372036854775807",
        "9223372036854775808", "1.50", "1e400", #""é€😀""#,
    ])
func roundTrip(text: String) throws {
    #expect(try JSON.parse(text).encoded == text)
}

@Test("an escaped surrogate pair is one character") func surrogatePair() throws {
    #expect(try JSON.parse(#""\ud83d\ude00 \u00e9\/""#) == "😀 é/")
}

@Test(
    "what is not JSON is refused",
    arguments: [
        "", " ", "{", "[1,]", #"{"a":1,}"#, "01", "1.", "+1", "nul", #""\x""#, #""\ud83d""#, "\"a\u{1}\"", "1 2",
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, "'a'", "NaN", "{1:2}", #"{"a" 1}"#, "[1 2]",
        String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
    ])
func refused(text: String) {
    #expect(throws: JSONError.self) { try JSON.parse(text) }
}

@Test("64 levels are read") func deepest() throws {
    _ = try JSON.parse(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
}

@Test(
    "bytes that are not UTF-8 are refused",
    arguments: [
        [0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xe2, 0x82, 0x22],
    ])
func notUTF8(bytes: [UInt8]) {
    #expect(throws: JSONError.self) { try JSON.parse(bytes) }
}

@Test("raw members and elements are the very bytes, also where the value would not parse")
func rawMembers() throws {
    let text = Array(#" { "id" : 7 ,"result": [ {"a":1,"a":2}, "\ud800" , 1e400 ] } "#.utf8)
    let members = try JSON.rawMembers(text[1...])
    #expect(members.map(\.key) == ["id", "result"])
    #expect(members.map { String(decoding: $0.text, as: UTF8.self) } == ["7", #"[ {"a":1,"a":2}, "\ud800" , 1e400 ]"#])
    let elements = try JSON.rawElements(members[1].text)
    #expect(elements.map { String(decoding: $0, as: UTF8.self) } == [#"{"a":1,"a":2}"#, #""\ud800""#, "1e400"])
    #expect(try JSON.rawMembers(Array("{}".utf8)[...]).isEmpty)
    #expect(try JSON.rawElements(Array("[ ]".utf8)[...]).isEmpty)
}

@Test(
    "raw members of what is no object, or not JSON to its end, are refused",
    arguments: ["", "[]", "1", "{", #"{"a":1} x"#, #"{"a":}"#, #"{"a":1,"a":2}"#, #"{"a":1,}"#, #"{"\ud800":1}"#])
func noRawMembers(text: String) {
    #expect(throws: JSONError.self) { try JSON.rawMembers(Array(text.utf8)[...]) }
}

@Test("a reply is read back, its result untouched, and nothing else is a reply")
func replies() throws {
    let reply = RPCReply.verbatim(Array(#"{ "x": 1.0 }"#.utf8))
    let decoded = try #require(RPCReply.decode(reply.bytes(id: "a")))
    #expect(decoded.id == "a" && decoded.reply == reply)
    let refusal = RPCReply.failure(BusError(.conflict, "taken", ["pid": 7]))
    let refused = try #require(RPCReply.decode(refusal.bytes(id: nil)))
    #expect(refused.id.isNull && refused.reply == refusal)
    for text in ["", "[]", "{}", #"{"jsonrpc":"2.0","id":1}"#, #"{"jsonrpc":"1.0","id":1,"result":2}"#] {
        #expect(RPCReply.decode(Array(text.utf8)) == nil)
    }
}
