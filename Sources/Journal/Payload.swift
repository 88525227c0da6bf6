import FoundationEssentials
import Wire

/// The payloads that are ours because the node's own bytes cannot be published as they are, and the limits that make them so.
enum Payload {
    /// Largest payload that is published: 1 MiB. A larger one stays whole in the journal.
    static let limit = 1 << 20
    /// How much of an oversized message is kept: 64 KiB.
    static let oversizedKept = 64 << 10

    /// What is published in place of a payload over the limit.
    static func omitted(size: Int) -> [UInt8] { Array(#"{"omitted":true,"size":\#(size)}"#.utf8) }

    /// What is kept of a message that is no event.
    static func malformed(_ reason: String, _ message: UnsafeRawBufferPointer) -> [UInt8] {
        var out = Array(#"{"reason":"#.utf8)
        JSON.writeString(reason, to: &out)
        out += #","base64":""#.utf8
        out += Data(message).base64EncodedData()
        out += #""}"#.utf8
        return out
    }

    /// What is kept of a message that its host cut: its size, and what the host let through, up to 64 KiB.
    static func oversized(size: Int, _ message: UnsafeRawBufferPointer) -> [UInt8] {
        var out = Array(#"{"size":\#(size),"base64":""#.utf8)
        out += Data(message.prefix(oversizedKept)).base64EncodedData()
        out += #""}"#.utf8
        return out
    }
}
