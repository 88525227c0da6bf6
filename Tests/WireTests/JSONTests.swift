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
