import Glibc
import Linux

/// The supervisor's end of the call channel: never waits. Used by the main thread.
public final class SupervisorEnd {
    private let socket: Descriptor
    private var incoming = FrameBuffer()
    private var outgoing: [UInt8] = []

    /// Takes over our half of the socket pair.
    public init(socket: consuming Descriptor) throws(SystemError) {
        try socket.setNonBlocking()
        self.socket = socket
    }

    /// The number to poll.
    public var descriptor: Int32 { socket.raw }

    /// Whether bytes wait to be sent: poll for POLLOUT too.
    public var wantsToWrite: Bool { !outgoing.isEmpty }

    /// Queues a message and sends what the socket takes now. What it does not take goes with the next `flush`.
    public func send(_ message: SupervisorMessage) {
        outgoing += message.frame.bytes
        flush()
    }

    /// Sends what the socket takes now. A host that is gone is noticed by its pidfd and by `receive`, not here.
    public func flush() {
        while !outgoing.isEmpty {
            let count = outgoing.withUnsafeBytes {
                Glibc.send(
                    socket.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                if errno != EAGAIN { outgoing.removeAll() }
                return
            }
            outgoing.removeFirst(count)
        }
    }

    /// What came in since, in order; `ended` is set when the host closed its end.
    public func receive(ended: inout Bool) throws(LinkError) -> [HostMessage] {
        var messages: [HostMessage] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        // Bounded, so that a host that never stops sending does not hold the main thread.
        for _ in 0..<64 {
            let count = recv(socket.raw, &chunk, chunk.count, Int32(MSG_DONTWAIT))
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { break }
            guard count > 0 else {
                ended = true
                break
            }
            incoming.append(chunk[0..<count])
            while let frame = try incoming.next() { messages.append(try HostMessage(frame)) }
        }
        return messages
    }
}
