import Glibc
import HostLink
import Linux
import Testing
import Wire

/// The built host against the simulated node.
@Suite struct HostProcesses {
    @Test("it says hello, starts the node, serves, hands every event over, and stops in order")
    func wholeLife() throws {
        let world = try HostWorld()
        let hello: Hello = try world.message { if case .hello(let hello) = $0 { hello } else { nil } }
        #expect(hello.driver == "fiber")
        #expect(hello.source == "fiber")
        #expect(hello.isSimulated)
        #expect(hello.library == HostWorld.simulator)
        #expect(hello.libraryVersion.contains("sim"))
        #expect(hello.methods.map(\.name).contains("fiber.sim"))
        try world.ready()
        try world.event(#""kind":"NetworkStarted""#)
        #expect(try world.call("fiber.node_info")["pubkey"]?.text?.utf8.count == 66)
        world.link.send(.stop)
        try world.expectEnd(0)
        #expect(try world.events().contains { $0.contains(#""kind":"NetworkStopped""#) })
        #expect(world.standardError.hasPrefix("nodebus-fiber: run 7 of a SIMULATED node, library /"))
        #expect(!world.standardOutput.isEmpty, "what the node prints is in the file")
    }

    @Test("every call reaches the node, and no string is left behind")
    func everyCall() throws {
        let world = try HostWorld(config: HostWorld.config(sim: peers))
        try world.ready()
        let simulated = try world.call("fiber.sim", ["peers": [:]])["peers"]?.elements ?? []
        let carol = try #require(simulated.first { $0["name"] == "carol" })
        let key = try #require(carol["pubkey"])
        #expect(try world.call("fiber.connect_peer", ["address": carol["address"] ?? .null]) == [:])
        try world.event(#""kind":"PeerConnected""#)
        #expect(try world.call("fiber.list_peers")["peers"]?.elements?.isEmpty == false)
        let opened = try openOnceInitialized(world, ["pubkey": key, "funding_amount": "500 CKB"])
        #expect(opened["temporary_channel_id"]?.text?.hasPrefix("0x") == true)
        try world.event(#""kind":"ChannelReady""#)
        #expect(try world.call("fiber.list_channels", ["pubkey": key])["channels"]?.elements?.count == 1)
        let ours = try world.call("fiber.new_invoice", ["amount": "1 CKB"])
        #expect(ours["invoice"]?.text?.hasPrefix("fibt") == true)
        let theirs = try world.call("fiber.sim", ["invoice": ["peer": "carol", "amount": 1000]])
        let sent = try world.call("fiber.send_payment", ["invoice": theirs["invoice"] ?? .null])
        let hash = try #require(sent["payment_hash"])
        #expect(try world.call("fiber.get_payment", ["payment_hash": hash])["payment_hash"] == hash)
        #expect(try world.call("fiber.disconnect_peer", ["pubkey": key]) == [:])
        let counters = try world.call("fiber.sim", ["counters": [:]])
        // The string that the counters themselves come in is the one that lives while they are taken, at most.
        #expect(try #require(counters["strings_live"]?.integer) <= 1)
        #expect(counters["payments_made"] == 1)
    }

    /// A peer takes a channel a moment after PeerConnected, as with the real node.
    private func openOnceInitialized(_ world: HostWorld, _ parameters: JSON) throws -> JSON {
        let deadline = Instant.now + HostWorld.patience
        while true {
            switch try world.reply(world.send("fiber.open_channel", parameters)) {
            case .result(let bytes): return try JSON.parse(bytes)
            case .failure(let error):
                guard error.data.contains(JSON.Member("reason", "peer_not_initialized")), Instant.now < deadline else {
                    throw error
                }
            }
        }
    }

    private let peers = "confirm: 20ms\npeers: [{name: carol, connect: false}]"

    @Test("what the node refuses, and what never reaches it, are different errors")
    func refusals() throws {
        let world = try HostWorld()
        try world.ready()
        let hash = "0x" + String(repeating: "ab", count: 32)
        let unknown = try world.error("fiber.get_payment", ["payment_hash": .string(hash)])
        #expect(unknown.code == .nodeError)
        #expect(unknown.data.contains(JSON.Member("reason", "payment_unknown")))
        #expect(unknown.message.contains(hash))
        #expect(!unknown.message.contains("ErrorObject"))
        #expect(try world.error("fiber.get_payment", ["payment_hash": "x"]).code == .invalidParams)
        #expect(try world.error("fiber.get_payment", ["nonsense": 1]).code == .invalidParams)
        #expect(try world.error("fiber.no_such_call").code == .methodNotFound)
        #expect(try world.call("fiber.sim", ["counters": [:]])["strings_live"]?.integer ?? 9 <= 1)
    }

    @Test("events of a storm wait in the callback while the ring is full, and none is missing")
    func fullRing() throws {
        let world = try HostWorld()
        try world.ready()
        let count = 6_000  // x 4,000 bytes: more than the ring holds
        _ = try world.call("fiber.sim", ["emit": ["count": .integer(Int64(count)), "bytes": 4000, "kind": "Storm"]])
        var seen = 0
        try world.eachBatch {
            seen += $0.count { $0.contains(#""kind":"Storm""#) }
            return seen >= count
        }
        #expect(seen == count)
    }

    @Test("events from ten threads at once, and ones that are no JSON, come whole into the ring")
    func oddEvents() throws {
        let world = try HostWorld()
        try world.ready()
        try world.event("NetworkStarted")
        _ = try world.call("fiber.sim", ["fault": ["call": "event", "do": "ten-threads"]])
        _ = try world.call("fiber.sim", ["fault": ["call": "event", "do": "not-json", "nth": 2]])
        _ = try world.call("fiber.sim", ["emit": ["count": 3, "bytes": 100, "kind": "Odd"]])
        var events: [String] = []
        try world.eachBatch {
            events += $0
            return events.count >= 12
        }
        let whole = events.filter { (try? JSON.parse(Array($0.utf8)))?["kind"] == "Odd" }
        #expect(whole.count == 11, "ten of the first, one of the third")
        #expect(events.count == 12)
    }

    @Test("the passphrase reaches the library and no one who looks at the process")
    func secret() throws {
        let world = try HostWorld(secret: "very secret indeed")
        try world.ready()
        for file in ["environ", "cmdline"] {
            let bytes = try Descriptor.open("/proc/\(world.pid)/\(file)", O_RDONLY).readAll()
            #expect(!String(decoding: bytes, as: UTF8.self).contains("very secret"))
        }
        #expect(!world.standardError.contains("very secret"))
        #expect(!world.standardOutput.contains("very secret"))
    }
}
