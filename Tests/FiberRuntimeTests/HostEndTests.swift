import Glibc
import HostLink
import Linux
import Testing
import Wire

/// All the ways in which a host ends.
@Suite struct HostEnds {
    @Test("SIGTERM, SIGINT and SIGHUP stop the node in order", arguments: [SIGTERM, SIGINT, SIGHUP])
    func signals(_ signal: Int32) throws {
        let world = try HostWorld()
        try world.ready()
        world.signal(signal)
        try world.expectEnd(0)
        #expect(try world.events().contains { $0.contains("NetworkStopped") })
    }

    @Test("the end of the link stops the node in order")
    func linkEnds() throws {
        let world = try HostWorld()
        try world.ready()
        world.closeLink()
        try world.expectEnd(0)
        #expect(try world.events().contains { $0.contains("NetworkStopped") })
    }

    @Test("the death of the supervisor stops the node in order, even while somebody still holds the link")
    func supervisorDies() throws {
        let world = try HostWorld(behindShell: true)
        try world.ready()
        world.signal(SIGKILL)
        try world.event("NetworkStopped")
    }

    @Test("nonsense on the link stops the node in order, and is told by the status")
    func nonsense() throws {
        let world = try HostWorld()
        try world.ready()
        let bytes: [UInt8] = [1, 0, 0, 0, 99, 0]
        #expect(send(world.link.descriptor, bytes, bytes.count, 0) == bytes.count)
        try world.expectEnd(42)
        #expect(try world.events().contains { $0.contains("NetworkStopped") })
    }

    /// A world with a call to connect_peer under way: its work is done, which the event shows, and its answer is held
    /// up by the fault.
    private func worldInCall(_ fault: JSON, stopTimeout: Duration) throws -> (world: HostWorld, call: UInt64) {
        let peers = "peers: [{name: carol, connect: false}]"
        let world = try HostWorld(config: HostWorld.config(sim: peers), stopTimeout: stopTimeout)
        try world.ready()
        let carol = try world.call("fiber.sim", ["peers": [:]])["peers"]?.elements?.first
        let armed: JSON = ["call": "fiber_connect_peer", "when": "after", "do": fault]
        _ = try world.call("fiber.sim", ["fault": armed])
        let call = world.send("fiber.connect_peer", ["address": carol?["address"] ?? .null])
        try world.event("PeerConnected")
        return (world, call)
    }

    @Test("a call that runs when the stop comes is finished, one that waits is refused")
    func drains() throws {
        let (world, running) = try worldInCall("slow:1s", stopTimeout: .seconds(10))
        let waiting = world.send("fiber.list_peers")
        world.link.send(.stop)
        guard case .result = try world.reply(running) else {
            Issue.record("the running call was not finished")
            return
        }
        guard case .failure(let error) = try world.reply(waiting) else {
            Issue.record("the waiting call was made")
            return
        }
        #expect(error.code == .nodeNotRunning)
        try world.expectEnd(0)
    }

    @Test("a call that hangs ends with the stop's deadline")
    func callHangs() throws {
        let (world, _) = try worldInCall("hang", stopTimeout: .milliseconds(700))
        try expectEndByDeadline(world, "fiber.connect_peer")
    }

    @Test("a stop that hangs ends with its deadline")
    func stopHangs() throws {
        let world = try HostWorld(stopTimeout: .milliseconds(700))
        try world.ready()
        _ = try world.call("fiber.sim", ["fault": ["call": "fiber_stop", "do": "hang"]])
        try expectEndByDeadline(world, "fiber_stop")
    }

    private func expectEndByDeadline(_ world: HostWorld, _ named: String) throws {
        let ordered = Instant.now
        world.link.send(.stop)
        try world.expectEnd(43)
        let took = Instant.now - ordered
        #expect(took >= .milliseconds(690) && took < .seconds(20), "it took \(took)")
        #expect(world.standardError.contains("\(named) has not returned"))
    }

    @Test("a callback that waits for room in a ring that nobody reads does not keep the process")
    func fullRingAtStop() throws {
        let world = try HostWorld(stopTimeout: .milliseconds(700))
        try world.ready()
        _ = try world.call("fiber.sim", ["emit": ["count": 6000, "bytes": 4000, "kind": "Storm"]])
        try world.waitUntilRingIsFull()
        world.closeLink()
        try world.expectEnd(43)
        #expect(try !world.events().isEmpty, "what was handed over is still there")
    }

    @Test("a stop that comes during the start waits for it, then stops the node")
    func stopDuringStart() throws {
        let faults = #"faults: [{call: fiber_start, do: "slow:1s"}]"#
        let world = try HostWorld(config: HostWorld.config(sim: faults))
        world.link.send(.stop)
        try world.expectEnd(0)
        #expect(try world.events().contains { $0.contains("NetworkStopped") })
    }

