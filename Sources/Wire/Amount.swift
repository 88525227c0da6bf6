/// An amount of the smallest unit (shannons for CKB, raw units for a UDT), exact, 128 bits.
public struct Amount: Sendable, Equatable, Hashable {
    /// The number of smallest units.
    public let units: UInt128

    /// An amount of so many smallest units.
    public init(units: UInt128) { self.units = units }

    /// 1 CKB = 100,000,000 shannons.
    public static let shannonsPerCKB: UInt128 = 100_000_000

    /// The decimal text of the smallest unit, as it travels.
    public var text: String { String(units) }

    /// Why a text is no amount, in words that say what would be.
    public struct Problem: Error, Sendable, Equatable {
        /// The sentence.
        public let reason: String
    }

    /// Reads an amount as the bus takes it: a decimal integer (`"150000000"`), hex (`"0x8f0d180"`), `"1.5 CKB"` when `allowsCKB`, or a JSON
    /// integer from 0 to 2^53. Nothing is rounded.
    public static func parse(_ json: JSON, allowsCKB: Bool) throws(Problem) -> Amount {
        switch json {
        case .integer(let value):
            guard (0...(1 << 53)).contains(value) else {
                throw Problem(reason: "as a JSON integer it must be from 0 to 2^53; write larger amounts as a string")
            }
            return Amount(units: UInt128(value))
        case .string(let text): return try parse(text, allowsCKB: allowsCKB)
        default: throw Problem(reason: "must be an amount, such as \"150000000\", not \(json.typeName)")
        }
    }

    private static func parse(_ text: String, allowsCKB: Bool) throws(Problem) -> Amount {
        if text.hasSuffix(" CKB") {
            guard allowsCKB else {
                throw Problem(reason: "\"… CKB\" is not allowed for a UDT amount; write its raw units")
            }
            return try parseCKB(String(text.dropLast(4)))
        }
        if text.hasPrefix("0x") {
            let digits = text.dropFirst(2)
            guard !digits.isEmpty, digits.utf8.allSatisfy({ hexDigit($0) != nil }) else {
                throw Problem(reason: "hex digits must follow 0x")
            }
            guard let units = UInt128(digits, radix: 16) else { throw tooLarge }
            return Amount(units: units)
        }
        return Amount(units: try parseDigits(text))
    }

    private static func parseCKB(_ text: String) throws(Problem) -> Amount {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2 else { throw notDecimal }
        let whole = try parseDigits(String(parts[0]))
        var fraction = parts.count == 2 ? String(parts[1]) : "0"
        guard fraction.utf8.count <= 8 else {
            throw Problem(reason: "1 CKB has 100,000,000 shannons: at most 8 decimals")
        }
        fraction += String(repeating: "0", count: 8 - fraction.utf8.count)
        guard parts.count == 1 || !parts[1].isEmpty else { throw notDecimal }
        let small = try parseDigits(fraction)
        let (product, overflow) = whole.multipliedReportingOverflow(by: shannonsPerCKB)
        let (sum, overflowToo) = product.addingReportingOverflow(small)
        guard !overflow, !overflowToo else { throw tooLarge }
        return Amount(units: sum)
    }

    private static func parseDigits(_ text: String) throws(Problem) -> UInt128 {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { throw notDecimal }
        guard let units = UInt128(text) else { throw tooLarge }
        return units
    }

    private static let notDecimal = Problem(
        reason: "must be a decimal integer of the smallest unit (\"150000000\"), hex (\"0x8f0d180\") or \"1.5 CKB\"")
    private static let tooLarge = Problem(reason: "does not fit 128 bits")
}
