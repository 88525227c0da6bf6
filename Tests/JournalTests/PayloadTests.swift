import Foundation
import Journal
import Testing
import Wire

@Suite("what a node says becomes a payload") struct PayloadTests {
    let world: World
    let journal: Journal

    init() throws {
        world = try World()
        journal = try world.openInRun()
    }

    private func appendOne(_ message: [UInt8], fullSize: Int? = nil) throws -> Message {
        var intake = Intake()
        intake.say(message, n: journal.ringPosition.n + 1, fullSize: fullSize)
        return try #require(try journal.append(intake).messages().first)
    }

    @Test("an event's own bytes are untouched")
    func untouched() throws {
        let text = " {\t\"n\" : 1.50, \"kind\":\"ChannelReady\" , \"x\":\"\\u00e9 é\"}\n"
        let message = try appendOne(Array(text.utf8))
        #expect(message.topic == "dev/demo/fiber/ChannelReady")
        #expect(message.text == text)
    }

    @Test("a kind that nobody knows is published; what a topic cannot hold of it is percent-encoded there only")
    func oddKind() throws {
        let message = try appendOne(Array(#"{"kind":"new/Kind é"}"#.utf8))
        #expect(message.topic == "dev/demo/fiber/new%2FKind%20%C3%A9")
        #expect(message.header.topic.kind == "new/Kind é")
    }

    @Test(
        "what is no event is kept whole, as Malformed",
        arguments: [
            ("", "not JSON"), ("hello", "not JSON"), ("[1]", "not a JSON object"), ("{}", "no kind"),
            (#"{"kind":7}"#, "kind is not"),
            (#"{"kind":""}"#, "kind is empty"), (#"{"kind":"a"} x"#, "not JSON"),
            (#"{"kind":"a","kind":"b"}"#, "two members"),
        ])
    func malformed(text: String, reason: String) throws {
        try expectMalformed(Array(text.utf8), reason)
        #expect(try appendOne(Array(#"{"kind":"Fine"}"#.utf8)).topic == "dev/demo/fiber/Fine", "the next one flows")
    }

    @Test("bytes that are no text, and a kind over 100 bytes, are Malformed too") func malformedBytes() throws {
        try expectMalformed(Array(#"{"kind":"a","b":""#.utf8) + [0xff, 0xfe, 0x22, 0x7d], "not UTF-8")
        try expectMalformed([0, 0, 0], "not JSON")
        try expectMalformed(
            Array((["kind": .string(String(repeating: "k", count: 101))] as JSON).bytes), "over 100 bytes")
        let longest = String(repeating: "k", count: 100)
        #expect(try appendOne(Array((["kind": .string(longest)] as JSON).bytes)).header.topic.kind == longest)
    }

    @Test("a topic over 255 bytes is Malformed") func longTopic() throws {
        // 33 characters of three bytes each are 99 bytes, and 297 in the topic.
        try expectMalformed((["kind": .string(String(repeating: "€", count: 33))] as JSON).bytes, "255 bytes")
    }

    private func expectMalformed(_ bytes: [UInt8], _ reason: String) throws {
        let message = try appendOne(bytes)
        #expect(message.topic == "dev/demo/fiber/Malformed")
        #expect(message.header.topic.kind == "Malformed")
        let json = try JSON.parse(message.payload)
        #expect(json.members?.map(\.key) == ["reason", "base64"])
        #expect(json["reason"]?.text?.contains(reason) == true, "\(json["reason"]?.text ?? "")")
        let kept = try #require(json["base64"]?.text.flatMap { Data(base64Encoded: $0) })
        #expect(Array(kept) == bytes)
    }

    @Test(
        "an account's 1,001st kind is Malformed; the first thousand, and lifecycle kinds, go on",
        arguments: [false, true])
    func tooManyKinds(reopens: Bool) throws {
        var intake = Intake()
        intake.say("bad", n: 1)
        for n in 1...1000 { intake.say(#"{"kind":"K\#(n)"}"#, n: Int64(n + 1)) }
        #expect(try journal.append(intake).messages().filter { $0.header.topic.kind == "Malformed" }.count == 1)
        let journal = reopens ? try world.open() : self.journal
        var more = Intake()
        more.say(#"{"kind":"K1001"}"#, n: 1002)
        more.say(#"{"kind":"K1000"}"#, n: 1003)
        more.say([1], n: 1004, fullSize: 9_000_000)
        more.append(kind: "NodeExited", payload: ["cause": "crash"], run: 1, timeMicroseconds: 1)
        let messages = try journal.append(more, endsRun: true).messages()
        #expect(messages.map(\.header.topic.kind) == ["Malformed", "K1000", "Oversized", "NodeExited"])
        #expect(messages[0].text.contains("1000 kinds"))
        #expect(messages.map(\.header.prev) == [1, 1001, 0, 0])
    }

    @Test("what the host cut is Oversized: its size and first 64 KiB", arguments: [10, 65536, 70000])
    func oversized(kept: Int) throws {
        let bytes = (0..<kept).map { UInt8(truncatingIfNeeded: $0) }
        let message = try appendOne(bytes, fullSize: 9_000_000)
        #expect(message.topic == "dev/demo/fiber/Oversized")
        let json = try JSON.parse(message.payload)
        #expect(json["size"] == 9_000_000)
        #expect(
            json["base64"]?.text.flatMap { Data(base64Encoded: $0) }.map { Array($0) } == Array(bytes.prefix(65536)))
    }

    @Test("a payload over 1 MiB stays whole in the journal and is published as omitted") func omitted() throws {
        func event(of size: Int) -> [UInt8] {
            let frame = #"{"kind":"Big","x":""}"#.utf8.count
            return Array(#"{"kind":"Big","x":"\#(String(repeating: "x", count: size - frame))"}"#.utf8)
        }
        #expect(try appendOne(event(of: 1 << 20)).payload == event(of: 1 << 20))
        let big = event(of: (1 << 20) + 1)
        #expect(try appendOne(big).text == #"{"omitted":true,"size":1048577}"#)
        #expect(try world.storedPayload(2) == big)
        #expect(try appendOne(event(of: 50)).header.prev == 2)
    }
}
