/// A frame of the call channel: length (u32 LE, of the body), type (u8), body.
struct Frame: Equatable {
    enum Kind: UInt8 {
        case hello = 1
        case ready = 2
        case reply = 3
        case fatal = 4
        case call = 16
        case stop = 17
    }

    let kind: Kind
    let body: [UInt8]

    /// The largest body.
    static let bodyLimit = 64 << 20
    static let headerBytes = 5

    /// The bytes that travel.
    var bytes: [UInt8] {
        precondition(body.count <= Frame.bodyLimit, "a frame's body is at most 64 MiB")
        var out: [UInt8] = []
        out.reserveCapacity(body.count + Frame.headerBytes)
        withUnsafeBytes(of: UInt32(body.count).littleEndian) { out.append(contentsOf: $0) }
        out.append(kind.rawValue)
        out += body
        return out
    }
}

/// The other side broke the link's rules; a host that does is ended.
public struct LinkError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What was broken.
    public let description: String

    /// A broken rule, in words.
    public init(description: String) { self.description = description }
}

/// Bytes as they come in, cut into frames.
struct FrameBuffer {
    private var bytes: [UInt8] = []
    private var start = 0

    mutating func append(_ more: ArraySlice<UInt8>) {
        if start > 0 && start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 20)
            start = 0
        }
        bytes += more
    }

    /// The next whole frame, or nil until more bytes come.
    mutating func next() throws(LinkError) -> Frame? {
        let available = bytes.count - start
        guard available >= Frame.headerBytes else { return nil }
        let length = (0..<4).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
        guard length <= Frame.bodyLimit else {
            throw LinkError(description: "a frame of \(length) bytes is over 64 MiB")
        }
        guard let kind = Frame.Kind(rawValue: bytes[start + 4]) else {
            throw LinkError(description: "unknown frame type \(bytes[start + 4])")
        }
        guard available >= Frame.headerBytes + length else { return nil }
        let first = start + Frame.headerBytes
        start = first + length
        let frame = Frame(kind: kind, body: Array(bytes[first..<start]))
        if start > 1 << 20 {
            bytes.removeFirst(start)
            start = 0
        }
        return frame
    }
}
