import CFiber

/// An invoice of this node.
struct Invoice: Codable, Sendable {
    /// Its course; the raw values are the node's words. Expired is not stored: it is computed when it is read.
    enum Status: String, Codable {
        case open = "Open"
        /// A payment is here and waits for the preimage.
        case received = "Received"
        case paid = "Paid"
        case cancelled = "Cancelled"
    }

    /// The TLC that is the payment.
    struct Held: Codable, Equatable {
        let channelID: Hash256
        let tlcID: Int
    }

    let hash: Hash256
    /// The text that a payer gets.
    let address: String
    /// Nil for a hold invoice that was not settled yet.
    var preimage: Hash256?
    let createdAt: Int64
    var status = Status.open
    var held: Held?

    /// What the text says. It was made here, so it can be read.
    var content: EncodedInvoice? { try? EncodedInvoice(parsing: address) }

    /// `status` of fiber_get_invoice.
    func statusName(at now: Int64) -> String {
        status == .open && content?.isExpired(at: now) == true ? "Expired" : status.rawValue
    }
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
        let allowsMPP = parameters.bool("allow_mpp") ?? false
        let encoded = EncodedInvoice(
            payee: pubkey, hash: hash, amount: Amount(parameters.amount("amount") ?? 0), udt: request.udt,
            description: description, timestamp: SimNode.now, expirySeconds: parameters.number("expiry"),
            allowsMPP: allowsMPP, allowsTrampoline: parameters.bool("allow_trampoline_routing"),
            finalExpiryDelta: delta, hashAlgorithm: parameters.text("hash_algorithm"),
            fallbackAddress: parameters.text("fallback_address"), secret: allowsMPP ? .random() : nil)
        let invoice = Invoice(
            hash: hash, address: encoded.text(currency: configuration.chain.currency), preimage: preimage,
            createdAt: encoded.timestamp)
        try save(invoice)
        invoices[hash] = invoice
        return invoice.address
    }

    /// What an invoice says, whoever made it and for whichever chain.
    func parseInvoice(_ text: String) throws -> JSON {
        do {
            let invoice = try EncodedInvoice(parsing: text)
            return ["invoice": invoice.json(currency: EncodedInvoice.currency(of: text) ?? "")]
        } catch {
            throw Refusal.rpc(error.description, request: ["invoice": .string(text)])
        }
    }

    /// An own invoice by its hash.
    func getInvoice(_ hash: Hash256) throws -> JSON { try json(of: ownInvoice(hash)) }

    /// Ends an own invoice. A payment that waits for its preimage goes back.
    func cancelInvoice(_ hash: Hash256) throws -> JSON {
        var invoice = try ownInvoice(hash)
        guard invoice.status != .paid, invoice.status != .cancelled else {
            throw Refusal.rpc(
                "invoice can not be canceled, current status: \(invoice.status.rawValue)",
                request: ["payment_hash": JSON(hash)])
        }
        invoice.status = .cancelled
        try save(invoice)
        invoices[hash] = invoice
        if let held = invoice.held { later { try $0.answer(held) } }
        return json(of: invoice)
    }

    /// Gives the preimage for a payment that waits for it. The invoice is paid when the peer has taken it.
    func settleInvoice(_ hash: Hash256, preimage: Hash256) throws {
        func refuse(_ text: String) -> Refusal {
            .rpc(text, request: ["payment_hash": JSON(hash), "payment_preimage": JSON(preimage)])
        }
        guard var invoice = invoices[hash] else { throw refuse(UnstatedText.settleUnknown) }
        guard preimage.simulatedPaymentHash == hash else { throw refuse(UnstatedText.settleMismatch) }
        guard invoice.status == .received, let held = invoice.held else {
            throw refuse(UnstatedText.settle(status: invoice.statusName(at: SimNode.now)))
        }
        invoice.preimage = preimage
        try save(invoice)
        invoices[hash] = invoice
        emit(["kind": "PreimageCreated", "payment_hash": JSON(hash), "redacted": .bool(true)])
        later { try $0.answer(held) }
    }

    private func ownInvoice(_ hash: Hash256) throws -> Invoice {
        guard let invoice = invoices[hash] else {
            throw Refusal.rpc("invoice not found", request: ["payment_hash": JSON(hash)])
        }
        return invoice
    }

    private func json(of invoice: Invoice) -> JSON {
        [
            "invoice_address": .string(invoice.address), "status": .string(invoice.statusName(at: SimNode.now)),
            "invoice": invoice.content?.json(currency: configuration.chain.currency) ?? .null,
        ]
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
