import CFiber

/// A payment session.
struct Payment: Codable, Sendable {
    /// Its course; the raw values are the node's words.
    enum Status: String, Codable {
        case created = "Created"
        case inflight = "Inflight"
        case success = "Success"
        case failed = "Failed"
    }

    let hash: Hash256
    let target: Pubkey
    let amount: Amount
    let fee: Amount
    /// The first channel of the route; nil when there was no route.
    let channelID: Hash256?
    let customRecords: JSON?
    let createdAt: Int64
    /// What the route will come to when the payment has arrived; nil is success.
    let failureToCome: String?
    /// How often this hash was tried.
    var sessions = 1
    var status = Status.created
    var updatedAt: Int64
    var failedError: String?
    var tlcID = 0

    /// What leaves the first channel.
    var total: UInt128 { amount.value + fee.value }

    /// The answer of fiber_send_payment and fiber_get_payment.
    var json: JSON {
        [
            "payment_hash": JSON(hash), "status": .string(status.rawValue), "created_at": JSON(hex: createdAt),
            "last_updated_at": JSON(hex: updatedAt), "failed_error": JSON(failedError), "fee": JSON(hex: fee.value),
            "custom_records": customRecords ?? .null,
        ]
    }

    /// Its entry in `pending_tlcs`.
    var pendingTLC: JSON {
        [
            "id": JSON(hex: tlcID), "amount": JSON(hex: total), "payment_hash": JSON(hash),
            "expiry": JSON(hex: createdAt + 86_400_000), "forwarding_channel_id": .null, "forwarding_tlc_id": .null,
            "status": ["Outbound": "Committed"],
        ]
    }
}

/// What fiber_list_payments is asked for.
struct ListPaymentsRequest: Sendable {
    let status: String?
    let limit: UInt64
    let after: Hash256?

    init(_ parameters: RequestParameters) throws {
        status = parameters.text("status")
        limit = parameters.number("limit") ?? 15
        after = try parameters.hash("after")
    }
}

/// The way that a payment takes out of this node.
struct Route: Sendable {
    let channelID: Hash256
    let fee: UInt128
    /// What it comes to when it has arrived; nil is success.
    let failureToCome: String?
}

extension SimNode {
    static let noPath = "Failed to build route, PathFind error: no path found"

    /// Begins a payment session; Created is all that the answer says.
    func sendPayment(_ request: SendPaymentRequest) throws -> JSON {
        let order = try validated(request.json) { try request.validated(payer: pubkey, now: SimNode.now) }
        return try begin(order, by: findRoute(order), asked: request.json)
    }

    /// The order that `body` makes of a request, or the refusal that repeats it.
    func validated(_ request: JSON, _ body: () throws -> PaymentOrder) throws -> PaymentOrder {
        do { return try body() } catch let fault as PaymentOrder.Fault {
            throw Refusal.rpc(
                "InvalidParameter: Failed to validate payment request: \"\(fault.text)\"", request: request)
        }
    }

    /// Begins a session over this route, or fails for want of one.
    func begin(_ order: PaymentOrder, by route: Route?, asked request: JSON) throws -> JSON {
        let former = payments[order.hash]
        if let former, former.status != .failed, !order.isDryRun {
            throw Refusal.rpc(
                "InvalidParameter: Payment session already exists: \(order.hash) with payment session status: "
                    + former.status.rawValue,
                request: request)
        }
        let noRoute = Refusal.rpc("Send payment error: \(Self.noPath)", request: request)
        let now = SimNode.now
        var payment = Payment(
            hash: order.hash, target: order.target, amount: Amount(order.amount), fee: Amount(route?.fee ?? 0),
            channelID: route?.channelID, customRecords: order.customRecords, createdAt: former?.createdAt ?? now,
            failureToCome: route?.failureToCome, sessions: (former?.sessions ?? 0) + 1, updatedAt: now)
        guard !order.isDryRun else {
            guard route != nil else { throw noRoute }
            return payment.json
        }
        if route == nil {
            payment.status = .failed
            payment.failedError = Self.noPath
        }
        payments[order.hash] = payment
        try save(payment)
        paymentsMade.withLock { $0 += 1 }
        guard route != nil else { throw noRoute }
        later { try $0.putInFlight(order.hash) }
        return payment.json
    }

    /// One payment by its hash.
    func getPayment(_ hash: Hash256) throws -> JSON {
        guard let payment = payments[hash] else {
            throw Refusal.rpc(
                "InvalidParameter: Payment session not found: \(hash.debugPrint)",
                request: ["payment_hash": JSON(hash)])
        }
        return payment.json
    }

