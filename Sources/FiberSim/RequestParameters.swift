import CFiber

/// The parameters of a request as the real library builds them: the JSON object of the node's RPC, made field by field
/// in the order of the struct, so that with several faults the same one is named. Failures repeat this object.
struct RequestParameters: Sendable {
    private var members: [String: JSON] = [:]

    init() {}

    /// The object itself.
    var json: JSON { .object(members) }

    /// A required string.
    mutating func required(_ name: String, _ pointer: UnsafePointer<CChar>?) throws {
        members[name] = .string(try Text.required(pointer, name))
    }

    /// An optional string; empty means absent.
    mutating func text(_ name: String, _ pointer: UnsafePointer<CChar>?) throws {
        if let text = try Text.nonEmpty(pointer) { members[name] = .string(text) }
    }

    /// An optional `<field>_json` member; empty means absent.
    mutating func json(_ name: String, _ pointer: UnsafePointer<CChar>?, field: String) throws {
        guard let text = try Text.nonEmpty(pointer) else { return }
        members[name] = try Self.parse(text, field)
    }

    /// A required `<field>_json` member.
    mutating func requiredJSON(_ name: String, _ pointer: UnsafePointer<CChar>?, field: String) throws {
        members[name] = try Self.parse(Text.required(pointer, field), field)
    }

    /// An amount with its flag; without a flag it is always there.
    mutating func amount(_ name: String, _ value: FiberU128, if flag: Int32 = 1) {
        if flag != 0 { members[name] = JSON(hex: UInt128(value.high) << 64 | UInt128(value.low)) }
    }

    /// A number with its flag.
    mutating func number(_ name: String, _ value: UInt64, if flag: Int32) {
        if flag != 0 { members[name] = JSON(hex: value) }
    }

    /// A truth value with its flag.
    mutating func bool(_ name: String, _ value: Int32, if flag: Int32) {
        if flag != 0 { members[name] = .bool(value != 0) }
    }

    /// The real library passes this one number on in a form that the node never takes.
    mutating func plainNumber(_ name: String, _ value: UInt64, if flag: Int32) {
        if flag != 0 { members[name] = .integer(Int64(truncatingIfNeeded: value)) }
    }

    /// An enumeration's name, chosen by its constant; nil leaves the member out.
    mutating func name(_ name: String, _ value: String?) { members[name] = value.map(JSON.string) }

    private static func parse(_ text: String, _ field: String) throws -> JSON {
        do { return try JSON(parsing: text) } catch { throw Refusal.invalid("invalid \(field): \(error)") }
    }
}

/// Request typing: what the node makes of the members.
extension RequestParameters {
    /// The member, unless it is absent or null.
    subscript(name: String) -> JSON? {
        guard let value = members[name], value != .null else { return nil }
        return value
    }

    /// The text of a member that was made from a string.
    func text(_ name: String) -> String? { self[name]?.string }
    /// A truth value.
    func bool(_ name: String) -> Bool? { if case .bool(let value)? = self[name] { value } else { nil } }
    /// An amount.
    func amount(_ name: String) -> UInt128? { text(name).flatMap { UInt128($0.dropFirst(2), radix: 16) } }
    /// A number.
    func number(_ name: String) -> UInt64? { text(name).flatMap { UInt64($0.dropFirst(2), radix: 16) } }

    /// A member that must be a key, when it is there.
    func pubkey(_ name: String) throws -> Pubkey? {
        try self[name].map { value in
            guard case .string(let text) = value else { throw Self.wrongType(value, "a public key") }
            do { return try Pubkey(parsing: text) } catch {
                throw Refusal.invalidOptions("invalid pubkey hex '\(text)'")
            }
        }
    }

    /// A member that must be a hash, when it is there.
    func hash(_ name: String) throws -> Hash256? {
        try text(name).map { text in
            do { return try Hash256(parsing: text) } catch {
                throw Refusal.invalidOptions("invalid hash hex '\(text)'")
            }
        }
    }

