import CFiber
import Wire

extension FiberCalls {
    static let payments: [NativeCall] = [
        NativeCall(
            "send_payment",
            """
            Starts a payment and answers before its outcome: ask fiber.get_payment until Success or Failed. Never pay \
            again with a new hash while the outcome is unknown.
            """,
            options: FiberSendPaymentOptions.sized, fields: sendPayment, output: .json,
            result: "payment_hash, status, fee, failed_error, …", effect: .money,
            find: findPayment,
            check: { (given, options) throws(BusError) in
                try checkTarget(given, &options)
                for needed in ["target_pubkey", "amount"] where given["invoice"] == nil && given[needed] == nil {
                    throw .parameter(needed, "is required without invoice")
                }
            }
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
        NativeCall(
            "list_payments",
            """
            The payments of ours, in the order of their hashes, not of time: to see all, ask again with after until a \
            page is short.
            """,
            options: FiberListPaymentsOptions.sized,
            fields: [
                .choice(
                    "status", \.status,
                    [
                        ("Created", FIBER_PAYMENT_STATUS_FILTER_CREATED),
                        ("Inflight", FIBER_PAYMENT_STATUS_FILTER_INFLIGHT),
                        ("Success", FIBER_PAYMENT_STATUS_FILTER_SUCCESS),
                        ("Failed", FIBER_PAYMENT_STATUS_FILTER_FAILED),
                    ], "only those that stand so (default: all)"),
                .integer("limit", \.limit, has: \.has_limit, in: 1...10_000, "at most so many (default 15)"),
                .text("after", \.after, .hash, "the last_cursor of the page before"),
            ], output: .json, result: "payments: as of fiber.get_payment; last_cursor, or null"
        ) { library in
            guard let call = library.listPayments else { return nil }
            return { handle, options, out in call(handle, &options, out) }
        },
        NativeCall(
            "build_router",
            """
            Makes a route over given hops, for fiber.send_payment_with_router. Its expiries count from now: it is to be \
            used soon.
            """,
            options: FiberBuildRouterOptions.sized, fields: buildRouter, output: .json,
            result: "router_hops: target, channel_outpoint, amount_received, incoming_tlc_expiry"
        ) { library in
            guard let call = library.buildRouter else { return nil }
            return { handle, options, out in call(handle, &options, out) }
        },
        NativeCall(
            "send_payment_with_router",
            """
            As fiber.send_payment, over a route that fiber.build_router made. Never pay again with a new hash while the \
            outcome is unknown.
            """,
            options: FiberSendPaymentWithRouterOptions.sized, fields: sendPaymentWithRouter, output: .json,
            result: "payment_hash, status, fee, failed_error, …", effect: .money, find: findPayment,
            check: checkTarget
        ) { library in
            guard let call = library.sendPaymentWithRouter else { return nil }
            return { handle, options, out in call(handle, &options, out) }
        },
    ]

    private static let findPayment = "fiber.get_payment with the payment_hash (given, or the invoice's)"

    /// Whom or what to pay has to be said in exactly one way: an invoice, a hash, or keysend.
    @Sendable private static func checkTarget<Options>(_ given: JSON, _ options: inout Options) throws(BusError) {
        if given["keysend"] == true {
            for other in ["invoice", "payment_hash"] where given[other] != nil {
                throw .parameter(other, "cannot be given with keysend")
            }
        } else if given["invoice"] == nil, given["payment_hash"] == nil {
            throw .parameter("invoice", "or payment_hash or keysend is required")
        }
    }

    static let udt = "udt_type_script"
    static let udtSummary = "the UDT's type script: code_hash, hash_type, args (default: CKB)"

    private static let buildRouter: [Field<FiberBuildRouterOptions>] = [
        .json(
            "hops_info", \.hops_info_json, .array, required: true,
            "the hops, without ourselves, the last one being the target: objects of pubkey, channel_outpoint (or null)"),
        .amount(
            "amount", \.amount, has: \.has_amount, udtWhen: udt,
            "what is to arrive, in shannons or raw UDT units (default 1; 0 is refused)"),
        .json(udt, \.udt_type_script_json, .object, udtSummary),
        .integer(
            "final_tlc_expiry_delta", \.final_tlc_expiry_delta, has: \.has_final_tlc_expiry_delta,
            "milliseconds, from 9600000 to 1209600000 (default 86400000)"),
    ]

    private static let sendPaymentWithRouter: [Field<FiberSendPaymentWithRouterOptions>] = [
        .json(
            "router", \.router_json, .array, required: true,
            "the route: the router_hops of fiber.build_router, unchanged"
        ),
        .text("invoice", \.invoice, .text(maxBytes: 16384), "what to pay"),
        .text("payment_hash", \.payment_hash, .hash, "without invoice and keysend: the hash to pay to"),
        .flag(
            "keysend", \.keysend, has: \.has_keysend, "without invoice and payment_hash: pay the target (default false)"
        ),
        .flag("dry_run", \.dry_run, has: \.has_dry_run, "only answer the fee (default false)"),
        .json(udt, \.udt_type_script_json, .object, udtSummary),
        .json("custom_records", \.custom_records_json, .object, recordsSummary),
    ]

    private static let recordsSummary =
        "records for the receiver: keys in 0x-hex up to 0xffff, values in 0x-hex, 2048 bytes in all"

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
        .json("custom_records", \.custom_records_json, .object, recordsSummary),
        .json(
            "hop_hints", \.hop_hints_json, .array,
            "the last private hop: objects of pubkey, channel_outpoint, fee_rate, tlc_expiry_delta"),
    ]
}
