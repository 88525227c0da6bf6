import CFiber

/// What fiber_open_channel is asked for.
struct OpenChannelRequest: Sendable {
    let pubkey: Pubkey
    let parameters: RequestParameters
    let udt: JSON?

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        guard let pubkey = try parameters.pubkey("pubkey") else {
            throw Refusal.invalidOptions("missing field `pubkey`")
        }
        self.pubkey = pubkey
        udt = try parameters.script("funding_udt_type_script")
        _ = try parameters.script("shutdown_script")
        // These two are there only when somebody else funds the channel.
        _ = try parameters.script("funding_lock_script")
        try parameters.checkCellDeps("funding_lock_script_cell_deps")
        try parameters.refusePlainNumber("commitment_delay_epoch")
    }
}

extension SimNode {
    /// Begins to open a channel; the answer is the temporary id.
    func openChannel(_ request: OpenChannelRequest) throws -> String {
        try refuseUnlessReady()
        let channel = try requestedChannel(request)
        try begin(channel)
        return channel.temporaryID.description
    }

    /// The channel that is asked for, once everything that the node checks at once is right.
    func requestedChannel(_ request: OpenChannelRequest) throws -> Channel {
        let parameters = request.parameters
        func refuse(_ text: String) -> Refusal { .rpc("InvalidParameter: \(text)", request: parameters.json) }
        guard peers[request.pubkey]?.hasInitialised == true else {
            throw refuse(
                "Peer \(request.pubkey.debugPrint)'s feature not found, waiting for peer to send Init message")
        }
        if let udt = request.udt {
            guard configuration.udtWhitelist.contains(where: { $0["script"] == udt }) else {
                throw refuse("Invalid UDT type script")
            }
        }
        let funding = try checkedFunding(parameters, isUDT: request.udt != nil)
        let isPublic = parameters.bool("public") ?? true
        let isOneWay = parameters.bool("one_way") ?? false
        if isPublic && isOneWay { throw refuse("An one-way channel cannot be public") }
        let terms = try checkedTerms(parameters)
        var channel = Channel(
            temporaryID: .random(), id: .random(), pubkey: request.pubkey, funding: Amount(funding),
            isPublic: isPublic, isOneWay: isOneWay, udt: request.udt, tlcExpiryDelta: terms.delta, tlcFee: terms.fee,
            tlcMinimum: terms.minimum, createdAt: nextCreation(),
            local: Amount(request.udt == nil ? funding - Channel.minimumFunding : funding))
        channel.fundingFee = Amount(Channel.transactionFee(rate: parameters.number("funding_fee_rate") ?? 1000))
        channel.paysWallet = parameters["shutdown_script"] == nil
        return channel
    }

    /// `funding_amount`: enough for the reserve, and a number that a cell can hold.
    func checkedFunding(_ parameters: RequestParameters, isUDT: Bool) throws -> UInt128 {
        func refuse(_ text: String) -> Refusal { .rpc("InvalidParameter: \(text)", request: parameters.json) }
        let funding = parameters.amount("funding_amount") ?? 0
        guard !isUDT else {
            guard funding > 0 else { throw refuse(UnstatedText.noFunding) }
            return funding
        }
        guard funding >= Channel.minimumFunding else {
            throw refuse("The funding amount (\(funding)) should be greater than or equal to \(Channel.minimumFunding)")
        }
        guard funding < UInt128(UInt64.max) else {
            throw refuse("The funding amount (\(funding)) should be less than \(UInt64.max)")
        }
        return funding
    }

    /// The terms that this side asks for what it forwards.
    func checkedTerms(_ parameters: RequestParameters) throws -> (delta: UInt64, fee: Amount, minimum: Amount) {
        func refuse(_ text: String) -> Refusal { .rpc("InvalidParameter: \(text)", request: parameters.json) }
        let delta = parameters.number("tlc_expiry_delta") ?? UInt64(configuration.tlcExpiryDelta)
        guard delta >= 9_600_000 else { throw refuse(UnstatedText.expiryDelta(delta)) }
        guard parameters.number("max_tlc_number_in_flight") ?? 125 <= 253 else {
            throw refuse("The max tlc number in flight should be less than or equal to 253")
        }
        let fee = parameters.amount("tlc_fee_proportional_millionths")
        let minimum = parameters.amount("tlc_min_value")
        return (
            delta, Amount(fee ?? UInt128(configuration.tlcFeeProportionalMillionths)),
            Amount(minimum ?? UInt128(configuration.tlcMinimumValue))
        )
    }

