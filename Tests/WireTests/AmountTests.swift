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
