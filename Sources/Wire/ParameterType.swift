/// What a parameter takes, and how a value of it is checked and brought to normal form before a node sees it.
public enum ParameterType: Sendable, Equatable {
    /// Text of at most so many UTF-8 bytes, without NUL (the C border would cut it there).
    case text(maxBytes: Int)
    /// `true` or `false`.
    case boolean
    /// A JSON integer, or its decimal or 0x-hex text, in a range.
    case integer(min: UInt64, max: UInt64)
    /// An amount (see `Amount`). With `udtWhen`, the presence of that parameter makes it a UDT amount, for which `"… CKB"` is refused.
    case amount(udtWhen: String?)
    /// 32 bytes in hex, 0x allowed; normal form `0x` + 64 lower-case digits.
    case hash
    /// A compressed secp256k1 key: 66 hex digits starting 02 or 03, 0x allowed; normal form without 0x.
    case publicKey
    /// One of these words.
    case choice([String])
    /// Any JSON object.
    case object
    /// Any JSON array.
    case array
    /// A list of texts.
    case texts
    /// Nothing: one that looks as if it could be given, and why it cannot.
    case refused(why: String)
    /// A key, a passphrase or a preimage: no error repeats it, and whoever records calls leaves it out.
    case secret(Secret)

    /// What a secret is made of.
    public enum Secret: Sendable, Equatable {
        /// As `ParameterType.text`.
        case text(maxBytes: Int)
        /// As `ParameterType.hash`.
        case hash

        /// What is checked; neither repeats a value in its error.
        var plain: ParameterType {
            switch self {
            case .text(let limit): .text(maxBytes: limit)
            case .hash: .hash
            }
        }
    }

    /// Whether a value of it is not to be shown or recorded.
    public var isSecret: Bool { if case .secret = self { true } else { false } }

    /// Checks a value. `isPresent` tells whether another parameter was given. Throws `invalid_params` naming `path`.
    public func check(_ value: JSON, at path: String, isPresent: (String) -> Bool) throws(BusError) -> JSON {
        switch self {
        case .text(let limit): return .string(try ParameterType.plainText(value, path, limit))
        case .boolean:
            guard value.bool != nil else { throw .parameter(path, "must be true or false, not \(value.typeName)") }
            return value
        case .integer(let lowest, let highest): return try ParameterType.integer(value, path, lowest, highest)
        case .amount(let udtWhen):
            let isUDT = udtWhen.map(isPresent) ?? false
            do { return .string(try Amount.parse(value, allowsCKB: !isUDT).text) } catch {
                throw .parameter(path, error.reason)
            }
        case .hash:
            let digits = try ParameterType.hex(value, path, count: 64, "32 bytes in hex")
            return .string("0x" + digits)
        case .publicKey:
            let what = "a compressed secp256k1 key: 66 hex digits starting with 02 or 03"
            let digits = try ParameterType.hex(value, path, count: 66, what)
            guard digits.hasPrefix("02") || digits.hasPrefix("03") else { throw .parameter(path, "must be \(what)") }
            return .string(digits)
        case .choice(let words):
            guard let text = value.text, words.contains(text) else {
                throw .parameter(path, "must be one of \(words.joined(separator: ", "))")
            }
            return value
        case .object:
            guard value.members != nil else { throw .parameter(path, "must be an object, not \(value.typeName)") }
            return try ParameterType.withoutNUL(value, path)
        case .array:
            guard value.elements != nil else { throw .parameter(path, "must be an array, not \(value.typeName)") }
            return try ParameterType.withoutNUL(value, path)
        case .texts:
            guard let elements = value.elements else { throw .parameter(path, "must be an array of strings") }
            for (index, element) in elements.enumerated() {
                _ = try ParameterType.plainText(element, "\(path)[\(index)]", 1024)
            }
            return value
        case .refused(let why): throw .parameter(path, "cannot be given: \(why)")
        case .secret(let secret): return try secret.plain.check(value, at: path, isPresent: isPresent)
        }
    }

    private static func plainText(_ value: JSON, _ path: String, _ limit: Int) throws(BusError) -> String {
        guard let text = value.text else { throw .parameter(path, "must be a string, not \(value.typeName)") }
        guard text.utf8.count <= limit else { throw .parameter(path, "must be at most \(limit) bytes") }
        guard !text.utf8.contains(0) else { throw .parameter(path, "must not contain a NUL character") }
        return text
    }

