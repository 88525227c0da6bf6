// Wire: the contract with users as values, without I/O: JSON, topics, headers, JSON-RPC, errors, amounts, and how a method is described.
// Start here; then read JSONScanner.swift (the one grammar), Topic.swift, EventHeader.swift and RPC.swift.
//
// JSON is ours because the contract needs what Foundation's does not give: duplicate members refused, a depth limit, integers kept exactly,
// and a scanner that finds an event's kind without decoding the event.

/// A JSON value. Integers of 64 bits are exact; any other number keeps its literal, so that nothing is rounded on the way through.
public enum JSON: Sendable, Equatable {
    /// `null`
    case null
    /// `true`, `false`
    case bool(Bool)
    /// A number written without fraction or exponent that an Int64 holds.
    case integer(Int64)
    /// Any other number, as written.
    case number(String)
    /// Text.
    case string(String)
    /// A list.
    case array([JSON])
    /// Members in the order they were written.
    case object([Member])

    /// One member of an object.
    public struct Member: Sendable, Equatable {
        /// The name.
        public let key: String
        /// The value.
        public let value: JSON

        /// A member of an object.
        public init(_ key: String, _ value: JSON) {
            self.key = key
            self.value = value
        }
    }

    /// An object from pairs, in their order.
    public static func members(_ pairs: KeyValuePairs<String, JSON>) -> JSON {
        .object(pairs.map { Member($0.key, $0.value) })
    }

    /// The value of a member; nil when this is no object or has no such member.
    public subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// The text of a string.
    public var text: String? { if case .string(let text) = self { text } else { nil } }
    /// The value of an integer.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The value of a boolean.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The elements of a list.
    public var elements: [JSON]? { if case .array(let elements) = self { elements } else { nil } }
    /// The members of an object.
    public var members: [Member]? { if case .object(let members) = self { members } else { nil } }
    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// This object with one member set, in its old place or at the end. A value that is no object becomes one.
    public func with(_ key: String, _ value: JSON) -> JSON {
        var members = self.members ?? []
        if let index = members.firstIndex(where: { $0.key == key }) {
            members[index] = Member(key, value)
        } else {
            members.append(Member(key, value))
        }
        return .object(members)
    }

    /// What kind of value this is, in words for an error message.
    public var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A list.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// An object, members in the order written.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
    /// `null`
    public init(nilLiteral: ()) { self = .null }
}

extension JSON {
    /// The compact JSON text, UTF-8.
    public var bytes: [UInt8] {
        var out: [UInt8] = []
        write(to: &out)
        return out
    }

    /// The compact JSON text.
    public var encoded: String { String(decoding: bytes, as: UTF8.self) }

    /// Appends the compact JSON text.
    public func write(to out: inout [UInt8]) {
        switch self {
        case .null: out += "null".utf8
        case .bool(let value): out += (value ? "true" : "false").utf8
        case .integer(let value): out += String(value).utf8
        case .number(let literal): out += literal.utf8
        case .string(let text): JSON.writeString(text, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.write(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                JSON.writeString(member.key, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.write(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    /// Appends a JSON string literal: control characters, quote and backslash escaped, all else as it is (RFC 8259 section 7).
    public static func writeString(_ text: String, to out: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): out += [0x5c, 0x22]
            case UInt8(ascii: "\\"): out += [0x5c, 0x5c]
            case 0x0a: out += [0x5c, UInt8(ascii: "n")]
            case 0x0d: out += [0x5c, UInt8(ascii: "r")]
            case 0x09: out += [0x5c, UInt8(ascii: "t")]
            case 0..<0x20:
                out += "\\u00".utf8
                out += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}
