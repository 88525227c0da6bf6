import FoundationEssentials

extension Hash256 {
    /// What the simulation takes for the hash of this preimage, whichever algorithm was asked for.
    var simulatedPaymentHash: Hash256 { Hash256(SimulatedDigest.of([Array("preimage".utf8), bytes])) }
}

/// What the text of an invoice says. The form is the real one, `fibt` + amount + `1` + bech32m data; the data is the
/// simulator's own, since it is neither signed nor packed as molecules.
struct EncodedInvoice: Codable, Sendable {
    let payee: Pubkey
    let hash: Hash256
    let amount: Amount
    let udt: JSON?
    let description: String?
    /// Milliseconds since 1970.
    let timestamp: Int64
    let expirySeconds: UInt64?
    let allowsMPP: Bool
    var allowsTrampoline: Bool?
    /// Milliseconds.
    var finalExpiryDelta: UInt64?
    var hashAlgorithm: String?
    var fallbackAddress: String?
    /// What all parts of a payment in several parts carry.
    var secret: Hash256?

    /// The text for a payer.
    func text(currency: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // These types always encode; an empty invoice would be refused by every payer.
        let data = (try? encoder.encode(self)) ?? Data()
        return Bech32m.encode(prefix: currency.lowercased() + String(amount.value), Array(data))
    }

    /// Why a text is no invoice.
    struct Unreadable: Error, CustomStringConvertible { let description: String }

    /// The name of the currency that an invoice begins with.
    static func currency(of text: String) -> String? {
        ["Fibb", "Fibt", "Fibd"].first { text.hasPrefix($0.lowercased()) }
    }

    /// `invoice` of fiber_parse_invoice. It is unsigned, and says so.
    func json(currency: String) -> JSON {
        var attributes: [JSON] = []
        func add(_ name: String, _ value: JSON?) { if let value { attributes.append(.object([name: value])) } }
        add("description", description.map(JSON.string))
        add("expiry_time", expirySeconds.map { JSON(hex: $0) })
        add("final_htlc_minimum_expiry_delta", finalExpiryDelta.map { JSON(hex: $0) })
        add("fallback_addr", fallbackAddress.map(JSON.string))
        add("udt_script", udt.map { .string("0x" + $0.moleculeScript.hex) })
        add("payee_public_key", JSON(payee))
        add("hash_algorithm", hashAlgorithm.map(JSON.string))
        let features =
            (allowsMPP ? ["BASIC_MPP_OPTIONAL"] : [])
            + (allowsTrampoline == true ? ["TRAMPOLINE_ROUTING_OPTIONAL"] : [])
        add("feature", features.isEmpty ? nil : .array(features.map(JSON.string)))
        add("payment_secret", secret.map { JSON($0) })
        return [
            "currency": .string(currency), "amount": JSON(hex: amount.value), "signature": .null,
            "data": [
                "timestamp": JSON(hex: timestamp), "payment_hash": JSON(hash), "attrs": .array(attributes),
            ],
        ]
    }

    /// Whether its time has passed.
    func isExpired(at now: Int64) -> Bool {
        guard let expirySeconds else { return false }
        let (end, overflow) = UInt64(clamping: timestamp).addingReportingOverflow(expirySeconds.clampedToSeconds * 1000)
        return !overflow && UInt64(clamping: now) >= end
    }
}

extension EncodedInvoice {
    /// Reads a text; whatever is no invoice of a simulated node is refused with the words of a decoder.
    init(parsing text: String) throws(Unreadable) {
        let prefix: String
        let data: [UInt8]
        do { (prefix, data) = try Bech32m.decode(text) } catch {
            throw Unreadable(description: "Bech32 error: \(error.rawValue)")
        }
        guard let currency = Self.currency(of: prefix) else {
            throw Unreadable(description: "Failed to parse human-readable part: \(prefix)")
        }
        guard let invoice = try? JSONDecoder().decode(EncodedInvoice.self, from: Data(data)) else {
            throw Unreadable(description: "Molecule error: not the data of a simulated invoice")
        }
        guard prefix.dropFirst(currency.utf8.count) == String(invoice.amount.value) else {
            throw Unreadable(description: "Failed to parse amount in \(prefix)")
        }
        self = invoice
    }
}

extension UInt64 {
    /// At most what milliseconds of 64 bits can hold.
    fileprivate var clampedToSeconds: UInt64 { Swift.min(self, UInt64.max / 1000) }
}

extension JSON {
    /// The bytes of a script that was checked, packed as the chain packs them
    /// (https://github.com/nervosnetwork/ckb/blob/develop/util/gen-types/schemas/blockchain.mol).
    var moleculeScript: [UInt8] {
        func bytes(_ name: String) -> [UInt8] { [UInt8](hex: String((self[name]?.string ?? "").dropFirst(2))) ?? [] }
        func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(value).littleEndian, Array.init) }
        let types: [String: UInt8] = ["data": 0, "type": 1, "data1": 2, "data2": 4]
        let (code, arguments) = (bytes("code_hash"), bytes("args"))
        let type = types[self["hash_type"]?.string ?? ""] ?? 0
        let starts = [16, 16 + code.count, 17 + code.count]
        return number(21 + code.count + arguments.count) + starts.flatMap(number) + code + [type]
            + number(arguments.count) + arguments
    }
}
