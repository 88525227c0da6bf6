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
        }
    ]

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

    private static let udt = "udt_type_script"
    private static let udtSummary = "the UDT's type script: code_hash, hash_type, args (default: CKB)"

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

    static let payments: [NativeCall] = [
        NativeCall(
            "send_payment",
            """
            Starts a payment and answers before its outcome: ask fiber.get_payment until Success or Failed. Never pay \
            again with a new hash while the outcome is unknown.
            """,
            options: FiberSendPaymentOptions.sized, fields: sendPayment, output: .json,
            result: "payment_hash, status, fee, failed_error, …", effect: .money,
            find: "fiber.get_payment with the payment_hash (given, or the invoice's)"
        ) { library in
            guard let call = library.sendPayment else { return nil }
            return { handle, options, out in call(handle, &options, out) }
        },
        NativeCall(
            "get_payment", "Where a payment of ours stands.", options: { OneText() },
            fields: [.text("payment_hash", \.text, .hash, required: true, "the payment's hash")], output: .json,
            result: "payment_hash, status (Created, Inflight, Success, Failed), fee, failed_error, …"
        ) { library in
            guard let call = library.getPayment else { return nil }
            return { handle, argument, out in call(handle, argument.text, out) }
        },
    ]

    private static let sendPayment: [Field<FiberSendPaymentOptions>] = [
        .text(
            "invoice", \.invoice, .text(maxBytes: 16384),
            "what to pay; it says target, amount, hash and UDT, and any of those also given must agree"),
        .text("target_pubkey", \.target_pubkey, .publicKey, "without invoice: whom to pay"),
        .amount(
            "amount", \.amount, has: \.has_amount, udtWhen: udt, "without invoice: in shannons, or raw UDT units"),
        .text("payment_hash", \.payment_hash, .hash, "without invoice and keysend: the hash to pay to"),
        .flag(
            "keysend", \.keysend, has: \.has_keysend,
            "pay a key without invoice: needs target_pubkey and amount (default false)"),
        .flag("dry_run", \.dry_run, has: \.has_dry_run, "only find the route and answer its fee (default false)"),
        .amount(
            "max_fee_amount", \.max_fee_amount, has: \.has_max_fee_amount, udtWhen: udt,
            "the highest fee, in shannons or raw UDT units (default: by max_fee_rate; the lower of both counts)"),
        .integer(
            "max_fee_rate", \.max_fee_rate, has: \.has_max_fee_rate, "the highest fee, in thousandths (default 5)"),
        .integer("timeout", \.timeout, has: \.has_timeout, "seconds until it is given up (default: none)"),
        .integer(
            "max_parts", \.max_parts, has: \.has_max_parts, in: 1...24,
            "in how many parts; more than 1 needs an invoice that allows it (default 12)"),
        .json(udt, \.udt_type_script_json, .object, udtSummary),
        .flag(
            "allow_self_payment", \.allow_self_payment, has: \.has_allow_self_payment,
            "pay ourselves in a circle, to rebalance (default false; not with trampoline_hops)"),
        .integer(
            "final_tlc_expiry_delta", \.final_tlc_expiry_delta, has: \.has_final_tlc_expiry_delta,
            "milliseconds, from 9600000 to 1209600000 (default 86400000; the invoice's own wins)"),
        .integer(
            "tlc_expiry_limit", \.tlc_expiry_limit, has: \.has_tlc_expiry_limit,
            "milliseconds for the whole route, at most 1209600000 (the default)"),
        .json("trampoline_hops", \.trampoline_hops_json, .texts, "public keys of trampoline nodes, in order"),
        .json(
            "custom_records", \.custom_records_json, .object,
            "records for the receiver: keys in 0x-hex up to 0xffff, values in 0x-hex, 2048 bytes in all"),
        .json(
            "hop_hints", \.hop_hints_json, .array,
            "the last private hop: objects of pubkey, channel_outpoint, fee_rate, tlc_expiry_delta"),
    ]
}
