import Glibc
import Linux

/// The host's end of the call channel. One thread reads; any thread sends.
public final class HostEnd: Sendable {
    private let socket: Descriptor
    /// Whether every frame so far went out whole. After one that did not, nothing the supervisor could read may follow.
    private let isWhole = Lock(true)
    private let incoming = Lock(FrameBuffer())

    /// Takes over the inherited socket.
    public init(socket: consuming Descriptor) { self.socket = socket }

    /// The number to poll for POLLIN.
    public var descriptor: Int32 { socket.raw }

    /// Sends a message whole; false when the supervisor is gone.
    @discardableResult
    public func send(_ message: HostMessage) -> Bool {
        let bytes = message.frame.bytes
        return isWhole.withLock { isWhole in
            var done = 0
            while isWhole, done < bytes.count {
                // A frame has at least its header, so it has an address.
                let count = bytes.withUnsafeBytes {
                    Glibc.send(socket.raw, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
                }
                if count < 0 && errno == EINTR { continue }
                if count > 0 { done += count } else { isWhole = false }
            }
            return isWhole
        }
    }

    /// Reads once (it waits when nothing is there, so poll first) and answers the messages that are whole; nil: the supervisor is gone.
    public func receive() throws(LinkError) -> [SupervisorMessage]? {
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = recv(socket.raw, &chunk, chunk.count, 0)
        if count < 0 && (errno == EINTR || errno == EAGAIN) { return [] }
        guard count > 0 else { return nil }
        let frames = try incoming.withLock { (buffer) throws(LinkError) in
            buffer.append(chunk[0..<count])
            var frames: [Frame] = []
            while let frame = try buffer.next() { frames.append(frame) }
            return frames
        }
        var messages: [SupervisorMessage] = []
        for frame in frames { messages.append(try SupervisorMessage(frame)) }
        return messages
    }
}
