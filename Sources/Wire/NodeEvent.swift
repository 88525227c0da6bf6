/// One kind of event that a node publishes, as a value. Its members are optional whatever the node says today: an event
/// that lacks one, or has one of another type, still reads, without it.
///
/// A kind is written once: from its description come its decoding and its JSON Schema.
public protocol NodeEvent: Sendable, Equatable {
    /// One without any member.
    init()
    /// The kind as the node names it, what it tells, and its members.
    static var description: EventDescription<Self> { get }
}

/// What one kind of event is.
public struct EventDescription<Event: NodeEvent>: Sendable {
    let kind: String
    let summary: String
    let members: [EventMember<Event>]

    init(_ kind: String, _ summary: String, _ members: [EventMember<Event>]) {
        self.kind = kind
        self.summary = summary
        self.members = members
    }

    func decode(_ payload: JSON) -> Event {
        var event = Event()
        for member in members {
            guard let value = payload[member.name] else { continue }
            member.read(value, &event)
        }
        return event
    }

    /// The JSON Schema of what the node writes. Only `kind` is required, and others may come: a later node may say more
    /// or less, and is published all the same.
    var schema: JSON {
        let kindMember = JSON.Member("kind", ["const": .string(kind)])
        return [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": .string(kind),
            "description": .string(summary), "type": "object",
            "properties": .object([kindMember] + members.map { JSON.Member($0.name, $0.schema) }),
            "required": ["kind"], "additionalProperties": true,
        ]
    }
}

/// One member of an event: its native name, what the node writes there, and where it goes.
struct EventMember<Event>: Sendable {
    let name: String
    let schema: JSON
    let read: @Sendable (JSON, inout Event) -> Void

    /// Text in one of the node's forms, read without what the node wraps it in.
    static func text(
        _ name: String, _ target: WritableKeyPath<Event, String?> & Sendable, _ form: EventText, _ summary: String
    ) -> EventMember {
        EventMember(name: name, schema: form.schema.with("description", .string(summary))) { value, event in
            event[keyPath: target] = value.text.map(form.unwrap)
        }
    }

    /// A list of texts. One that holds something else is left out.
    static func texts(
        _ name: String, _ target: WritableKeyPath<Event, [String]?> & Sendable, _ summary: String
    ) -> EventMember {
        let schema: JSON = ["type": "array", "items": EventText.free.schema, "description": .string(summary)]
        return EventMember(name: name, schema: schema) { value, event in
            guard let elements = value.elements else { return }
            let texts = elements.compactMap(\.text)
            if texts.count == elements.count { event[keyPath: target] = texts }
        }
    }

    /// Yes or no.
    static func flag(
        _ name: String, _ target: WritableKeyPath<Event, Bool?> & Sendable, _ summary: String
    ) -> EventMember {
        EventMember(name: name, schema: ["type": "boolean", "description": .string(summary)]) { value, event in
            event[keyPath: target] = value.bool
        }
    }
}

/// The forms of text in an event.
enum EventText: Sendable {
    case free
    /// 66 hex digits, without 0x.
    case publicKey
    /// `0x` and 64 hex digits.
    case hash
    /// `Byte32(0x…)` around 64 digits.
    case wrappedHash
    /// `OutPoint(0x…)` around 72 digits.
    case wrappedOutPoint

    var schema: JSON {
        let pattern: JSON
        switch self {
        case .free: return ["type": "string"]
        case .publicKey: pattern = "^0[23][0-9a-f]{64}$"
        case .hash: pattern = "^0x[0-9a-f]{64}$"
        case .wrappedHash: pattern = "^Byte32\\(0x[0-9a-f]{64}\\)$"
        case .wrappedOutPoint: pattern = "^OutPoint\\(0x[0-9a-f]{72}\\)$"
        }
        return ["type": "string", "pattern": pattern]
    }

    /// The text without its debug wrapper, so that it compares with what calls answer.
    func unwrap(_ text: String) -> String {
        let name: String
        switch self {
        case .free, .publicKey, .hash: return text
        case .wrappedHash: name = "Byte32("
        case .wrappedOutPoint: name = "OutPoint("
        }
        guard text.hasPrefix(name), text.hasSuffix(")") else { return text }
        return String(text.dropFirst(name.count).dropLast())
    }
}
