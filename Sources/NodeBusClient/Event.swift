import Wire

/// One event as it was published, or as `events.read` gave it back: the same bytes either way.
public struct Event: Sendable, Equatable {
    /// Frame 1.
    public let topic: String
    /// Frame 2: a JSON object.
    public let header: [UInt8]
    /// Frame 3: JSON, for native events the node's own bytes.
    public let payload: [UInt8]
    /// The header read: where it stands in its account's sequence. Nil for what is not journaled (`bus/…`, heartbeats).
    public let position: EventHeader?

    /// The last word of every heartbeat's topic.
    public static let heartbeat = "Heartbeat"

    /// An event of its three frames.
    public init(topic: String, header: [UInt8], payload: [UInt8]) {
        self.topic = topic
        self.header = header
        self.payload = payload
        position = EventHeader(parsing: header).flatMap { $0.seq > 0 && !Event.isHeartbeat(topic) ? $0 : nil }
    }

    /// What a Fiber node says, as a typed value; nil for an event of another source, or one whose payload is left out.
    public var fiber: FiberEvent? {
        guard position?.topic.source == "fiber", let payload = try? JSON.parse(payload) else { return nil }
        return payload["omitted"] == true && payload["kind"] == nil ? nil : FiberEvent(payload)
    }

    /// Whether a topic is a heartbeat's.
    static func isHeartbeat(_ topic: String) -> Bool {
        topic == "bus/\(heartbeat)" || topic.hasSuffix("/\(Topic.supervisor)/\(heartbeat)")
    }

    /// One line of JSON: `{"topic":…,"header":…,"payload":…}`, as in `events.read`. Line breaks between the values of a
    /// payload become spaces.
    public var line: [UInt8] {
        var out: [UInt8] = Array(#"{"topic":"#.utf8)
        JSON.writeString(topic, to: &out)
        out += #","header":"#.utf8
        out += header
        out += #","payload":"#.utf8
        // JSON has no line break inside a string, so this changes no value.
        out += payload.map { $0 == 0x0a || $0 == 0x0d ? 0x20 : $0 }
        out.append(0x7d)
        return out
    }
}

/// One page of `events.read`.
struct EventPage {
    let events: [Event]
    let next: Int64
    let head: Int64
    let epoch: String

    /// Reads a result of `events.read`; nil when it is none.
    init?(parsing result: [UInt8]) {
        guard let members = try? JSON.rawMembers(result[...]) else { return nil }
        func member(_ key: String) -> ArraySlice<UInt8>? { members.first { $0.key == key }?.text }
        func parsed(_ key: String) -> JSON? { member(key).flatMap { try? JSON.parse(Array($0)) } }
        guard let next = parsed("next")?.integer, let head = parsed("head")?.integer, let epoch = parsed("epoch")?.text,
            let list = member("events").flatMap({ try? JSON.rawElements($0) })
        else { return nil }
        var events: [Event] = []
        for entry in list {
            guard let parts = try? JSON.rawMembers(entry),
                let topic = parts.first(where: { $0.key == "topic" }).flatMap({ try? JSON.parse(Array($0.text)) })?
                    .text,
                let header = parts.first(where: { $0.key == "header" })?.text,
                let payload = parts.first(where: { $0.key == "payload" })?.text
            else { return nil }
            events.append(Event(topic: topic, header: Array(header), payload: Array(payload)))
        }
        self.events = events
        self.next = next
        self.head = head
        self.epoch = epoch
    }
}
