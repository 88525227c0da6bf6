import CFiber

/// A TLC that a peer offered and that is still there.
struct InboundTLC: Codable, Sendable {
    let id: Int
    let hash: Hash256
    let amount: Amount
    /// Milliseconds since 1970.
    let createdAt: Int64
    /// Whether it brings its preimage with it and needs no invoice.
    let isKeysend: Bool

    /// Its entry in `pending_tlcs`.
    var pendingTLC: JSON {
        [
            "id": JSON(hex: id), "amount": JSON(hex: amount.value), "payment_hash": JSON(hash),
            "expiry": JSON(hex: createdAt + 86_400_000), "forwarding_channel_id": .null, "forwarding_tlc_id": .null,
            "status": ["Inbound": "Committed"],
        ]
    }
}

/// What peers pay to this node.
extension SimNode {
    /// A peer pays an invoice, or without one (`fiber_sim_control`). What becomes of it shows in the invoice and in
    /// the channel's balances.
    func receive(from name: String, invoice text: String?, amount given: UInt128?) throws -> Hash256 {
        guard let peer = peers.values.first(where: { $0.simulated.name == name }) else {
            throw Refusal.invalid("simulator: no peer named \"\(name)\"")
        }
        var invoice: EncodedInvoice?
        do { invoice = try text.map { try EncodedInvoice(parsing: $0) } } catch {
            throw Refusal.invalid("simulator: pay.invoice: \(error)")
        }
        guard invoice == nil || invoice?.payee == pubkey else {
            throw Refusal.invalid("simulator: pay.invoice is not of this node")
        }
        let invoiced = (invoice?.amount.value).flatMap { $0 > 0 ? $0 : nil }
        guard let amount = invoiced ?? given, amount > 0, given == nil || given == amount else {
            throw Refusal.invalid("simulator: pay takes an invoice over an amount, or an amount")
        }
        let usable = channels.indices.filter { index in
            channels[index].state == .ready && isOnline(channels[index]) && channels[index].udt == invoice?.udt
                && channels[index].remote.value >= amount && channels[index].tlcMinimum.value <= amount
        }
        // Its own channel, or on through another peer.
        guard let index = usable.first(where: { channels[$0].pubkey == peer.pubkey }) ?? usable.first else {
            throw Refusal.invalid("simulator: no channel through which \(name) could pay \(amount)")
        }
        let tlc = InboundTLC(
            id: channels[index].nextInboundTLC, hash: invoice?.hash ?? Hash256.random().simulatedPaymentHash,
            amount: Amount(amount), createdAt: SimNode.now, isKeysend: invoice == nil)
        channels[index].nextInboundTLC += 1
        channels[index].remote.value -= amount
        channels[index].inbound.append(tlc)
        try save(channels[index])
        emitStateUpdate(channels[index])
        let place = Invoice.Held(channelID: channels[index].id, tlcID: tlc.id)
        later { try $0.answer(place) }
        return tlc.hash
    }

    /// What a TLC comes to: it is taken with its preimage, kept until the preimage is there, or sent back. Without its
    /// peer it stays as it is until the connection is back.
    func answer(_ place: Invoice.Held) throws {
        guard let index = channels.firstIndex(where: { $0.id == place.channelID }), isOnline(channels[index]),
            let tlc = channels[index].inbound.first(where: { $0.id == place.tlcID })
        else { return }
        guard !tlc.isKeysend else { return try take(tlc, at: index, paying: nil) }
        guard var invoice = invoices[tlc.hash], invoice.content?.amount.value ?? 0 <= tlc.amount.value else {
            return try sendBack(tlc, at: index)
        }
        switch invoice.status {
        case .open where invoice.content?.isExpired(at: SimNode.now) == true: try sendBack(tlc, at: index)
        case .open where invoice.preimage != nil: try take(tlc, at: index, paying: invoice)
        case .open:
            invoice.status = .received
            invoice.held = place
            try save(invoice)
            invoices[invoice.hash] = invoice
        case .received where invoice.held != place: try sendBack(tlc, at: index)
        case .received where invoice.preimage != nil: try take(tlc, at: index, paying: invoice)
        case .received: return  // It waits for settle or cancel.
        case .paid, .cancelled: try sendBack(tlc, at: index)
        }
    }

    /// A connection is back: what the peer had offered is answered.
    func answerAll(in channel: Channel) {
        for tlc in channel.inbound {
            let place = Invoice.Held(channelID: channel.id, tlcID: tlc.id)
            later { try $0.answer(place) }
        }
    }

    private func take(_ tlc: InboundTLC, at index: Int, paying invoice: Invoice?) throws {
        var invoice = invoice
        invoice?.status = .paid
        channels[index].inbound.removeAll { $0.id == tlc.id }
        channels[index].local.value += tlc.amount.value
        try save(channels[index], invoice)
        // fiber_settle_invoice has said so already.
        if invoice?.held == nil {
            emit(["kind": "PreimageCreated", "payment_hash": JSON(tlc.hash), "redacted": .bool(true)])
        }
        if let invoice { invoices[invoice.hash] = invoice }
        emitStateUpdate(channels[index])
        emit(["kind": "PreimageRemoved", "payment_hash": JSON(tlc.hash)])
        try closeWhenDrained(index)
    }

    private func sendBack(_ tlc: InboundTLC, at index: Int) throws {
        channels[index].inbound.removeAll { $0.id == tlc.id }
        channels[index].remote.value += tlc.amount.value
        try save(channels[index])
        emitStateUpdate(channels[index])
        try closeWhenDrained(index)
    }
}
