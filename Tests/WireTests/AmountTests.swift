import Testing
import Wire

@Test(
    "an amount is read exactly",
    arguments: [
        (JSON.string("150000000"), "150000000"), ("0x8f0d180", "150000000"), ("1.5 CKB", "150000000"),
        ("0.00000001 CKB", "1"), ("0 CKB", "0"), (150_000_000, "150000000"), (0, "0"),
        (JSON.integer(1 << 53), "9007199254740992"),
        ("340282366920938463463374607431768211455", "340282366920938463463374607431768211455"),
        ("0xffffffffffffffffffffffffffffffff", "340282366920938463463374607431768211455"), ("0xAbC", "2748"),
        ("3402823669209384634633746074317.68211455 CKB", "340282366920938463463374607431768211455"),
    ] as [(JSON, String)])
func amounts(given: JSON, units: String) throws {
    #expect(try Amount.parse(given, allowsCKB: true).text == units)
}

@Test(
    "what would be rounded, cut or guessed is refused",
    arguments: [
        "", " 1", "1 ", "+1", "-1", "1.5", "1e8", "0x", "0xg", "1_000", "١", "1.5CKB", "1.5 ckb", ".5 CKB", "1. CKB",
        "1.123456789 CKB", "1.5.0 CKB", " CKB", "-1 CKB", "0x1 CKB", "340282366920938463463374607431768211456",
        "0x100000000000000000000000000000000", "3402823669209384634633746074317.68211456 CKB", .integer(-1),
        .integer((1 << 53) + 1), .number("1.5"), .number("1e3"), nil, true, [], [:],
    ] as [JSON])
func noAmount(given: JSON) {
    #expect(throws: Amount.Problem.self) { try Amount.parse(given, allowsCKB: true) }
}

@Test("a UDT amount is not written in CKB") func udt() {
    #expect(throws: Amount.Problem.self) { try Amount.parse("1 CKB", allowsCKB: false) }
}

/// Numbers of every length from 1 to 128 bits, the same in every run.
private let someUnits: [UInt128] = {
    var state: UInt64 = 20_261_130
    func next() -> UInt128 {
        // Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (SplitMix64).
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return UInt128(word ^ word >> 31)
    }
    let random = (1...128).map { (next() << 64 | next()) >> (128 - $0) }
    return random + [0, 1, UInt128(UInt64.max), UInt128(UInt64.max) + 1, .max - 1, .max]
}()

@Test("an amount is the same in every notation, over all 128 bits", arguments: someUnits)
func notations(_ units: UInt128) throws {
    let (whole, rest) = units.quotientAndRemainder(dividingBy: Amount.shannonsPerCKB)
    let decimals = String(repeating: "0", count: 8 - String(rest).count) + String(rest)
    for text in ["\(units)", "0x" + String(units, radix: 16), "\(whole).\(decimals) CKB"] {
        #expect(try Amount.parse(.string(text), allowsCKB: true).units == units)
    }
    #expect(Amount(units: units).text == String(units))
}