    /// The payments in the order of their hashes, from the one after `after` on.
    func listPayments(_ request: ListPaymentsRequest) -> JSON {
        let rows = payments.values.filter { payment in
            (request.status == nil || payment.status.rawValue == request.status)
                && (request.after.map { payment.hash.description > $0.description } ?? true)
        }
        let page = rows.sorted { $0.hash.description < $1.hash.description }.prefix(Int(clamping: request.limit))
        return ["payments": .array(page.map(\.json)), "last_cursor": page.last.map { JSON($0.hash) } ?? .null]
    }

    /// Whether this much can leave through the channel.
    func canPay(_ channel: Channel, _ total: UInt128, _ udt: JSON?) -> Bool {
        channel.state == .ready && channel.isEnabled && isOnline(channel) && channel.udt == udt
            && channel.local.value >= total
    }

    /// A channel with the target, or one with another peer: inside the library every peer has a channel with every
    /// other and takes a thousandth. A target that is not connected is found on the way there only, as in the real
    /// network.
    private func findRoute(_ order: PaymentOrder) -> Route? {
        if let direct = channels.first(where: { $0.pubkey == order.target && canPay($0, order.amount, order.udt) }) {
            return Route(channelID: direct.id, fee: 0, failureToCome: order.failureAtTarget)
        }
        guard let target = peers[order.target] else { return nil }
        let fee = Router.fee(on: order.amount)
        guard fee <= order.feeLimit,
            let first = channels.first(where: { $0.pubkey != order.target && canPay($0, order.amount + fee, order.udt) }
            )
        else { return nil }
        return Route(
            channelID: first.id, fee: fee, failureToCome: target.isConnected ? order.failureAtTarget : Self.noPath)
    }

    private func putInFlight(_ hash: Hash256) throws {
        guard var payment = payments[hash], payment.status == .created, let index = channel(of: payment) else { return }
        guard isOnline(channels[index]) else { return }
        guard channels[index].state == .ready, channels[index].local.value >= payment.total else {
            return try settle(payment, failure: Self.noPath)
        }
        payment.status = .inflight
        payment.updatedAt = SimNode.now
        payment.tlcID = channels[index].nextTLC
        channels[index].nextTLC += 1
        channels[index].local.value -= payment.total
        channels[index].offered.value += payment.total
        payments[hash] = payment
        try save(payment, channels[index])
        emitStateUpdate(channels[index])
        later(Self.networkDelay * 2) { try $0.complete(hash) }
    }

    private func complete(_ hash: Hash256) throws {
        // Without its peer a TLC stays where it is until the connection is back.
        guard let payment = payments[hash], payment.status == .inflight, let index = channel(of: payment),
            isOnline(channels[index])
        else { return }
        channels[index].offered.value -= payment.total
        if payment.failureToCome == nil {
            channels[index].remote.value += payment.total
        } else {
            channels[index].local.value += payment.total
        }
        try settle(payment, failure: payment.failureToCome, channels[index])
        let isTaken = payment.failureToCome == nil
        if isTaken { emit(["kind": "PreimageCreated", "payment_hash": JSON(hash), "redacted": .bool(true)]) }
        emitStateUpdate(channels[index])
        if isTaken { emit(["kind": "PreimageRemoved", "payment_hash": JSON(hash)]) }
        try closeWhenDrained(index)
    }

    /// Ends a payment, with the channel that it moved.
    func settle(_ payment: Payment, failure: String?, _ channel: Channel? = nil) throws {
        var payment = payment
        payment.status = failure == nil ? .success : .failed
        payment.failedError = failure
        payment.updatedAt = SimNode.now
        payments[payment.hash] = payment
        try save(payment, channel)
    }

    /// A channel is back: what it carried goes on.
    func resumePayments(through channelID: Hash256) {
        for payment in payments.values where payment.channelID == channelID {
            let hash = payment.hash
            switch payment.status {
            case .created: later { try $0.putInFlight(hash) }
            case .inflight: later { try $0.complete(hash) }
            case .success, .failed: continue
            }
        }
    }

    private func channel(of payment: Payment) -> Int? { channels.firstIndex { $0.id == payment.channelID } }

    /// The events of a change of the commitment on both sides.
    func emitStateUpdate(_ channel: Channel) {
        emit(["kind": "LocalCommitmentSigned", "channel_id": JSON(channel.id), "redacted": .bool(true)])
        emitAbout(channel, "RevokeAndAckReceived", redacted: true)
        emitAbout(channel, "RemoteCommitmentSigned", redacted: true)
    }
}