    /// The channel that the configuration wants with this peer is opened once.
    func openConfiguredChannel(to pubkey: Pubkey) throws {
        guard let funding = peers[pubkey]?.simulated.channel?.value,
            !channels.contains(where: { $0.pubkey == pubkey && $0.state != .aborted && !$0.isAcceptor })
        else { return }
        try begin(
            Channel(
                temporaryID: .random(), id: .random(), pubkey: pubkey, funding: Amount(funding), isPublic: true,
                isOneWay: false, udt: nil, tlcExpiryDelta: UInt64(configuration.tlcExpiryDelta),
                tlcFee: Amount(UInt128(configuration.tlcFeeProportionalMillionths)), createdAt: nextCreation(),
                local: Amount(funding - Channel.minimumFunding)))
    }

    /// A time for the next channel, later than that of every other.
    func nextCreation() -> Int64 { max(SimNode.now * 1000, (channels.last?.createdAt ?? 0) + 1) }

    /// ChannelCreated with the temporary id, RemoteTxComplete with the final one, the commitments, and ChannelReady
    /// when the chain has confirmed. A step finds the channel as the last one left it, or does nothing.
    func begin(_ channel: Channel) throws {
        channels.append(channel)
        try save(channel)
        let id = channel.temporaryID
        emitAbout(channel, "ChannelCreated", id: id)
        later { node in
            guard let index = node.index(id, in: .negotiating) else { return }
            try node.fund(index)
        }
    }

    /// The wallet gives what the channel takes, or the opening is over: it is asked this late by the real node too.
    func fund(_ index: Int) throws {
        guard channels[index].cost <= wallet else { return try abort(index, "Funding transaction aborted") }
        channels[index].spent = Amount(channels[index].cost)
        channels[index].state = .collaborating
        try save(channels[index])
        let id = channels[index].temporaryID
        later { try $0.agreeOnFunding(id, from: .collaborating) }
    }

    /// The funding transaction is complete.
    func agreeOnFunding(_ id: Hash256, from state: ChannelState) throws {
        guard let channel = try advance(id, from: state, to: .signing) else { return }
        emitAbout(channel, "RemoteTxComplete", redacted: true)
        later { node in
            guard let channel = try node.advance(id, from: .signing, to: .awaitingSignatures) else { return }
            node.emitAbout(channel, "RemoteCommitmentSigned", redacted: true)
            node.later { try $0.publishFunding(id) }
        }
    }

    /// Both have signed, and the funding transaction goes to the chain.
    func publishFunding(_ id: Hash256) throws {
        guard let channel = index(id, in: .awaitingSignatures).map({ channels[$0] }), isOnline(channel),
            let signed = try advance(id, from: .awaitingSignatures, to: .awaitingReady)
        else { return }
        emit(["kind": "LocalCommitmentSigned", "channel_id": JSON(signed.id), "redacted": .bool(true)])
        later(configuration.simulation.confirmation) { try $0.confirmFunding(id) }
    }

    /// The chain has confirmed. While the peer is away, the channel becomes ready when it is back.
    func confirmFunding(_ id: Hash256) throws {
        guard let channel = index(id, in: .awaitingReady).map({ channels[$0] }), isOnline(channel),
            let ready = try advance(id, from: .awaitingReady, to: .ready)
        else { return }
        emitAbout(ready, "ChannelReady", outpoint: true)
    }

    /// An opening that a restart interrupted before anything binding was exchanged is over.
    func failInterruptedOpenings() {
        for index in channels.indices where channels[index].state.isFragile {
            do { try abort(index) } catch { Standard.error("a panic in the simulated node: \(error)") }
        }
    }

    /// An opening failed.
    func abort(_ index: Int, _ detail: String = "Peer disconnected during channel opening") throws {
        let id = channels[index].spokenID
        channels[index].state = .aborted
        channels[index].failure = detail
        channels[index].spent = Amount(0)
        try save(channels[index])
        emit(["kind": "ChannelFundingAborted", "channel_id": JSON(id)])
    }
}
