import Glibc
import Linux
import Testing
import ZeroMQ

@Suite("Sockets carry frames and name what fails")
struct SocketTests {
    let world: World
    init() throws { world = try World() }

    @Test("frames arrive in order, empty ones too, with the mark that more follow")
    func frames() throws {
        let right = try world.bound(.pair)
        let left = try world.connected(.pair)
        #expect(try right.receive() == nil)
        try left.send(frames: [[1, 2], [], [3]])
        let first = try eventually(right) { try right.receive() }
        #expect(first == Frame(bytes: [1, 2], more: true))
        #expect(try right.receive()?.bytes == [])
        #expect(try right.receive() == Frame(bytes: [3], more: false))
        #expect(try right.receive() == nil)
    }

    @Test("borrowed bytes are sent as they are")
    func borrowed() throws {
        let right = try world.bound(.pair)
        let left = try world.connected(.pair)
        let bytes = [UInt8](repeating: 7, count: 100_000)
        let sent = try bytes.withUnsafeBytes { try left.send($0) }
        #expect(sent)
        #expect(try right.eventualMessage() == [bytes])
    }

    @Test("frames beyond the limit are thrown away, and the next message is whole")
    func frameLimit() throws {
        let right = try world.bound(.pair)
        let left = try world.connected(.pair)
        try left.send(frames: (0..<100).map { [UInt8($0)] })
        try left.send([200])
        let message = try eventually(right) { try right.receiveMessage(frameLimit: 3) }
        #expect(message == Message(frames: [[0], [1], [2]], isTruncated: true))
        #expect(try right.eventualMessage() == [[200]])
    }

    @Test("a send that nobody can take says so and does not wait")
    func sendRefused() throws {
        let lonely = try Socket(world.context, .dealer)
        let start = Instant.now
        #expect(try !lonely.send([1]))
        #expect(try !lonely.send(frames: [[1], [2]]))
        try lonely.set(.sendTimeout, .milliseconds(30))
        #expect(try !lonely.send([1], wait: true))
        let waited = Instant.now - start
        #expect(waited >= .milliseconds(30) && waited < .seconds(2))
    }

    @Test("the high-water mark holds a fast sender back")
    func highWaterMark() throws {
        var limits = SocketLimits()
        limits.sendHighWaterMark = 5
        limits.receiveHighWaterMark = 5
        let left = try Socket(world.context, .pair, limits: limits)
        try left.bind("inproc://mark")
        let right = try Socket(world.context, .pair, limits: limits)
        try right.connect("inproc://mark")
        var accepted = 0
        while accepted < 100, try left.send([1]) { accepted += 1 }
        #expect(accepted == 10)
        #expect(try right.receive() != nil)
    }

    @Test("a receive that waits gives up at its timeout")
    func receiveTimeout() throws {
        let socket = try world.bound(.pair)
        try socket.set(.receiveTimeout, .milliseconds(40))
        let start = Instant.now
        #expect(try socket.receive(wait: true) == nil)
        #expect(Instant.now - start >= .milliseconds(40))
    }

    @Test("a request is answered through a router, and an unknown peer is an error")
    func router() throws {
        let router = try world.bound(.router)
        try router.set(.routerMandatory, true)
        let request = try world.connected(.req)
        try request.send([9])
        let asked = try router.eventualMessage()
        #expect(asked.dropFirst() == [[], [9]])
        try router.send(frames: [asked[0], [], [10]])
        #expect(try request.eventualMessage() == [[10]])
        let error = #expect(throws: ZeroMQError.self) { try router.send(frames: [[1, 2, 3], [], [1]]) }
        #expect(error?.isUnroutable == true)
    }

