import Foundation
import Testing
import Wire

/// The kinds of the description of the ABI: each with its members, and how each is written.
private let described: [(kind: String, members: [(name: String, form: String)])] = {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = tests.appending(path: "FiberABITests/Resources/fiber-abi.json")
    let abi = (try? Data(contentsOf: file)).flatMap { try? JSON.parse(Array($0)) }
    return (abi?["events"]?.elements ?? []).map { event in
        let members = event["fields"]?.members ?? []
        return (event["kind"]?.text ?? "", members.map { ($0.key, $0.value.text ?? "") })
    }
}()

private let key = "02" + String(repeating: "ab", count: 32)
private let digits = String(repeating: "cd", count: 32)

/// What a node writes in such a form.
private func sample(_ form: String) -> JSON {
    switch form {
    case "hex66": .string(key)
    case "[multiaddr]": ["/ip4/127.0.0.1/tcp/1/p2p/Qm"]
    case "multiaddr": "/ip4/127.0.0.1/tcp/2/p2p/Qm"
    case "true": true
    case "OutPoint(0xhex72)": .string("OutPoint(0x\(digits)01000000)")
    case "Byte32(0xhex64)": .string("Byte32(0x\(digits))")
    case _ where form.hasPrefix("0xhex64"): .string("0x" + digits)
    default: "some text"
    }
}

private func payload(_ index: Int) -> JSON {
    let (kind, members) = described[index]
    return .object([JSON.Member("kind", .string(kind))] + members.map { JSON.Member($0.name, sample($0.form)) })
}

/// The value inside the case: the typed event.
private func inside(_ event: FiberEvent) -> Any? { Mirror(reflecting: event).children.first?.value }

@Suite struct FiberEvents {
    @Test("every kind of the ABI has a type, and there are no others")
    func kinds() {
        #expect(described.count == 19)
        #expect(FiberEvent.kinds.map(\.name).sorted() == described.map(\.kind).sorted())
    }

    @Test("a schema has every member, and what the node writes is of it", arguments: 0..<19)
    func schema(_ index: Int) throws {
        let (name, members) = described[index]
        let schema = try #require(FiberEvent.kinds.first { $0.name == name }?.schema)
        #expect(schema["required"] == ["kind"])
        #expect(schema["additionalProperties"] == true)
        let properties = try #require(schema["properties"]?.members)
        #expect(properties.map(\.key) == ["kind"] + members.map(\.name))
        #expect(properties.first?.value == ["const": .string(name)])
        for (member, property) in zip(members, properties.dropFirst()) {
            let value = sample(member.form)
            let type = property.value["type"]?.text
            #expect(type == (value.elements != nil ? "array" : value.bool != nil ? "boolean" : "string"))
            if let pattern = property.value["pattern"]?.text {
                let text = try #require(value.text)
                #expect(try Regex(pattern).wholeMatch(in: text) != nil, "\(member.name)")
                #expect(try Regex(pattern).wholeMatch(in: text + "0") == nil, "\(member.name)")
            }
            #expect(property.value["description"]?.text?.isEmpty == false)
        }
    }

    @Test("every member lands in the type; one that is absent, or of another type, is absent", arguments: 0..<19)
    func decoding(_ index: Int) throws {
        let whole = payload(index)
        let typed = try #require(inside(FiberEvent(whole)))
        let members = Mirror(reflecting: typed).children
        #expect(members.count == described[index].members.count)
        for member in members {
            #expect(Mirror(reflecting: member.value).children.count == 1, "\(member.label ?? "") is there")
        }
        #expect(FiberEvent(whole.with("later", ["a": 1])) == FiberEvent(whole), "what comes later is left alone")
        let kind = JSON.object([JSON.Member("kind", .string(described[index].kind))])
        for poor in [kind, described[index].members.reduce(kind) { $0.with($1.name, 5) }] {
            for member in Mirror(reflecting: try #require(inside(FiberEvent(poor)))).children {
                #expect(Mirror(reflecting: member.value).children.isEmpty, "\(member.label ?? "") is absent")
            }
        }
    }

    @Test("what is wrapped in debug text is read without, and compares with what calls answer")
    func unwrapped() {
        var ready = FiberEvent.ChannelReady()
        ready.pubkey = key
        ready.channelID = "0x" + digits
        ready.outPoint = "0x\(digits)01000000"
        let ready64: JSON = [
            "kind": "ChannelReady", "pubkey": .string(key), "channel_id": .string("0x" + digits),
            "out_point": .string("OutPoint(0x\(digits)01000000)"),
        ]
        #expect(FiberEvent(ready64) == .channelReady(ready))
        #expect(FiberEvent(ready64.with("out_point", .string("0x\(digits)01000000"))) == .channelReady(ready))
        var closed = FiberEvent.ChannelClosed()
        closed.transactionHash = "0x" + digits
        #expect(
            FiberEvent(["kind": "ChannelClosed", "tx_hash": .string("Byte32(0x\(digits))")]) == .channelClosed(closed))
    }

    @Test("a list with something else than text in it is left out")
    func mixedList() {
        #expect(
            FiberEvent(["kind": "NetworkStarted", "listening_addrs": ["/ip4/x", 1]])
                == .networkStarted(FiberEvent.NetworkStarted()))
    }

    @Test(
        "what is not known is kept whole",
        arguments: [["kind": "Moonrise", "phase": 3], ["kind": 5], [:], [], nil, "ChannelReady"] as [JSON])
    func unknown(_ payload: JSON) {
        #expect(FiberEvent(payload) == .unknown(kind: payload["kind"]?.text, payload: payload))
    }

    @Test("schemas are asked for one by one or all at once")
    func schemas() throws {
        #expect(try FiberEvent.schemas(of: nil)["schemas"]?.members?.count == 19)
        #expect(try FiberEvent.schemas(of: "ChannelReady")["schemas"]?.members?.map(\.key) == ["ChannelReady"])
        #expect(throws: BusError.self) { try FiberEvent.schemas(of: "Moonrise") }
    }
}
