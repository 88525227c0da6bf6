import CFiber
import Wire

extension FiberCalls {
    static let invoices: [NativeCall] = [
        NativeCall(
            "new_invoice", "Makes an invoice. The node keeps the preimage to itself.",
            options: FiberNewInvoiceOptions.sized, fields: newInvoice, output: .text("invoice"), result: "invoice",
            effect: .change,
            check: { (given, _) throws(BusError) in
                guard given["payment_preimage"] == nil || given["payment_hash"] == nil else {
                    throw .parameter("payment_hash", "cannot be given with payment_preimage")
                }
            }
        ) { library in
            guard let call = library.newInvoice else { return nil }
            return { (handle, options, out) throws(BusError) in
                var info: UnsafeMutablePointer<CChar>?
                let status = library.nodeInfo(handle, &info)
                let chain = library.take(info).flatMap { try? JSON.parse($0) }?["chain_hash"]?.text
                guard status == FIBER_FFI_STATUS_OK else { return status }
                options.currency = try currency(asked: options.currency, chain: chain)
                return call(handle, &options, out)
            }
        },
        NativeCall(
            "parse_invoice",
            """
            What an invoice says, whoever made it and for whichever chain: this is how to learn the payment hash of one \
            that fiber.new_invoice made.
            """,
            options: { OneText() },
            fields: [.text("invoice", \.text, .text(maxBytes: 16384), required: true, "the invoice")],
            output: .json, result: "invoice: currency, amount, signature, data (timestamp, payment_hash, attrs)",
            refusal: "invoice_invalid"
        ) { library in
            guard let call = library.parseInvoice else { return nil }
            return { handle, argument, out in call(handle, argument.text, out) }
        },
        NativeCall(
            "get_invoice", "Where an invoice of this node stands.", options: { OneText() },
            fields: [.text("payment_hash", \.text, .hash, required: true, "the invoice's payment hash")],
            output: .json, result: stateOfInvoice
        ) { library in
            guard let call = library.getInvoice else { return nil }
            return { handle, argument, out in call(handle, argument.text, out) }
        },
        NativeCall(
            "cancel_invoice",
            "Cancels an invoice of this node that is not paid yet; a payment that is held for it goes back to its payer.",
            options: { OneText() },
            fields: [.text("payment_hash", \.text, .hash, required: true, "the invoice's payment hash")],
            output: .json, result: stateOfInvoice, effect: .money, find: "fiber.get_invoice with payment_hash"
        ) { library in
            guard let call = library.cancelInvoice else { return nil }
            return { handle, argument, out in call(handle, argument.text, out) }
        },
        NativeCall(
            "settle_invoice", "Takes the payment that a hold invoice has Received, by giving out its preimage.",
            options: { Settlement() },
            fields: [
                .text("payment_hash", \.hash, .hash, required: true, "the invoice's payment hash"),
                .text(
                    "payment_preimage", \.preimage, .secret(.hash), required: true,
                    "32 bytes in hex that the hash was made of"),
            ], output: .nothing, result: "{}", effect: .money, find: "fiber.get_invoice with payment_hash"
        ) { library in
            guard let call = library.settleInvoice else { return nil }
            return { handle, arguments, _ in call(handle, arguments.hash, arguments.preimage) }
        },
    ]

    private static let stateOfInvoice =
        "invoice_address, invoice, status (Open, Cancelled, Expired, Received: held, Paid)"

    /// The currency that belongs to the chain with this hash of its first block. The native default is Fibd whatever the
    /// chain, which mainnet and testnet then refuse; so is one that belongs to another chain, here and by name.
    private static func currency(
        asked: FiberInvoiceCurrency, chain hash: String?
    ) throws(BusError) -> FiberInvoiceCurrency {
        // A node that does not tell its chain has the last word.
        guard let hash else { return asked }
        let chain = chains.first { $0.hash == hash } ?? developmentChain
        guard asked != FIBER_INVOICE_CURRENCY_DEFAULT, asked != chain.currency else { return chain.currency }
        throw .parameter(
            "currency",
            "must be \(chain.word) on \(chain.name), which this node is for; left out, it is filled in. The pairs are "
                + "Fibb on mainnet, Fibt on testnet, Fibd on any other chain")
    }

    private typealias Chain = (hash: String, name: String, word: String, currency: FiberInvoiceCurrency)
    private static let developmentChain: Chain = ("", "a development chain", "Fibd", FIBER_INVOICE_CURRENCY_FIBD)
    private static let chains: [Chain] = [
        (
            "0x92b197aa1fba0f63633922c61c92375c9c074a93e85963554f5499fe1450d0e5", "mainnet", "Fibb",
            FIBER_INVOICE_CURRENCY_FIBB
        ),
        (
            "0x10639e0895502b5688a6be8cf69460d76541bfa4821629d86d62ba0aae3f9606", "testnet", "Fibt",
            FIBER_INVOICE_CURRENCY_FIBT
        ),
    ]

    private static let newInvoice: [Field<FiberNewInvoiceOptions>] = [
        .amount("amount", \.amount, required: true, udtWhen: udt, "in shannons, or raw UDT units"),
        .text("description", \.description, .text(maxBytes: 639), "for the payer"),
        .choice(
            "currency", \.currency,
            [
                ("Fibb", FIBER_INVOICE_CURRENCY_FIBB), ("Fibt", FIBER_INVOICE_CURRENCY_FIBT),
                ("Fibd", FIBER_INVOICE_CURRENCY_FIBD),
            ],
            "Fibb on mainnet, Fibt on testnet, else Fibd (default: by the node's chain, unlike the C function's)"
        ),
        .text(
            "payment_preimage", \.payment_preimage, .secret(.hash),
            "32 bytes in hex (default: a random one, unless payment_hash is given)"),
        .text(
            "payment_hash", \.payment_hash, .hash,
            "instead of payment_preimage: a hold invoice, to be settled with its preimage later"),
        .integer("expiry", \.expiry, has: \.has_expiry, "seconds until it expires (default: never)"),
        .text("fallback_address", \.fallback_address, .text(maxBytes: 1024), "a CKB address to pay on chain instead"),
        .integer(
            "final_expiry_delta", \.final_expiry_delta, has: \.has_final_expiry_delta,
            "milliseconds, from 9600000 (the default) to 1209600000"),
        .json(udt, \.udt_type_script_json, .object, udtSummary),
        .choice(
            "hash_algorithm", \.hash_algorithm,
            [("ckb_hash", FIBER_HASH_ALGORITHM_CKB_HASH), ("sha256", FIBER_HASH_ALGORITHM_SHA256)],
            "from preimage to payment hash (default ckb_hash)"),
        .flag("allow_mpp", \.allow_mpp, has: \.has_allow_mpp, "may be paid in parts (default: the node's choice)"),
        .flag(
            "allow_trampoline_routing", \.allow_trampoline_routing, has: \.has_allow_trampoline_routing,
            "may be paid over trampoline nodes (default: the node's choice)"),
    ]
}

/// The arguments of `fiber_settle_invoice`.
private struct Settlement {
    var hash: UnsafePointer<CChar>?
    var preimage: UnsafePointer<CChar>?
}
