/// The text form of invoices: https://github.com/bitcoin/bips/blob/master/bip-0350.mediawiki.
enum Bech32m {
    private static let letters = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let constant: UInt32 = 0x2bc8_30a3

    /// `prefix`, `1`, the bytes in groups of five bits, and six letters of checksum.
    static func encode(prefix: String, _ bytes: [UInt8]) -> String {
        let groups = regroup(bytes, from: 8, to: 5, padding: true) ?? []
        let sum = polymod(expand(prefix) + groups + [0, 0, 0, 0, 0, 0]) ^ constant
        let check = (0..<6).map { UInt8(truncatingIfNeeded: sum >> UInt32(5 * (5 - $0)) & 31) }
        return prefix + "1" + String(decoding: (groups + check).map { letters[Int($0)] }, as: UTF8.self)
    }

    /// The parts of a text whose checksum is right.
    static func decode(_ text: String) throws(Fault) -> (prefix: String, bytes: [UInt8]) {
        guard let one = text.lastIndex(of: "1") else { throw .noSeparator }
        let prefix = String(text[..<one])
        let values = text[text.index(after: one)...].utf8.map { letters.firstIndex(of: $0) }
        let groups = values.compactMap { $0.map { UInt8($0) } }
        guard groups.count == values.count else { throw .letter }
        guard groups.count >= 6 else { throw .length }
        guard polymod(expand(prefix) + groups) == constant else { throw .checksum }
        guard let bytes = regroup(Array(groups.dropLast(6)), from: 5, to: 8, padding: false) else { throw .padding }
        return (prefix, bytes)
    }

    /// What is wrong with a text, in the manner of the Rust decoder.
    enum Fault: String, Error {
        case noSeparator = "missing human-readable separator, \"1\""
        case letter = "invalid character"
        case length = "invalid length"
        case checksum = "invalid checksum"
        case padding = "invalid data padding"
    }

    private static func expand(_ prefix: String) -> [UInt8] {
        prefix.utf8.map { $0 >> 5 } + [0] + prefix.utf8.map { $0 & 31 }
    }

    private static func polymod(_ values: [UInt8]) -> UInt32 {
        let generators: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
        return values.reduce(1) { sum, value in
            let top = sum >> 25
            let shifted = (sum & 0x1ff_ffff) << 5 ^ UInt32(value)
            return generators.enumerated().reduce(shifted) { top >> UInt32($1.offset) & 1 == 1 ? $0 ^ $1.element : $0 }
        }
    }

    private static func regroup(_ values: [UInt8], from: Int, to: Int, padding: Bool) -> [UInt8]? {
        var (buffer, bits): (UInt32, Int) = (0, 0)
        var result: [UInt8] = []
        for value in values {
            buffer = (buffer << UInt32(from) | UInt32(value)) & 0xFFFF
            bits += from
            while bits >= to {
                bits -= to
                result.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits) & (1 << UInt32(to) - 1)))
            }
        }
        let rest = UInt8(truncatingIfNeeded: buffer & (1 << UInt32(bits) - 1))
        if padding {
            if bits > 0 { result.append(rest << UInt8(to - bits)) }
        } else if bits >= from || rest != 0 {
            return nil
        }
        return result
    }
}
