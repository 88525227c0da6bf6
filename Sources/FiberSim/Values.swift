import Glibc

/// A compressed secp256k1 key: 66 lower-case hex digits without `0x`.
struct Pubkey: Sendable, Hashable, Codable, CustomStringConvertible {
    let description: String

    /// The key of 33 bytes.
    init(_ bytes: [UInt8]) { description = bytes.hex }

    /// Reads a key as the node does, with or without `0x`.
    init(parsing text: String) throws {
        let digits = text.hasPrefix("0x") ? String(text.dropFirst(2)) : text
        guard let bytes = [UInt8](hex: digits) else { throw Refusal.invalid("invalid pubkey hex: \(text)") }
        guard bytes.count == 33 else { throw Refusal.invalid("pubkey must be 33 bytes compressed secp256k1 key") }
        guard bytes[0] == 2 || bytes[0] == 3 else { throw Refusal.invalid("invalid pubkey: malformed public key") }
        description = bytes.hex
    }

    init(from decoder: any Decoder) throws { description = try decoder.singleValueContainer().decode(String.self) }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(description)
    }

    /// The key that the simulated node with this seed has. A number of the right form, not a point of the curve.
    static func simulated(from seed: [UInt8]) -> Pubkey {
        let digest = SimulatedDigest.of([Array("pubkey".utf8), seed])
        return Pubkey([2 + digest[31] % 2] + digest)
    }

    /// The libp2p id that addresses of this node end in: of the right form, derived like the key.
    var peerID: String {
        let alphabet = Array("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
        let digest = SimulatedDigest.of([Array("peer".utf8), Array(description.utf8)])
        return "Qm" + String((digest + digest.prefix(12)).map { alphabet[Int($0) % alphabet.count] })
    }

    /// Rust's debug print of it.
    var debugPrint: String { "Pubkey(\(description))" }
}

/// A payment hash or a channel id: `0x` and 64 lower-case hex digits.
struct Hash256: Sendable, Hashable, Codable, CustomStringConvertible {
    let description: String

    /// The hash of 32 bytes.
    init(_ bytes: [UInt8]) { description = "0x" + bytes.hex }

    /// Reads a hash as the node does, with or without `0x`.
    init(parsing text: String) throws {
        let digits = text.hasPrefix("0x") ? String(text.dropFirst(2)) : text
        guard let bytes = [UInt8](hex: digits) else { throw Refusal.invalid("invalid hash hex: \(text)") }
        guard bytes.count == 32 else { throw Refusal.invalid("invalid hash length: \(bytes.count), expected 32 bytes") }
        self.init(bytes)
    }

    init(from decoder: any Decoder) throws { description = try decoder.singleValueContainer().decode(String.self) }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(description)
    }

    /// A hash that nobody has seen before.
    static func random() -> Hash256 { Hash256(.random(count: 32)) }

    /// Its 32 bytes.
    var bytes: [UInt8] { [UInt8](hex: String(description.dropFirst(2))) ?? [] }

    /// Rust's debug print of it.
    var debugPrint: String { "Hash256(\(description))" }
}

/// An amount of shannons or of a UDT's raw unit, stored as the hex text of the node's RPC.
struct Amount: Sendable, Equatable, Codable {
    var value: UInt128

    init(_ value: UInt128) { self.value = value }

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let value = UInt128(text.dropFirst(2), radix: 16) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "\(text) is no amount"))
        }
        self.value = value
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode("0x" + String(value, radix: 16))
    }

    /// `500 CKB`: a decimal number of CKB with at most 8 decimals.
    init?(ckb text: String) {
        let words = text.split(separator: " ")
        guard words.count == 2, words[1] == "CKB" else { return nil }
        let parts = words[0].split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { ("0"..."9").contains($0) } }) else {
            return nil
        }
        let decimals = parts.count == 2 ? parts[1] : ""
        guard decimals.count <= 8 else { return nil }
        let digits = parts[0] + decimals + String(repeating: "0", count: 8 - decimals.count)
        guard let value = UInt128(digits, radix: 10), value <= UInt128(UInt64.max) else { return nil }
        self.value = value
    }
}

/// 32 bytes that follow from others, for ids and checks of the simulation. **Not cryptography** and not meant to be:
/// four 64-bit FNV-1a lanes with a last mixing. Nothing that matters may be protected by it.
enum SimulatedDigest {
    /// The digest of several parts, each with its length.
    static func of(_ parts: [[UInt8]]) -> [UInt8] {
        (0..<4 as Range<UInt64>).flatMap { lane -> [UInt8] in
            var state = 0xcbf2_9ce4_8422_2325 ^ (lane &* 0x9e37_79b9_7f4a_7c15)
            for part in parts {
                for byte in withUnsafeBytes(of: UInt64(part.count).littleEndian, Array.init) + part {
                    state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
                }
            }
            state = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
            state = (state ^ state >> 27) &* 0x94d0_49bb_1331_11eb
            return withUnsafeBytes(of: (state ^ state >> 31).bigEndian, Array.init)
        }
    }
}

extension [UInt8] {
    /// Lower-case hex digits, two a byte.
    var hex: String {
        let digits = Array<UInt8>("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The bytes that hex digits of either case spell; nil for anything else.
    init?(hex text: String) {
        let values = text.utf8.map { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
            default: nil
            }
        }
        guard values.count % 2 == 0, !values.contains(nil) else { return nil }
        let digits = values.compactMap { $0 }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Bytes from the system's generator.
    static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: 0...255, using: &generator) }
    }
}

extension Duration {
    /// `250ms`, `2s`, `1m`, `1h`: a whole number and a unit, at most a year.
    init?(parsing text: String) {
        let digits = text.prefix { ("0"..."9").contains($0) }
        guard let number = Int64(digits), number <= 31_536_000_000 else { return nil }
        switch text.dropFirst(digits.count) {
        case "ms": self = .milliseconds(number)
        case "s": self = .seconds(number)
        case "m": self = .seconds(number * 60)
        case "h": self = .seconds(number * 3600)
        default: return nil
        }
    }
}