    @Test("a start that hangs ends with the stop's deadline, since no key is being encrypted and no store changes")
    func startHangs() throws {
        let faults = "faults: [{call: fiber_start, do: hang, when: after}]"
        let world = try HostWorld(config: HostWorld.config(sim: faults), stopTimeout: .milliseconds(500))
        try world.event("NetworkStarted")
        world.signal(SIGTERM)
        try world.expectEnd(43)
        #expect(world.standardError.contains("fiber_start has not returned"))
    }

    @Test("a start that hangs with the key still plaintext is given time beyond the deadline")
    func keyIsPlain() throws {
        let faults = #"faults: [{call: fiber_start, do: "slow:3s"}]"#
        let world = try HostWorld(config: HostWorld.config(sim: faults), stopTimeout: .milliseconds(300))
        world.link.send(.stop)
        try world.expectEnd(0)
    }

    @Test(
        "a start that fails says why, and whether a person is needed",
        arguments: [
            (#"faults: [{call: fiber_start, do: "status:3"}]"#, "a", "start_failed", false),
            ("confirm: 20ms", "", "passphrase_missing", true),
        ])
    func startFails(_ sim: String, _ secret: String, _ reason: String, _ isPermanent: Bool) throws {
        let world = try HostWorld(config: HostWorld.config(sim: sim), secret: secret)
        let fatal = try world.fatal()
        #expect(fatal.reason == reason, "\(fatal)")
        #expect(fatal.isPermanent == isPermanent)
        try world.expectEnd(40)
    }

    @Test(
        "a key or a config that cannot be used",
        arguments: [
            (HostWorld.config(), "0x" + HostWorld.key, "key_invalid"),
            ("fiber: {}\nckb: {}\nservices: []\n", HostWorld.key, "config_invalid"),
            ("{", HostWorld.key, "config_invalid"),
        ])
    func unusable(_ config: String, _ key: String, _ reason: String) throws {
        let world = try HostWorld(config: config, key: key)
        let fatal = try world.fatal()
        #expect(fatal.reason == reason, "\(fatal)")
        #expect(fatal.isPermanent)
        #expect(!fatal.message.contains(HostWorld.key))
        try world.expectEnd(40)
    }

    @Test("a panic in a call answers the call, says that the node is dead, and ends the process")
    func panics() throws {
        let world = try HostWorld()
        try world.ready()
        _ = try world.call("fiber.sim", ["fault": ["call": "fiber_list_peers", "do": "status:5"]])
        let error = try world.error("fiber.list_peers")
        #expect(error.data.contains(JSON.Member("reason", "panic")))
        let fatal = try world.fatal()
        #expect(fatal.reason == "panic")
        #expect(!fatal.isPermanent)
        try world.expectEnd(44)
    }

    @Test("a network that stops without an order ends the process")
    func networkStops() throws {
        let world = try HostWorld()
        try world.ready()
        _ = world.send("fiber.sim", ["emit": ["count": 1, "kind": "NetworkStopped"]])
        #expect(try world.fatal().reason == "network_stopped")
        try world.expectEnd(44)
    }

    @Test("an event after the stop does no harm")
    func eventAfterStop() throws {
        let world = try HostWorld()
        try world.ready()
        _ = try world.call("fiber.sim", ["fault": ["call": "event", "do": "after-stop"]])
        world.link.send(.stop)
        try world.expectEnd(0)
    }

    @Test("a library that cannot be loaded is one line and a status")
    func noLibrary() throws {
        let world = try HostWorld(library: "/nonexistent/libfiber_ffi.so")
        let fatal = try world.fatal()
        #expect(fatal.reason == "library_missing")
        #expect(fatal.isPermanent)
        try world.expectEnd(41)
        #expect(world.standardError.split(separator: "\n").count == 1)
    }

    @Test("a host whose supervisor is not its parent starts nothing")
    func orphan() throws {
        let world = try HostWorld(supervisorPID: 1)
        try world.expectEnd(45)
        #expect(try world.events().isEmpty)
    }

    @Test(
        "without a supervisor's command line it says what it is",
        arguments: [([], 2), (["--help"], 0), (["--version"], 0), (["--library", "x"], 2), (["run"], 2)]
            as [([String], Int32)])
    func byHand(_ arguments: [String], _ status: Int32) throws {
        let output = try Descriptor.memory("output", holding: [])
        let child = try ChildProcess.spawn(
            path: HostWorld.products + "/nodebus-fiber", arguments: arguments, environment: [],
            standardOutput: output.raw, standardError: output.raw, inherited: [])
        try #require(waitFor(child.descriptor, .now + HostWorld.patience))
        #expect(child.reap() == .exited(status))
        lseek(output.raw, 0, SEEK_SET)
        #expect(String(decoding: try output.readAll(), as: UTF8.self).contains("nodebus run"))
    }
}
