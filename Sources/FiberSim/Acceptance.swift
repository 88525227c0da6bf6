import CFiber

/// What fiber_accept_channel is asked for.
struct AcceptChannelRequest: Sendable {
    let parameters: RequestParameters
    let temporaryID: Hash256

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        guard let id = try parameters.hash("temporary_channel_id") else {
            throw Refusal.invalidOptions("missing field `temporary_channel_id`")
        }
        temporaryID = id
        _ = try parameters.script("shutdown_script")
    }
}

/// Channels that peers want.
extension SimNode {
    /// A peer asks for a channel (`fiber_sim_control`). The node accepts by itself what is large enough; the rest waits
    /// for fiber_accept_channel. The answer is the temporary id.
    func peerOpens(_ name: String, funding: UInt128, isPublic: Bool) throws -> Hash256 {
        guard let peer = peers.values.first(where: { $0.simulated.name == name }) else {
            throw Refusal.invalid("simulator: no peer named \"\(name)\"")
        }
        guard peer.hasInitialised else { throw Refusal.invalid("simulator: \(name) is not connected") }
        guard funding >= Channel.minimumFunding else {
            throw Refusal.invalid("simulator: a channel takes at least \(Channel.minimumFunding) shannons")
        }
        var channel = Channel(
            temporaryID: .random(), id: .random(), pubkey: peer.pubkey, funding: Amount(0),
            peerFunding: Amount(funding), isPublic: isPublic, isOneWay: false, isAcceptor: true, udt: nil,
            tlcExpiryDelta: UInt64(configuration.tlcExpiryDelta),
            tlcFee: Amount(UInt128(configuration.tlcFeeProportionalMillionths)), createdAt: nextCreation(),
            state: .requested, local: Amount(0), remote: Amount(funding - Channel.minimumFunding))
        channel.fundingFee = Amount(0)
        channel.closingFee = Amount(0)
        channels.append(channel)
        let own = UInt128(configuration.autoAcceptFunding)
        if own >= Channel.minimumFunding, funding >= UInt128(configuration.openChannelAutoAcceptMinimum) {
            try accept(channels.count - 1, funding: own)
        } else {
            try save(channel)
            emitAbout(channel, "ChannelPendingToBeAccepted", id: channel.temporaryID)
        }
        return channel.temporaryID
    }

    /// Accepts what a peer asked for; the answer is the final id.
    func acceptChannel(_ request: AcceptChannelRequest) throws -> String {
        let parameters = request.parameters
        guard let index = index(request.temporaryID, in: .requested) else {
            throw Refusal.rpc(
                "InvalidParameter: No channel with temp id \(request.temporaryID.debugPrint) found",
                request: parameters.json)
        }
        let funding = try checkedFunding(parameters, isUDT: false)
        let terms = try checkedTerms(parameters)
        channels[index].tlcExpiryDelta = terms.delta
        channels[index].tlcFee = terms.fee
        channels[index].tlcMinimum = terms.minimum
        channels[index].paysWallet = parameters["shutdown_script"] == nil
        try accept(index, funding: funding)
        return channels[index].id.description
    }

    private func accept(_ index: Int, funding: UInt128) throws {
        channels[index].funding = Amount(funding)
        channels[index].local = Amount(funding - Channel.minimumFunding)
        channels[index].state = .collaborating
        emitAbout(channels[index], "ChannelCreated")
        try fund(index)
    }
}
