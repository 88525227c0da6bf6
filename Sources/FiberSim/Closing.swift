import CFiber

/// What fiber_shutdown_channel is asked for.
struct ShutdownRequest: Sendable {
    let parameters: RequestParameters
    let id: Hash256
    let isForced: Bool

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        guard let id = try parameters.hash("channel_id") else {
            throw Refusal.invalidOptions("missing field `channel_id`")
        }
        self.id = id
        _ = try parameters.script("close_script")
        isForced = parameters.bool("force") ?? false
    }
}

/// How channels end.
extension SimNode {
    /// What the real node says of a channel whose actor has ended or never was. The same words can mean that the whole
    /// node is dead.
    static let channelGone = "Messaging failed because channel is closed"

    /// Asks for the end of a channel; the answer is that the request is out.
    func shutdownChannel(_ request: ShutdownRequest) throws {
        let parameters = request.parameters
        func refuse(_ text: String) -> Refusal { .rpc(text, request: parameters.json) }
        let (hasScript, rate) = (parameters["close_script"] != nil, parameters.number("fee_rate"))
        if request.isForced && (hasScript || rate != nil) {
            throw refuse("close_script and fee_rate should not be set when force is true")
        }
        let index = try liveIndex(request.id, parameters)
        guard !request.isForced else {
            guard channels[index].state.isOnline else { throw refuse(UnstatedText.shutdown(channels[index].state)) }
            return try force(index)
        }
        guard channels[index].state == .ready else { throw refuse(UnstatedText.shutdown(channels[index].state)) }
        guard isOnline(channels[index]) else { throw refuse(UnstatedText.offline(channels[index].pubkey)) }
        let fee = channels[index].isAcceptor ? 0 : Channel.transactionFee(rate: rate ?? 1000)
        guard fee < channels[index].capacity else { throw refuse(UnstatedText.closingFee) }
        channels[index].closingFee = Amount(fee)
        if hasScript { channels[index].paysWallet = false }
        channels[index].state = .shuttingDown
        try save(channels[index])
        let id = channels[index].temporaryID
        later { try $0.peerAnswersShutdown(id) }
    }

    /// The channel that has this final id and an actor that listens.
    func liveIndex(_ id: Hash256, _ parameters: RequestParameters) throws -> Int {
        guard
            let index = channels.firstIndex(where: { channel in
                channel.id == id && (channel.state.isOpening || channel.state.isLive || channel.state == .forcing)
                    && channel.spokenID == id
            })
        else { throw Refusal.rpc(Self.channelGone, request: parameters.json) }
        return index
    }

    /// The peer wants the end too.
    func peerAnswersShutdown(_ id: Hash256) throws {
        if let index = index(id, in: .shuttingDown), isOnline(channels[index]) {
            channels[index].state = .draining
            try save(channels[index])
        }
        if let index = index(id, in: .draining) { try closeWhenDrained(index) }
    }

    /// Nothing is under way any more: the closing transaction goes to the chain.
    func closeWhenDrained(_ index: Int) throws {
        let channel = channels[index]
        guard channel.state == .draining, channel.isDrained, isOnline(channel) else { return }
        channels[index].state = .dropping
        channels[index].shutdownTransaction = channel.closingTransaction
        try save(channels[index])
        watchClosing(channel.temporaryID)
    }

    /// A commitment transaction goes to the chain, whatever the peer thinks of it.
    private func force(_ index: Int) throws {
        channels[index].state = .forcing
        channels[index].shutdownTransaction = channels[index].closingTransaction
        try save(channels[index])
        watchClosing(channels[index].temporaryID)
    }

    /// The chain goes on with what a restart interrupted.
    func watchClosings() {
        for channel in channels where [.dropping, .forcing, .settling].contains(channel.state) {
            watchClosing(channel.temporaryID)
        }
    }

    private func watchClosing(_ id: Hash256) {
        later(configuration.simulation.confirmation) { try $0.confirmClosing(id) }
    }

    /// The chain has confirmed. Only a cooperative end has an event.
    private func confirmClosing(_ id: Hash256) throws {
        if let index = index(id, in: .dropping) {
            try close(index, as: .closed)
            guard let hash = channels[index].shutdownTransaction else { return }
            let channel = channels[index]
            emit([
                "kind": "ChannelClosed", "pubkey": JSON(channel.pubkey), "channel_id": JSON(channel.id),
                "tx_hash": .string("Byte32(\(hash))"),
            ])
        } else if let index = index(id, in: .forcing) {
            try failPayments(in: index)
            channels[index].state = .settling
            try save(channels[index])
            // The commitment delay of the simulated chain is as long as a confirmation.
            watchClosing(id)
        } else if let index = index(id, in: .settling) {
            try close(index, as: .forceClosed)
        }
    }

    private func close(_ index: Int, as state: ChannelState) throws {
        channels[index].state = state
        let channel = channels[index]
        if channel.paysWallet { channels[index].returned = Amount(channel.capacity - channel.closingFee.value) }
        try save(channels[index])
    }

    /// What was under way in a channel that ended by force goes back to whom it came from.
    private func failPayments(in index: Int) throws {
        for payment in payments.values where payment.channelID == channels[index].id {
            guard payment.status == .inflight || payment.status == .created else { continue }
            if payment.status == .inflight {
                channels[index].offered.value -= payment.total
                channels[index].local.value += payment.total
            }
            try settle(payment, failure: UnstatedText.channelFailure, channels[index])
        }
        for tlc in channels[index].inbound {
            channels[index].remote.value += tlc.amount.value
            if var invoice = invoices[tlc.hash], invoice.status == .received, invoice.held?.tlcID == tlc.id {
                invoice.status = .cancelled
                try save(invoice)
                invoices[tlc.hash] = invoice
            }
        }
        channels[index].inbound = []
    }

    /// Gives up an opening.
    func abandonChannel(_ id: Hash256) throws {
        func refuse(_ text: String) -> Refusal { .rpc(text, request: ["channel_id": JSON(id)]) }
        guard let index = channels.firstIndex(where: { $0.temporaryID == id || $0.id == id }) else {
            throw refuse("Channel \(id) not found")
        }
        let channel = channels[index]
        guard !channel.state.isOpening && !channel.state.isLive || isOnline(channel) else {
            throw refuse("Channel \(id) not found")
        }
        guard channel.state != .awaitingSignatures else {
            throw refuse(
                "Channel \(id) is in state \(channel.state.name), our signature has been sent. "
                    + "It cannot be abandoned. Please wait for chain commitment.")
        }
        guard channel.state.isFragile else {
            throw refuse(
                "Channel \(id) is in state \(channel.state.name), cannot be abandoned, "
                    + "please shutdown the channel instead")
        }
        channels[index].state = .abandoned
        channels[index].failure = "Channel was abandoned"
        channels[index].spent = Amount(0)
        try save(channels[index])
        emit(["kind": "ChannelAbandon", "channel_id": JSON(channel.spokenID)])
    }
}

extension Channel {
    /// The transaction that closes it.
    fileprivate var closingTransaction: Hash256 {
        Hash256(SimulatedDigest.of([Array("closing".utf8), id.bytes, Array("\(nextTLC)".utf8)]))
    }
}
