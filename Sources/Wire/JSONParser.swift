extension JSON {
    /// How deep a text from outside may nest.
    public static let depthLimit = 64

    /// Decodes one JSON text. Duplicate members, depth above `depthLimit`, bytes that are not UTF-8 and anything after the value are refused.
    public static func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSON {
        var scanner = JSONScanner(bytes, depthLimit: depthLimit)
        let value = try parseValue(&scanner, bytes, depth: 1)
        try scanner.end()
        return value
    }

    /// Decodes one JSON text.
    public static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSON {
        // Typed throws do not pass through withUnsafeBytes; a Result does.
        try bytes.withUnsafeBytes { buffer in Result { () throws(JSONError) in try parse(buffer) } }.get()
    }

    /// Decodes one JSON text.
    public static func parse(_ text: String) throws(JSONError) -> JSON { try parse(Array(text.utf8)) }

    private static func parseValue(
        _ scanner: inout JSONScanner, _ bytes: UnsafeRawBufferPointer, depth: Int
    ) throws(JSONError) -> JSON {
        switch try scanner.peek() {
        case 0x7b: return try parseObject(&scanner, bytes, depth)
        case 0x5b:
            var elements: [JSON] = []
            try scanner.enter(depth)
            if try scanner.consumeIf(0x5d) { return .array([]) }
            repeat {
                elements.append(try parseValue(&scanner, bytes, depth: depth + 1))
            } while try scanner.another(0x5d, "expected , or ] in an array")
            return .array(elements)
        case 0x22: return .string(try scanner.text(try scanner.string()))
        case 0x74:
            try scanner.word("true")
            return .bool(true)
        case 0x66:
            try scanner.word("false")
            return .bool(false)
        case 0x6e:
            try scanner.word("null")
            return .null
        case 0x2d, 0x30...0x39:
            let (range, isInteger) = try scanner.number()
            let literal = String(decoding: bytes[range], as: UTF8.self)
            if isInteger, let value = Int64(literal) { return .integer(value) }
            return .number(literal)
        default: throw scanner.failure("not a value")
        }
    }

    private static func parseObject(
        _ scanner: inout JSONScanner, _ bytes: UnsafeRawBufferPointer, _ depth: Int
    ) throws(JSONError) -> JSON {
        var members: [Member] = []
        var seen: Set<String> = []
        try scanner.enter(depth)
        if try scanner.consumeIf(0x7d) { return .object([]) }
        repeat {
            let key = try scanner.text(try scanner.memberName())
            guard seen.insert(key).inserted else { throw scanner.failure("a member name stands twice in an object") }
            members.append(Member(key, try parseValue(&scanner, bytes, depth: depth + 1)))
        } while try scanner.another(0x7d, "expected , or } in an object")
        return .object(members)
    }

    /// Whether the bytes are one JSON text, without building it; nil when they are.
    public static func problem(in bytes: UnsafeRawBufferPointer, depthLimit: Int = depthLimit) -> JSONError? {
        var scanner = JSONScanner(bytes, depthLimit: depthLimit)
        do {
            try scanner.skipValue()
            try scanner.end()
            return nil
        } catch {
            return error
        }
    }
}
