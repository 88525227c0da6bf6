import Glibc
import Linux
import Testing
import ZeroMQ

@Suite("A monitor tells what happens to connections")
struct MonitorTests {
    let world: World
    init() throws { world = try World() }

    @Test("a peer that comes and goes is seen, with its descriptor and the endpoint")
    func comeAndGo() throws {
        let server = try Socket(world.context, .router)
        let monitor = try Monitor(of: server)
        try server.bind(world.endpoint())
        #expect(try monitor.eventual(.listening).address == world.endpoint())
        var client: Socket? = try world.connected(.dealer)
        let accepted = try monitor.eventual(.accepted)
        #expect(accepted.address == world.endpoint())
        #expect((accepted.descriptor ?? -1) > 2)
        #expect(accepted.errorCode == nil)
        _ = try monitor.eventual(.handshakeSucceeded)
        #expect(client != nil)
        client = nil
        #expect(try monitor.eventual(.disconnected).descriptor == accepted.descriptor)
        #expect(try monitor.next() == nil)
    }

    @Test("a peer that does not speak ZeroMQ fails its handshake")
    func noise() throws {
        let server = try world.bound(.router)
        let monitor = try Monitor(of: server)
        do {
            let raw = try world.rawConnection()
            try raw.write(Array("GET / HTTP/1.1\r\n\r\n".utf8))
            _ = try monitor.eventual(.accepted)
        }
        let failed = try monitor.eventual(.handshakeFailed)
        #expect(failed.descriptor == nil)
    }

    @Test("a monitor that nobody reads does not stop the socket")
    func unread() throws {
        let server = try world.bound(.router)
        let monitor = try Monitor(of: server)
        for _ in 0..<1500 {
            // Each gives at least two events; libzmq's own default would stop its I/O thread after 2,000.
            _ = try? world.rawConnection()
        }
        let client = try world.connected(.dealer)
        try client.send([1])
        #expect(try server.eventualMessage().last == [1])
        var count = 0
        while try monitor.next() != nil { count += 1 }
        #expect(count > 2000)
    }

    @Test("a monitor that is let go does not stop the socket")
    func letGo() throws {
        let server = try world.bound(.router)
        for _ in 0..<3 {
            do { _ = try Monitor(of: server) }
            let client = try world.connected(.dealer)
            try client.send([1])
            #expect(try server.eventualMessage().last == [1])
        }
    }

    @Test("a socket and its monitor can be closed in either order while connections end")
    func closing() throws {
        for order in 0..<20 {
            var server: Socket? = try world.bound(.router)
            var monitor: Monitor? = try Monitor(of: try #require(server))
            let client = try world.connected(.dealer)
            try client.send([1])
            _ = try server?.eventualMessage()
            if order % 2 == 0 { server = nil } else { monitor = nil }
            #expect((server == nil) != (monitor == nil))
        }
        let server = try world.bound(.router)
        let client = try world.connected(.dealer)
        try client.send([2])
        #expect(try server.eventualMessage().last == [2])
    }

    @Test("closing the socket is the last event")
    func stopped() throws {
        var server: Socket? = try world.bound(.router)
        let monitor = try Monitor(of: try #require(server))
        server = nil
        _ = try monitor.eventual(.stopped)
    }
}

@Suite("A poller waits for sockets and descriptors together")
struct PollerTests {
    let world: World
    init() throws { world = try World() }

    @Test("what is ready is told apart, and nothing ready ends at the timeout")
    func wait() throws {
        let left = try world.bound(.pair)
        let right = try world.connected(.pair)
        let wake = try WakeDescriptor()
        var poller = Poller()
        let socketIndex = poller.add(right)
        let wakeIndex = poller.add(descriptor: wake.raw)
        let start = Instant.now
        #expect(try poller.wait(.milliseconds(30)) == 0)
        #expect(Instant.now - start >= .milliseconds(30))

        wake.wake()
        #expect(try poller.wait(.seconds(5)) == 1)
        #expect(poller[wakeIndex] == .readable)
        #expect(poller[socketIndex] == [])
        wake.clear()

        try left.send([1])
        #expect(try poller.wait(.seconds(5)) == 1)
        #expect(poller[socketIndex] == .readable)
        #expect(poller[wakeIndex] == [])

        poller.setInterest(at: socketIndex, [])
        #expect(try poller.wait(.milliseconds(1)) == 0)
        poller.setInterest(at: socketIndex, [.readable, .writable])
        #expect(try poller.wait(.seconds(5)) == 1)
        #expect(poller[socketIndex] == [.readable, .writable])
    }

    @Test("an empty poller waits its time, and a negative time is none")
    func empty() throws {
        var poller = Poller()
        #expect(try poller.wait(.milliseconds(5)) == 0)
        #expect(try poller.wait(.seconds(-5)) == 0)
    }
}
