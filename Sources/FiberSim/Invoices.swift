import CFiber
import FoundationEssentials

/// An invoice of this node.
struct Invoice: Codable, Sendable {
    let hash: Hash256
    /// The text that a payer gets.
    let address: String
    /// Nil for a hold invoice.
    let preimage: Hash256?
    let createdAt: Int64
}

/// What fiber_new_invoice is asked for.
struct NewInvoiceRequest: Sendable {
    let parameters: RequestParameters
    let preimage: Hash256?
    let hash: Hash256?
    let udt: JSON?

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        preimage = try parameters.hash("payment_preimage")
        hash = try parameters.hash("payment_hash")
        udt = try parameters.script("udt_type_script")
    }
}

extension SimNode {
    /// Makes an invoice and answers its text, without the preimage and the hash.
    func newInvoice(_ request: NewInvoiceRequest) throws -> String {
        let parameters = request.parameters
        func refuse(_ text: String) -> Refusal { .rpc(text, request: parameters.json) }
        guard parameters.text("currency") == configuration.chain.currency else {
            throw refuse("Currency must be \(configuration.chain.currency) with the chain network")
        }
        if request.preimage != nil && request.hash != nil {
            throw refuse("Both payment_hash and payment_preimage are set")
        }
        let description = parameters.text("description")
        guard description?.utf8.count ?? 0 <= 639 else { throw refuse("Description is too long, at most 639 bytes") }
        let delta = parameters.number("final_expiry_delta") ?? 9_600_000
        guard delta >= 9_600_000 else {
            throw refuse("final_expiry_delta must be greater than or equal to 9600000")
        }
        guard delta <= 1_209_600_000 else {
            throw refuse("final_expiry_delta must be less than or equal to 1209600000")
        }
        let preimage = request.hash == nil ? request.preimage ?? .random() : nil
        let hash = request.hash ?? preimage?.simulatedPaymentHash ?? .random()
        guard invoices[hash] == nil else { throw refuse("invoice already exists") }
        let encoded = EncodedInvoice(
            payee: pubkey, hash: hash, amount: Amount(parameters.amount("amount") ?? 0), udt: request.udt,
            description: description, timestamp: SimNode.now, expirySeconds: parameters.number("expiry"),
            allowsMPP: parameters.bool("allow_mpp") ?? false)
        let invoice = Invoice(
            hash: hash, address: encoded.text(currency: configuration.chain.currency), preimage: preimage,
            createdAt: encoded.timestamp)
        try save(invoice)
        invoices[hash] = invoice
        return invoice.address
    }

    /// An invoice of a peer, so that there is something to pay (`fiber_sim_control`).
    func invoice(from name: String, amount: UInt128) throws -> EncodedInvoice {
        guard let peer = peers.values.first(where: { $0.simulated.name == name }) else {
            throw Refusal.invalid("simulator: no peer named \"\(name)\"")
        }
        return EncodedInvoice(
            payee: peer.pubkey, hash: .random(), amount: Amount(amount), udt: nil, description: "from \(name)",
            timestamp: SimNode.now, expirySeconds: nil, allowsMPP: false)
    }
}

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

    /// The text for a payer.
    func text(currency: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // These types always encode; an empty invoice would be refused by every payer.
        let data = (try? encoder.encode(self)) ?? Data()
        return Bech32m.encode(prefix: currency.lowercased() + String(amount.value), Array(data))
    }

    /// Nil for whatever is no invoice of a simulated node.
    init?(parsing text: String) {
        guard let (prefix, data) = Bech32m.decode(text),
            let invoice = try? JSONDecoder().decode(EncodedInvoice.self, from: Data(data)),
            ["fibb", "fibt", "fibd"].contains(where: { prefix == $0 + String(invoice.amount.value) })
        else { return nil }
        self = invoice
    }

    init(
        payee: Pubkey, hash: Hash256, amount: Amount, udt: JSON?, description: String?, timestamp: Int64,
        expirySeconds: UInt64?, allowsMPP: Bool
    ) {
        self.payee = payee
        self.hash = hash
        self.amount = amount
        self.udt = udt
        self.description = description
        self.timestamp = timestamp
        self.expirySeconds = expirySeconds
        self.allowsMPP = allowsMPP
    }

    /// Whether its time has passed.
    func isExpired(at now: Int64) -> Bool {
        guard let expirySeconds else { return false }
        let (end, overflow) = UInt64(clamping: timestamp).addingReportingOverflow(expirySeconds.clampedToSeconds * 1000)
        return !overflow && UInt64(clamping: now) >= end
    }
}

extension UInt64 {
    /// At most what milliseconds of 64 bits can hold.
    fileprivate var clampedToSeconds: UInt64 { Swift.min(self, UInt64.max / 1000) }
}

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
    static func decode(_ text: String) -> (prefix: String, bytes: [UInt8])? {
        guard let one = text.lastIndex(of: "1") else { return nil }
        let prefix = String(text[..<one])
        let values = text[text.index(after: one)...].utf8.map { letters.firstIndex(of: $0) }
        let groups = values.compactMap { $0.map { UInt8($0) } }
        guard groups.count == values.count, groups.count >= 6, polymod(expand(prefix) + groups) == constant,
            let bytes = regroup(Array(groups.dropLast(6)), from: 5, to: 8, padding: false)
        else { return nil }
        return (prefix, bytes)
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