    private static func integer(_ value: JSON, _ path: String, _ lowest: UInt64, _ highest: UInt64) throws(BusError)
        -> JSON
    {
        let number: UInt64?
        switch value {
        case .integer(let value): number = UInt64(exactly: value)
        case .number(let literal): number = UInt64(literal)
        case .string(let text) where text.hasPrefix("0x"): number = UInt64(text.dropFirst(2), radix: 16)
        case .string(let text) where !text.hasPrefix("+"): number = UInt64(text)
        case .null, .bool, .string, .array, .object: number = nil
        }
        guard let number, (lowest...highest).contains(number) else {
            throw .parameter(path, "must be an integer from \(lowest) to \(highest)")
        }
        return Int64(exactly: number).map { .integer($0) } ?? .number(String(number))
    }

    private static func hex(_ value: JSON, _ path: String, count: Int, _ what: String) throws(BusError) -> String {
        guard let text = value.text else { throw .parameter(path, "must be a string, not \(value.typeName)") }
        let digits = text.hasPrefix("0x") ? String(text.dropFirst(2)) : text
        guard digits.utf8.count == count, digits.utf8.allSatisfy({ hexDigit($0) != nil }) else {
            throw .parameter(path, "must be \(what)")
        }
        return digits.lowercased()
    }

    private static func withoutNUL(_ value: JSON, _ path: String) throws(BusError) -> JSON {
        func holdsNUL(_ value: JSON) -> Bool {
            switch value {
            case .string(let text): text.utf8.contains(0)
            case .array(let elements): elements.contains(where: holdsNUL)
            case .object(let members): members.contains { $0.key.utf8.contains(0) || holdsNUL($0.value) }
            case .null, .bool, .integer, .number: false
            }
        }
        guard !holdsNUL(value) else { throw .parameter(path, "must not contain a NUL character") }
        return value
    }

    /// The type as it travels in a description: `type` and what belongs to it.
    public var json: JSON {
        switch self {
        case .text(let limit): ["type": "text", "max_bytes": .integer(Int64(limit))]
        case .boolean: ["type": "boolean"]
        case .integer(let lowest, let highest):
            ["type": "integer", "min": .string("\(lowest)"), "max": .string("\(highest)")]
        case .amount(let udtWhen): ["type": "amount", "udt_when": udtWhen.map { .string($0) } ?? .null]
        case .hash: ["type": "hash"]
        case .publicKey: ["type": "public_key"]
        case .choice(let words): ["type": "choice", "choices": .array(words.map { .string($0) })]
        case .object: ["type": "object"]
        case .array: ["type": "array"]
        case .texts: ["type": "texts"]
        case .refused(let why): ["type": "refused", "why": .string(why)]
        case .secret(let secret): secret.plain.json.with("secret", true)
        }
    }

    /// Reads a type back; nil when it is none.
    init?(parsing json: JSON) {
        if json["secret"] == true {
            switch ParameterType(parsing: json.with("secret", nil)) {
            case .text(let limit): self = .secret(.text(maxBytes: limit))
            case .hash: self = .secret(.hash)
            case .boolean, .integer, .amount, .publicKey, .choice, .object, .array, .texts, .refused, .secret, nil:
                return nil
            }
            return
        }
        switch json["type"]?.text {
        case "text":
            guard let limit = json["max_bytes"]?.integer, (0...(1 << 26)).contains(limit) else { return nil }
            self = .text(maxBytes: Int(limit))
        case "boolean": self = .boolean
        case "integer":
            guard let lowest = json["min"]?.text.flatMap({ UInt64($0) }),
                let highest = json["max"]?.text.flatMap({ UInt64($0) }), lowest <= highest
            else { return nil }
            self = .integer(min: lowest, max: highest)
        case "amount": self = .amount(udtWhen: json["udt_when"]?.text)
        case "hash": self = .hash
        case "public_key": self = .publicKey
        case "choice":
            guard let words = json["choices"]?.elements?.compactMap(\.text) else { return nil }
            self = .choice(words)
        case "object": self = .object
        case "array": self = .array
        case "texts": self = .texts
        case "refused":
            guard let why = json["why"]?.text else { return nil }
            self = .refused(why: why)
        default: return nil
        }
    }
}
