import CFiber

/// What fiber_list_channels is asked for.
struct ListChannelsRequest: Sendable {
    let pubkey: Pubkey?
    let includesClosed: Bool
    let onlyPending: Bool
    let parameters: RequestParameters

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        pubkey = try parameters.pubkey("pubkey")
        includesClosed = parameters.bool("include_closed") ?? false
        onlyPending = parameters.bool("only_pending") ?? false
    }
}

extension Channel {
    /// The id under which the node speaks of it: the final one as soon as there is a channel.
    var spokenID: Hash256 {
        switch state {
        case .negotiating, .requested: temporaryID
        case .awaitingFunding, .collaborating, .signing, .awaitingSignatures, .awaitingReady, .ready, .shuttingDown,
            .draining, .dropping, .forcing, .settling, .closed, .forceClosed, .aborted, .abandoned:
            id
        }
    }

    /// Whether there is a funding transaction.
    fileprivate var hasFunding: Bool {
        switch state {
        case .negotiating, .requested, .awaitingFunding, .collaborating, .aborted, .abandoned: false
        case .signing, .awaitingSignatures, .awaitingReady, .ready, .shuttingDown, .draining, .dropping, .forcing,
            .settling, .closed, .forceClosed:
            true
        }
    }
}

extension SimNode {
    /// Where the channel with this temporary id is, if it is in that state.
    func index(_ temporaryID: Hash256, in state: ChannelState) -> Int? {
        channels.firstIndex { $0.temporaryID == temporaryID && $0.state == state }
    }

    /// Moves a channel on, if it is where it is thought to be.
    func advance(_ id: Hash256, from old: ChannelState, to new: ChannelState) throws -> Channel? {
        guard let index = index(id, in: old) else { return nil }
        channels[index].state = new
        try save(channels[index])
        return channels[index]
    }

    /// Whether the channel's peer is there to take messages.
    func isOnline(_ channel: Channel) -> Bool { peers[channel.pubkey]?.hasInitialised == true }

    /// A connection came back: every live channel says so again, and what was under way goes on.
    func reestablishChannels(with pubkey: Pubkey) throws {
        for channel in channels where channel.pubkey == pubkey && channel.state.isLive {
            emitAbout(channel, "ChannelCreated")
            if channel.state.isOnline { emitAbout(channel, "ChannelOnline", outpoint: true) }
            let id = channel.temporaryID
            switch channel.state {
            case .awaitingSignatures: later { try $0.publishFunding(id) }
            case .awaitingReady: later(configuration.simulation.confirmation) { try $0.confirmFunding(id) }
            case .ready: emitAbout(channel, "ChannelReady", outpoint: true)
            case .shuttingDown, .draining: later { try $0.peerAnswersShutdown(id) }
            // The closing transaction needs no peer.
            case .dropping: break
            case .negotiating, .requested, .awaitingFunding, .collaborating, .signing, .forcing, .settling, .closed,
                .forceClosed, .aborted, .abandoned:
                continue
            }
            resumePayments(through: channel.id)
            answerAll(in: channel)
        }
    }

    /// A connection ended.
    func channelsWentOffline(with pubkey: Pubkey) throws {
        for index in channels.indices where channels[index].pubkey == pubkey {
            if channels[index].state.isFragile {
                try abort(index)
            } else if channels[index].state.isOnline {
                emitAbout(channels[index], "ChannelOffline", outpoint: true)
            }
        }
    }

    /// An event about a channel, with its final id if no other is given.
    func emitAbout(
        _ channel: Channel, _ kind: String, id: Hash256? = nil, outpoint: Bool = false, redacted: Bool = false
    ) {
        var event: [String: JSON] = [
            "kind": .string(kind), "pubkey": JSON(channel.pubkey), "channel_id": JSON(id ?? channel.id),
        ]
        if outpoint { event["out_point"] = .string("OutPoint(\(channel.outpoint))") }
        if redacted { event["redacted"] = .bool(true) }
        emit(.object(event))
    }

    /// The answer of fiber_list_channels. Without further wishes it has what has a channel: requests and failed
    /// openings appear among the pending ones only, or when closed ones are asked for.
    func listChannels(_ request: ListChannelsRequest) throws -> JSON {
        if request.onlyPending && request.includesClosed {
            throw Refusal.rpc(
                "only_pending and include_closed are mutually exclusive", request: request.parameters.json)
        }
        let chosen = channels.reversed().filter { channel in
            guard request.pubkey == nil || request.pubkey == channel.pubkey else { return false }
            return switch channel.state {
            case .negotiating, .requested: request.onlyPending
            case .awaitingFunding, .collaborating, .signing, .awaitingSignatures, .awaitingReady: true
            case .ready, .shuttingDown, .draining, .dropping, .forcing: !request.onlyPending
            case .settling, .closed, .forceClosed: request.includesClosed
            case .aborted, .abandoned: request.onlyPending || request.includesClosed
            }
        }
        return ["channels": .array(chosen.map(listed))]
    }

    private func listed(_ channel: Channel) -> JSON {
        let isRequest = channel.state == .negotiating || channel.state == .requested
        let hasFunding = channel.hasFunding
        let pending = payments.values.filter { $0.channelID == channel.id && $0.status == .inflight }
        return [
            "channel_id": JSON(channel.spokenID), "is_public": .bool(channel.isPublic),
            "is_acceptor": .bool(channel.isAcceptor), "is_one_way": .bool(channel.isOneWay),
            "channel_outpoint": hasFunding ? .string(channel.outpoint) : .null, "pubkey": JSON(channel.pubkey),
            "funding_udt_type_script": channel.udt ?? .null, "state": channel.state.json,
            "local_balance": JSON(hex: isRequest ? channel.funding.value : channel.local.value),
            "offered_tlc_balance": JSON(hex: channel.offered.value),
            "remote_balance": JSON(
                hex: channel.state == .requested ? channel.peerFunding.value : channel.remote.value),
            "received_tlc_balance": JSON(hex: channel.received),
            "pending_tlcs": .array(
                pending.sorted { $0.tlcID < $1.tlcID }.map(\.pendingTLC) + channel.inbound.map(\.pendingTLC)),
            "latest_commitment_transaction_hash": hasFunding
                ? JSON(Hash256(SimulatedDigest.of([channel.id.bytes, Array("\(channel.nextTLC)".utf8)]))) : .null,
            "created_at": JSON(hex: channel.createdAt / 1000),
            "enabled": .bool(channel.state == .ready && channel.isEnabled),
            "tlc_expiry_delta": JSON(hex: channel.tlcExpiryDelta),
            "tlc_fee_proportional_millionths": JSON(hex: channel.tlcFee.value),
            "shutdown_transaction_hash": channel.shutdownTransaction.map { JSON($0) } ?? .null,
            "failure_detail": JSON(channel.failure),
        ]
    }
}