    @Test("a subscriber gets the welcome, then what it subscribed to")
    func publish() throws {
        let publisher = try Socket(world.context, .xpub)
        try publisher.set(.welcomeMessage, Array("bus/Welcome".utf8))
        try publisher.bind(world.endpoint())
        let subscriber = try world.connected(.sub)
        try subscriber.set(.subscribe, Array("a/".utf8))
        try subscriber.set(.subscribe, Array("bus/".utf8))
        for prefix in ["a/", "bus/"] { #expect(try publisher.eventualMessage() == [[1] + Array(prefix.utf8)]) }
        #expect(try subscriber.eventualMessage() == [Array("bus/Welcome".utf8)])
        try publisher.send(frames: [Array("b/x".utf8), [1]])
        try publisher.send(frames: [Array("a/x".utf8), [2]])
        #expect(try subscriber.eventualMessage() == [Array("a/x".utf8), [2]])
    }

    @Test("a subscription names its connection, and shutting that down ends the subscriber")
    func sourceDescriptor() throws {
        let publisher = try world.bound(.xpub)
        let monitor = try Monitor(of: publisher)
        let subscriber = try world.connected(.sub)
        try subscriber.set(.subscribe, Array("x".utf8))
        let frame = try eventually(publisher) { try publisher.receive(source: true) }
        #expect(frame.bytes == [1, UInt8(ascii: "x")])
        let descriptor = try #require(frame.sourceDescriptor)
        #expect(try monitor.eventual(.accepted).descriptor == descriptor)
        #expect(shutdown(descriptor, Int32(SHUT_RDWR)) == 0)
        #expect(try monitor.eventual(.disconnected).descriptor == descriptor)
    }

    @Test("a frame above the limit ends the connection and nothing else")
    func maxMessageSize() throws {
        var limits = SocketLimits()
        limits.maxMessageSize = 1000
        let router = try world.bound(.router, limits: limits)
        let monitor = try Monitor(of: router)
        let large = try world.connected(.dealer)
        try large.send([UInt8](repeating: 0, count: 1001))
        _ = try monitor.eventual(.disconnected)
        let small = try world.connected(.dealer)
        try small.send([UInt8](repeating: 1, count: 1000))
        #expect(try router.eventualMessage().last?.count == 1000)
    }

    @Test("a listening descriptor of ours is served, and the next bind takes its own")
    func useDescriptor() throws {
        let server = try Socket(world.context, .router)
        try server.bind(world.endpoint(), usingListening: try world.rawListener("a").release())
        try server.bind("tcp://127.0.0.1:*")
        let address = try server.lastEndpoint()
        #expect(address.hasPrefix("tcp://") && !address.hasSuffix("*"))
        let client = try world.connected(.dealer)
        try client.send([5])
        #expect(try server.eventualMessage().last == [5])
        try server.unbind(address)
    }

    @Test("what cannot be bound or connected is an error that names it")
    func endpointErrors() throws {
        let socket = try Socket(world.context, .router)
        let unknown = #expect(throws: ZeroMQError.self) { try socket.connect("carrier-pigeon://x") }
        #expect(unknown?.description == "connect carrier-pigeon://x: Protocol not supported")
        #expect(throws: ZeroMQError.self) { try socket.bind("ipc:///no/such/directory/x.sock") }
        let cut = #expect(throws: ZeroMQError.self) { try socket.bind("inproc://a\0b") }
        #expect(cut?.code == EINVAL)
        try socket.bind("inproc://taken")
        let other = try Socket(world.context, .router)
        let taken = #expect(throws: ZeroMQError.self) { try other.bind("inproc://taken") }
        #expect(taken?.isAddressInUse == true)
    }

    @Test("an impossible option value is an error that names the option")
    func optionErrors() throws {
        let socket = try Socket(world.context, .pub)
        let error = #expect(throws: ZeroMQError.self) { try socket.set(.subscribe, [1]) }
        #expect(error?.description == "set subscribe: Invalid argument")
        #expect(throws: ZeroMQError.self) { try socket.set(.sendHighWaterMark, -1) }
        #expect(throws: ZeroMQError.self) { try socket.set(.routingID, []) }
    }

    @Test("terminating the context ends every wait")
    func terminate() throws {
        let context = world.context
        let ended = Lock<ZeroMQError?>(nil)
        var thread = pthread_t()
        let waiter = Waiter(context: context, ended: ended)
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Waiter>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(waiter).toOpaque())
        #expect(status == 0)
        context.terminate()
        pthread_join(thread, nil)
        #expect(ended.withLock { $0 }?.isTerminated == true)
        #expect(throws: ZeroMQError.self) { _ = try Socket(context, .pair) }
    }

    private final class Waiter {
        let context: Context
        let ended: Lock<ZeroMQError?>
        init(context: Context, ended: Lock<ZeroMQError?>) {
            self.context = context
            self.ended = ended
        }
        func run() {
            do throws(ZeroMQError) {
                let socket = try Socket(context, .pair)
                try socket.set(.receiveTimeout, .seconds(20))
                _ = try socket.receive(wait: true)
            } catch {
                ended.withLock { $0 = error }
            }
        }
    }
}
