import CFiber

/// What fiber_send_payment_with_router is asked for.
struct RouterPaymentRequest: Sendable {
    let parameters: RequestParameters
    let hops: [RouterHop]
    let udt: JSON?

    private let hash: Hash256?
    private let recordBytes: Int

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        hash = try parameters.hash("payment_hash")
        hops = try (parameters.list("router") ?? []).map(RouterHop.init)
        recordBytes = try parameters.customRecordBytes()
        udt = try parameters.script("udt_type_script")
    }

    /// The order that follows from the route's end and the invoice.
    func validated(payer: Pubkey, now: Int64) throws -> PaymentOrder {
        guard let first = hops.first, let last = hops.last else { throw PaymentOrder.Fault(UnstatedText.routerHops) }
        let isKeysend = parameters.bool("keysend") ?? false
        let invoice = try PaymentOrder.invoice(parameters.text("invoice"), isKeysend: isKeysend, now: now)
        let target = try PaymentOrder.agreed("target_pubkey", last.target, invoice?.payee)
        let amount = try PaymentOrder.agreed("amount", last.amount, invoice?.amount.value)
        let udt = try invoice == nil ? udt : PaymentOrder.optionallyAgreed("udt_type_script", udt, invoice?.udt)
        if isKeysend && hash != nil { throw PaymentOrder.Fault("keysend payment should not have payment_hash") }
        let hash = try isKeysend ? Hash256.random() : PaymentOrder.agreed("payment_hash", hash, invoice?.hash)
        try PaymentOrder.check(amount: amount, isUDT: udt != nil)
        try PaymentOrder.check(recordBytes: recordBytes)
        guard first.amount >= amount else { throw PaymentOrder.Fault(UnstatedText.routerAmount) }
        return PaymentOrder(
            hash: hash, target: target, amount: amount, udt: udt, feeLimit: first.amount - amount,
            customRecords: parameters["custom_records"], isDryRun: parameters.bool("dry_run") ?? false,
            failureAtTarget: isKeysend || invoice != nil ? nil : "IncorrectOrUnknownPaymentDetails")
    }
}

extension SimNode {
    /// Begins a payment session over the given route.
    func sendPayment(_ request: RouterPaymentRequest) throws -> JSON {
        let order = try validated(request.parameters.json) {
            try request.validated(payer: pubkey, now: SimNode.now)
        }
        return try begin(order, by: route(request.hops, order), asked: request.parameters.json)
    }

    /// The way out, and where on it the payment will fail; nil when it cannot even leave.
    private func route(_ hops: [RouterHop], _ order: PaymentOrder) -> Route? {
        guard let first = hops.first,
            let channel = channels.first(where: { channel in
                channel.outpoint == first.outpoint && channel.pubkey == first.target
                    && canPay(channel, first.amount, order.udt)
            })
        else { return nil }
        let failure = zip(hops, hops.dropFirst()).lazy.compactMap(failure).first
        let late = (hops.last?.expiry ?? 0) < 9_600_000 ? "FinalIncorrectExpiryDelta" : nil
        return Route(
            channelID: channel.id, fee: first.amount - order.amount,
            failureToCome: failure ?? late ?? order.failureAtTarget)
    }

    /// What the peer at `hop` says when it is to pass a payment on to `next`: the name of a TLC error, or nothing.
    private func failure(_ hop: RouterHop, _ next: RouterHop) -> String? {
        guard next.outpoint == Router.outpoint(hop.target, next.target), peers[next.target]?.isConnected == true else {
            return "UnknownNextPeer"
        }
        guard next.amount <= hop.amount, hop.amount - next.amount >= Router.fee(on: next.amount) else {
            return "FeeInsufficient"
        }
        guard hop.expiry >= next.expiry, hop.expiry - next.expiry >= Router.expiryDelta else {
            return "IncorrectTlcExpiry"
        }
        return nil
    }
}
