import CFiber

/// What fiber_send_payment is asked for, with the types that the node wants.
struct SendPaymentRequest: Sendable {
    /// The request as it was given, for the text of a refusal.
    var json: JSON { parameters.json }

    private let parameters: RequestParameters
    private let target: Pubkey?
    private let hash: Hash256?
    private let udt: JSON?
    private let trampolines: [Pubkey]?
    private let recordBytes: Int

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        target = try parameters.pubkey("target_pubkey")
        hash = try parameters.hash("payment_hash")
        trampolines = try parameters.list("trampoline_hops")?.map { hop in
            guard let text = hop.string else { throw Refusal.invalidOptions("invalid type, expected a public key") }
            return try Pubkey(parsing: text)
        }
        udt = try parameters.script("udt_type_script")
        recordBytes = try parameters.customRecordBytes()
        for hint in try parameters.list("hop_hints") ?? [] {
            for field in ["pubkey", "channel_outpoint", "fee_rate", "tlc_expiry_delta"] where hint[field] == nil {
                throw Refusal.invalidOptions("missing field `\(field)`")
            }
            _ = try RequestParameters.hexNumber(hint["fee_rate"])
            _ = try RequestParameters.hexNumber(hint["tlc_expiry_delta"])
        }
    }

    /// The order that follows from the request and its invoice, checked as the node checks it.
    func validated(payer: Pubkey, now: Int64) throws -> PaymentOrder {
        let isKeysend = parameters.bool("keysend") ?? false
        let invoice = try PaymentOrder.invoice(parameters.text("invoice"), isKeysend: isKeysend, now: now)
        let target = try PaymentOrder.agreed("target_pubkey", target, invoice?.payee)
        let amount = try PaymentOrder.agreed("amount", parameters.amount("amount"), invoice?.amount.value)
        let udt = try invoice == nil ? udt : PaymentOrder.optionallyAgreed("udt_type_script", udt, invoice?.udt)
        if isKeysend && hash != nil { throw PaymentOrder.Fault("keysend payment should not have payment_hash") }
        let hash = try isKeysend ? Hash256.random() : PaymentOrder.agreed("payment_hash", hash, invoice?.hash)
        try PaymentOrder.check(amount: amount, isUDT: udt != nil)
        try validateLimits(invoice, target: target)
        if target == payer {
            guard parameters.bool("allow_self_payment") ?? false else {
                throw PaymentOrder.Fault("allow_self_payment is not enable, can not pay to self")
            }
        }
        let feeByRate = amount * UInt128(parameters.number("max_fee_rate") ?? 5) / 1000
        return PaymentOrder(
            hash: hash, target: target, amount: amount, udt: udt,
            feeLimit: min(feeByRate, parameters.amount("max_fee_amount") ?? UInt128.max),
            customRecords: parameters["custom_records"], isDryRun: parameters.bool("dry_run") ?? false,
            // Nobody inside the library knows the preimage of a hash that is in no invoice.
            failureAtTarget: isKeysend || invoice != nil ? nil : "IncorrectOrUnknownPaymentDetails")
    }

    private func validateLimits(_ invoice: EncodedInvoice?, target: Pubkey) throws {
        let delta = parameters.number("final_tlc_expiry_delta") ?? 86_400_000
        guard (9_600_000...1_209_600_000).contains(delta) else {
            throw PaymentOrder.Fault("final_tlc_expiry_delta should be between 9600000 and 1209600000")
        }
        guard parameters.number("tlc_expiry_limit") ?? 1_209_600_000 <= 1_209_600_000 else {
            throw PaymentOrder.Fault("tlc_expiry_limit is too large, expect it to less than 1209600000")
        }
        if let parts = parameters.number("max_parts") {
            guard (1...24).contains(parts) else { throw PaymentOrder.Fault("max_parts should be between 1 and 24") }
            guard parts == 1 || invoice?.allowsMPP == true else {
                throw PaymentOrder.Fault("payment invoice is not allow MPP")
            }
        }
        if let trampolines {
            guard !trampolines.isEmpty, Set(trampolines).count == trampolines.count, !trampolines.contains(target)
            else {
                throw PaymentOrder.Fault("trampoline_hops must be non-empty, without duplicates and without the target")
            }
        }
        try PaymentOrder.check(recordBytes: recordBytes)
    }
}

/// A payment that the node is willing to try.
struct PaymentOrder: Sendable {
    let hash: Hash256
    let target: Pubkey
    let amount: UInt128
    let udt: JSON?
    /// The highest fee that the payer accepts.
    let feeLimit: UInt128
    let customRecords: JSON?
    let isDryRun: Bool
    /// What the target will say; nil when it takes the payment.
    let failureAtTarget: String?

    /// Why a request makes no order, in the node's words.
    struct Fault: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }
}

/// What every way to ask for a payment checks.
extension PaymentOrder {
    /// The invoice that a text is.
    static func invoice(_ text: String?, isKeysend: Bool, now: Int64) throws -> EncodedInvoice? {
        guard let text else { return nil }
        if isKeysend { throw Fault("keysend payment should not have invoice") }
        guard let invoice = try? EncodedInvoice(parsing: text) else { throw Fault("invoice is invalid") }
        if invoice.isExpired(at: now) { throw Fault("invoice is expired") }
        return invoice
    }

    /// An amount that can be paid.
    static func check(amount: UInt128, isUDT: Bool) throws {
        guard amount > 0 else { throw Fault("amount must be greater than 0") }
        guard isUDT || amount < UInt128(UInt64.max) else {
            throw Fault("The payment amount (\(amount)) should be less than \(UInt64.max)")
        }
        guard amount <= UInt128.max / 2000 else { throw Fault("amount is too large") }
    }

    /// Custom records that fit into a packet.
    static func check(recordBytes: Int) throws {
        guard recordBytes <= 2048 else {
            throw Fault("the sum size of custom_records's value can not more than 2048 bytes")
        }
    }

    /// What is given, or what the invoice says; both must be the same.
    static func agreed<Value: Equatable>(_ name: String, _ given: Value?, _ invoiced: Value?) throws -> Value {
        guard let value = try optionallyAgreed(name, given, invoiced) else { throw Fault("\(name) is missing") }
        return value
    }

    /// `agreed` for what may be missing in both.
    static func optionallyAgreed<Value: Equatable>(
        _ name: String, _ given: Value?, _ invoiced: Value?
    ) throws -> Value? {
        if let given, let invoiced, given != invoiced { throw Fault("\(name) does not match the invoice") }
        return invoiced ?? given
    }
}

extension RequestParameters {
    /// How many bytes the values of `custom_records` have.
    func customRecordBytes() throws -> Int {
        try (object("custom_records") ?? [:]).reduce(0) { sum, record in
            guard try Self.hexNumber(.string(record.key)) <= 0xFFFF else {
                throw Refusal.invalidOptions("custom record key \(record.key) is greater than 0xffff")
            }
            return sum + (try Self.hexBytes(record.value)).count
        }
    }
}