    /// A member that must be a script, when it is there.
    func script(_ name: String) throws -> JSON? {
        try self[name].map { value in
            guard case .object = value else { throw Self.wrongType(value, "struct Script") }
            for field in ["code_hash", "hash_type", "args"] {
                guard let member = value[field] else { throw Refusal.invalidOptions("missing field `\(field)`") }
                guard member.string != nil else { throw Self.wrongType(member, "a string") }
            }
            let types = ["type", "data", "data1", "data2"]
            guard let type = value["hash_type"]?.string, types.contains(type) else {
                throw Refusal.invalidOptions("unknown variant, expected one of \(types.joined(separator: ", "))")
            }
            for field in ["code_hash", "args"] { _ = try Self.hexBytes(value[field]) }
            return value
        }
    }

    /// A member that must be a list, when it is there.
    func list(_ name: String) throws -> [JSON]? {
        try self[name].map { value in
            guard case .array(let elements) = value else { throw Self.wrongType(value, "a sequence") }
            return elements
        }
    }

    /// A member that must be an object, when it is there.
    func object(_ name: String) throws -> [String: JSON]? {
        try self[name].map { value in
            guard case .object(let members) = value else { throw Self.wrongType(value, "a map") }
            return members
        }
    }

    /// A member that must be a list of cell deps, when it is there.
    func checkCellDeps(_ name: String) throws {
        for dependency in try list(name) ?? [] {
            for field in ["out_point", "dep_type"] where dependency[field] == nil {
                throw Refusal.invalidOptions("missing field `\(field)`")
            }
            for field in ["tx_hash", "index"] where dependency["out_point"]?[field] == nil {
                throw Refusal.invalidOptions("missing field `\(field)`")
            }
            guard try Self.hexBytes(dependency["out_point"]?["tx_hash"]).count == 32 else {
                throw Refusal.invalidOptions("invalid length of tx_hash, expected 32 bytes")
            }
            _ = try Self.hexNumber(dependency["out_point"]?["index"])
            guard let type = dependency["dep_type"]?.string, ["code", "dep_group"].contains(type) else {
                throw Refusal.invalidOptions("unknown variant, expected `code` or `dep_group`")
            }
        }
    }

    /// `commitment_delay_epoch`, which cannot be given (see `plainNumber`).
    func refusePlainNumber(_ name: String) throws {
        if let value = self[name] { throw Self.wrongType(value, "a 0x-prefixed hex string") }
    }

    /// The bytes that a `0x` text spells.
    static func hexBytes(_ value: JSON?) throws -> [UInt8] {
        guard let text = value?.string else { throw wrongType(value ?? .null, "a hex string") }
        guard text.hasPrefix("0x") else { throw Refusal.invalidOptions("hex string does not start with 0x: \(text)") }
        guard let bytes = [UInt8](hex: String(text.dropFirst(2))) else {
            throw Refusal.invalidOptions("invalid hex string: \(text)")
        }
        return bytes
    }

    /// The number that a `0x` text spells, without redundant zeros.
    static func hexNumber(_ value: JSON?) throws -> UInt64 { try hexInteger(value) }
    /// `hexNumber` for amounts.
    static func hexAmount(_ value: JSON?) throws -> UInt128 { try hexInteger(value) }

    private static func hexInteger<Number: FixedWidthInteger>(_ value: JSON?) throws -> Number {
        guard let text = value?.string else { throw wrongType(value ?? .null, "a hex string") }
        guard text.hasPrefix("0x") else {
            throw Refusal.invalidOptions("uint hex string does not start with 0x: \(text)")
        }
        let digits = text.dropFirst(2)
        guard digits == "0" || digits.first != "0" else {
            throw Refusal.invalidOptions("uint hex string starts with redundant leading zeros: \(text)")
        }
        guard let first = digits.first, first.isHexDigit, let number = Number(digits, radix: 16) else {
            throw Refusal.invalidOptions("invalid uint hex string: \(text)")
        }
        return number
    }

    private static func wrongType(_ value: JSON, _ expected: String) -> Refusal {
        let found =
            switch value {
            case .null: "null"
            case .bool(let value): "boolean `\(value)`"
            case .integer(let value): "integer `\(value)`"
            case .number(let value): "floating point `\(value)`"
            case .string(let text): "string \"\(text)\""
            case .array: "sequence"
            case .object: "map"
            }
        return .invalidOptions("invalid type: \(found), expected \(expected)")
    }
}
