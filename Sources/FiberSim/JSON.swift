import FoundationEssentials

/// A JSON value. Members have no order: they are written sorted by name, and no program may depend on the order of the
/// real node.
enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// The value that `text` holds, or the words of serde_json for why it holds none.
    init(parsing text: String) throws(SyntaxError) {
        do { self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8)) } catch { throw SyntaxError(in: text) }
    }

    /// The fault in a text that is not JSON, in serde_json's words; the place is exact only for the first character.
    struct SyntaxError: Error, CustomStringConvertible {
        let description: String

        init(in text: String) {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            let place = lines.firstIndex { $0.contains { !$0.isWhitespace } }
            guard let place, let column = lines[place].firstIndex(where: { !$0.isWhitespace }) else {
                description = "EOF while parsing a value at line \(max(lines.count, 1)) column 0"
                return
            }
            let first = lines[place].utf8.distance(from: lines[place].startIndex, to: column) + 1
            description =
                "{[\"-0123456789".contains(lines[place][column])
                ? "EOF while parsing a value at line \(lines.count) column \(lines.last?.utf8.count ?? 0)"
                : "expected value at line \(place + 1) column \(first)"
        }
    }

    subscript(key: String) -> JSON? { if case .object(let members) = self { members[key] } else { nil } }
    var text: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var integer: Int? { if case .integer(let number) = self { Int(number) } else { nil } }

    private func write(to out: inout [UInt8]) {
        switch self {
        case .null: out += "null".utf8
        case .bool(let value): out += (value ? "true" : "false").utf8
        case .integer(let value): out += String(value).utf8
        case .number(let value): out += value.description.utf8
        case .string(let text): Self.write(text, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.write(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, key) in members.keys.sorted().enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                Self.write(key, to: &out)
                out.append(UInt8(ascii: ":"))
                members[key]?.write(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
            case 0x0A: out += "\\n".utf8
            case 0x00..<0x20: out += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    init(dictionaryLiteral elements: (String, JSON)...) { self = .object(Dictionary(elements) { $1 }) }
    init(stringLiteral value: String) { self = .string(value) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }

    /// Text, or null.
    init(_ text: String?) { self = text.map(JSON.string) ?? .null }
    /// A number in the form of node_info.
    init(_ number: Int) { self = .integer(Int64(number)) }
    /// A number in the form of the node's RPC: `0x` and minimal lower-case hex.
    init(hex number: some BinaryInteger) { self = .string("0x" + String(number, radix: 16)) }
}

extension JSON: Codable {
    private struct MemberName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: MemberName.self) {
            var object: [String: JSON] = [:]
            for key in members.allKeys { object[key.stringValue] = try members.decode(JSON.self, forKey: key) }
            self = .object(object)
            return
        }
        if var elements = try? decoder.unkeyedContainer() {
            var array: [JSON] = []
            while !elements.isAtEnd { array.append(try elements.decode(JSON.self)) }
            self = .array(array)
            return
        }
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else {
            self = .string(try value.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .integer(let integer): try value.encode(integer)
        case .number(let number): try value.encode(number)
        case .string(let text): try value.encode(text)
        case .array(let elements): try value.encode(elements)
        case .object(let members): try value.encode(members)
        }
    }
}
