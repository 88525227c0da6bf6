import Testing
import Wire

private func classify(_ bytes: [UInt8]) -> EventClass { bytes.withUnsafeBytes { EventClass.of($0) } }

@Test(
    "the kind is found without decoding",
    arguments: [
        (#"{"kind":"ChannelReady","channel_id":"0x"}"#, "ChannelReady"), (#" {"a":{"kind":"x"},"kind" : "B" } "#, "B"),
        (#"{"a":[1,2,{"b":null}],"kind":"New Kind/1"}"#, "New Kind/1"), (#"{"\u006bind":"K"}"#, "K"),
        (#"{"kind":"\u00e9"}"#, "é"),
    ])
func kinds(text: String, kind: String) { #expect(classify(Array(text.utf8)) == .kind(kind)) }

@Test(
    "what has no usable kind is malformed, and says why",
    arguments: [
        "", "null", "[]", "\"kind\"", "{}", #"{"kind":5}"#, #"{"kind":""}"#, #"{"kind":null}"#, #"{"kind":"a"} x"#,
        #"{"kind":"a""#,
        #"{"kind":"a","kind":"b"}"#, #"{"kind":"\ud800"}"#, #"{"kind":"a","b":01}"#,
        #"{"kind":""# + String(repeating: "k", count: 101) + #""}"#,
        #"{"kind":"a","b":"# + String(repeating: "[", count: 600) + String(repeating: "]", count: 600) + "}",
    ])
func malformed(text: String) {
    guard case .malformed(let reason) = classify(Array(text.utf8)) else {
        Issue.record("taken as an event")
        return
    }
    #expect(!reason.isEmpty)
}

@Test("bytes that are not UTF-8 are malformed") func notText() {
    #expect(classify(Array(#"{"kind":"a","b":""#.utf8) + [0xff, 0x22, 0x7d]) == .malformed("not UTF-8"))
}

@Test("a header is written as the contract shows it, and reads back") func header() throws {
    let profile = try #require(Profile("testnet/alice"))
    let header = EventHeader(
        epoch: "5f0c2a9e", seq: 42, prev: 40, timeMicroseconds: 1_796_000_523_123_456,
        topic: Topic(profile: profile, source: "fiber", kind: "ChannelReady"), run: 7)
    let text = String(decoding: header.bytes, as: UTF8.self)
    #expect(
        text
            == #"{"v":1,"epoch":"5f0c2a9e","seq":42,"prev":40,"time":"\#(Timestamp.text(1_796_000_523_123_456))","network":"testnet","account":"alice","source":"fiber","kind":"ChannelReady","run":7}"#
    )
    #expect(EventHeader(parsing: header.bytes) == header)
}

@Test(
    "times are written in UTC, leap days and all",
    arguments: [
        (0, "1970-01-01T00:00:00.000000Z"), (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
        (1_796_000_523_123_456, "2026-11-30T01:02:03.123456Z"), (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"), (-5, "1970-01-01T00:00:00.000000Z"),
        (Int64.max, "9999-12-31T23:59:59.999999Z"),
    ] as [(Int64, String)])
func times(microseconds: Int64, text: String) {
    #expect(Timestamp.text(microseconds) == text)
    #expect(Timestamp.parse(text).map(Timestamp.text) == text)
}

@Test("strange characters of a kind are encoded in the topic only") func topics() throws {
    let profile = try #require(Profile(network: "dev", account: "a"))
    #expect(Topic(profile: profile, source: "fiber", kind: "A b/é%").description == "dev/a/fiber/A%20b%2F%C3%A9%25")
    #expect(!Topic(profile: profile, source: "fiber", kind: String(repeating: "/", count: 100)).fits)
}

@Test(
    "names that could be a path, a topic of ours or nothing are refused",
    arguments: [
        "", "a/b", "..", ".", "A", "-a", "_a", "a b", "a\0", "é", "😀", "bus", "supervisor", "a.b",
        String(repeating: "a", count: 64),
    ])
func badNames(name: String) { #expect(Profile(network: "dev", account: name) == nil) }

@Test("names that are names", arguments: ["a", "0", "a-b_c", String(repeating: "a", count: 63), "buses"])
func goodNames(name: String) { #expect(Profile(network: name, account: name) != nil) }
