import Bus
import Glibc
import Linux
import Testing
import Wire

@Suite("Clients in another language, with nothing of ours")
struct PythonTests {
    private static let script = """
        import json, sys, zmq
        events, commands = sys.argv[1:]
        context = zmq.Context()
        sub = context.socket(zmq.SUB)
        sub.RCVTIMEO = 10000
        sub.subscribe(b"")
        sub.connect(events)
        first = sub.recv_multipart()
        assert first == [b"bus/Welcome"], first

        req = context.socket(zmq.REQ)
        req.RCVTIMEO = 10000
        req.connect(commands)
        def call(method, id=1, **params):
            req.send_json({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            reply = req.recv_json()
            assert reply["jsonrpc"] == "2.0" and reply["id"] == id, reply
            return reply
        assert call("bus.ping")["result"] == {}
        assert call("bus.status", id="s")["result"]["subscribers"] == 1
        for bad in [b"", b"{", b"\\xff", b"[]", b"null", b'{"jsonrpc":"2.0","id":1,"method":"no.such"}']:
            req.send(bad)
            assert "error" in req.recv_json()
        assert call("fiber.node_info")["result"] == {"echo": "fiber.node_info"}
        for _ in range(1000):
            topic, header, payload = sub.recv_multipart()
            if topic == b"testnet/alice/fiber/Thing":
                break
        header = json.loads(header)
        assert (header["v"], header["seq"], header["epoch"], header["kind"]) == (1, 1, "5f0c2a9e", "Thing"), header
        assert payload == b'{"n":1}'

        dealer = context.socket(zmq.DEALER)
        dealer.RCVTIMEO = 10000
        dealer.connect(commands)
        for number in range(1000):
            dealer.send_json({"jsonrpc": "2.0", "id": number, "method": "bus.ping"})
        assert sorted(dealer.recv_json()["id"] for _ in range(1000)) == list(range(1000))
        context.destroy(linger=0)
        print("all good")
        """

    @Test("pyzmq subscribes, calls, sends nonsense and pipelines")
    func pyzmq() throws {
        let world = try World(heartbeat: .milliseconds(50))
        let out = try Descriptor.open("\(world.directory.path)/out", O_CREAT | O_RDWR)
        let child = try ChildProcess.spawn(
            path: "/usr/bin/python3",
            arguments: [
                "-c", PythonTests.script, world.directory.endpoint("events"), world.directory.endpoint("commands"),
            ],
            environment: [], standardOutput: out.raw, standardError: out.raw, inherited: [])
        let end = try? eventually { () -> ChildProcess.End? in
            if let request = world.delivered.all.first, request.claim() {
                world.bus.publish(try world.batch(1))
                request.answer(.result(["echo": .string(request.method)]))
            }
            return child.reap()
        }
        if end == nil { child.signal(SIGKILL) }
        lseek(out.raw, 0, SEEK_SET)
        let text = String(decoding: try out.readAll(), as: UTF8.self)
        #expect(end == .exited(0))
        #expect(text == "all good\n")
    }
}
