import Glibc
import Linux
import ZeroMQ

/// A context and a scratch directory for Unix sockets, both gone afterwards.
final class World {
    let context: Context
    let directory: String

    init() throws {
        context = try Context()
        var template = Array("/tmp/nodebus-zeromq-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw SystemError.last("mkdtemp") }
        directory = String(cString: made)
    }

    deinit {
        for name in ["a", "b"] { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    func endpoint(_ name: String = "a") -> String { "ipc://\(directory)/\(name)" }

    func bound(_ kind: Socket.Kind, limits: SocketLimits = SocketLimits()) throws -> Socket {
        let socket = try Socket(context, kind, limits: limits)
        try socket.bind(endpoint())
        return socket
    }

    func connected(_ kind: Socket.Kind) throws -> Socket {
        let socket = try Socket(context, kind)
        try socket.connect(endpoint())
        return socket
    }

    /// A plain stream socket connected to `endpoint("a")`: a peer that does not speak ZeroMQ.
    func rawConnection() throws -> Descriptor { try unixSocket(name: "a", connect) }

    /// A plain listening stream socket at `endpoint(name)`.
    func rawListener(_ name: String) throws -> Descriptor {
        let socket = try unixSocket(name: name, bind)
        guard listen(socket.raw, 16) == 0 else { throw SystemError.last("listen") }
        return socket
    }

    private func unixSocket(
        name: String, _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Descriptor {
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard raw >= 0 else { throw SystemError.last("socket") }
        let descriptor = Descriptor(taking: raw)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array("\(directory)/\(name)".utf8)) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw SystemError.last("connect or bind", name) }
        return descriptor
    }
}

struct TooLate: Error {}

/// Reads from `next` until it gives something, at most five seconds, waiting on `socket` in between.
func eventually<Value>(_ socket: Socket, _ next: () throws -> Value?) throws -> Value {
    let deadline = Instant.now + .seconds(5)
    var poller = Poller()
    _ = poller.add(socket)
    while Instant.now < deadline {
        if let value = try next() { return value }
        try poller.wait(.milliseconds(100))
    }
    throw TooLate()
}

extension Socket {
    func eventualMessage() throws -> [[UInt8]] { try eventually(self) { try receiveMessage()?.frames } }
}

extension Monitor {
    func eventual(_ kind: Event.Kind) throws -> Event {
        try eventually(socket) {
            while let event = try next() { if event.kind == kind { return event } }
            return nil
        }
    }
}
