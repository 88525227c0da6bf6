import CFiber

/// A channel, from the request on.
struct Channel: Codable, Sendable {
    /// At least 99 CKB, which stay locked as the reserve.
    static let minimumFunding: UInt128 = 9_900_000_000

    /// Where a channel stands. The states in which the real node stays for a moment only are left out.
    enum State: String, Codable {
        /// Requested; there is only the temporary id.
        case negotiating
        /// The funding transaction is agreed.
        case signing
        /// The funding transaction is on its way into the chain.
        case awaitingReady
        case ready
        /// The opening failed.
        case aborted

        var isOpening: Bool { self == .negotiating || self == .signing || self == .awaitingReady }
        var isLive: Bool { self == .awaitingReady || self == .ready }
    }

    let temporaryID: Hash256
    let id: Hash256
    let pubkey: Pubkey
    let funding: Amount
    let isPublic: Bool
    let isOneWay: Bool
    let udt: JSON?
    let tlcExpiryDelta: UInt64
    let tlcFee: Amount
    /// Microseconds since 1970, so that the order of creation is kept.
    let createdAt: Int64
    var state = State.negotiating
    var failure: String?
    var local: Amount
    var remote = Amount(0)
    /// What outbound TLCs hold.
    var offered = Amount(0)
    var nextTLC = 0
    /// What the peer has offered and is still there.
    var inbound: [InboundTLC] = []
    var nextInboundTLC = 0
    /// What the funding wallet gave for this channel, with the fee of the funding transaction.
    var spent = Amount(0)
    /// What the wallet got back when the channel was closed.
    var returned = Amount(0)
    /// What the funding transaction costs, in shannons.
    var fundingFee = Amount(Channel.transactionFee(rate: 1000))

    /// What a transaction of 1000 weight, as the simulated ones are, costs at a rate of shannons per 1000 weight.
    static func transactionFee(rate: UInt64) -> UInt128 { UInt128(rate) }

    /// What the wallet has to give: the funding of a CKB channel, the reserve of one for a UDT, and the fee.
    var cost: UInt128 { (udt == nil ? funding.value : Channel.minimumFunding) + fundingFee.value }

    /// What inbound TLCs hold.
    var received: UInt128 { inbound.reduce(0) { $0 + $1.amount.value } }

    /// The funding transaction's first output.
    var outpoint: String { id.outpoint }

    /// `state` of fiber_list_channels. A combined flag appears as soon as one of its bits is set.
    var stateObject: JSON {
        switch state {
        case .negotiating: ["state_name": "NegotiatingFunding", "state_flags": "OUR_INIT_SENT|INIT_SENT"]
        case .signing:
            ["state_name": "SigningCommitment", "state_flags": "OUR_COMMITMENT_SIGNED_SENT|COMMITMENT_SIGNED_SENT"]
        case .awaitingReady: ["state_name": "AwaitingChannelReady", "state_flags": ""]
        case .ready: ["state_name": "ChannelReady"]
        case .aborted: ["state_name": "Closed", "state_flags": "FUNDING_ABORTED"]
        }
    }
}

extension Hash256 {
    /// The outpoint with this transaction and index 0, in hex; what transaction that is follows from the channel id.
    var outpoint: String {
        "0x" + SimulatedDigest.of([Array("funding".utf8), bytes]).hex + "00000000"
    }
}

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
        try parameters.refusePlainNumber("commitment_delay_epoch")
    }
}

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

extension SimNode {
    /// Begins to open a channel; the answer is the temporary id.
    func openChannel(_ request: OpenChannelRequest) throws -> String {
        try refuseUnlessReady()
        let parameters = request.parameters
        func refuse(_ text: String) -> Refusal { .rpc("InvalidParameter: \(text)", request: parameters.json) }
        guard peers[request.pubkey]?.hasInitialised == true else {
            throw refuse(
                "Peer \(request.pubkey.debugPrint)'s feature not found, waiting for peer to send Init message")
        }
        let funding = parameters.amount("funding_amount") ?? 0
        if let udt = request.udt {
            guard configuration.udtWhitelist.contains(where: { $0["script"] == udt }) else {
                throw refuse("Invalid UDT type script")
            }
            guard funding > 0 else { throw refuse("The funding amount of a UDT channel should be greater than 0") }
        } else {
            guard funding >= Channel.minimumFunding else {
                throw refuse(
                    "The funding amount (\(funding)) should be greater than or equal to \(Channel.minimumFunding)")
            }
            guard funding < UInt128(UInt64.max) else {
                throw refuse("The funding amount (\(funding)) should be less than \(UInt64.max)")
            }
        }
        let isPublic = parameters.bool("public") ?? true
        let isOneWay = parameters.bool("one_way") ?? false
        if isPublic && isOneWay { throw refuse("An one-way channel cannot be public") }
        let delta = parameters.number("tlc_expiry_delta") ?? UInt64(configuration.tlcExpiryDelta)
        guard delta >= 9_600_000 else {
            throw refuse("TLC expiry delta is too small, expect larger than 9600000, got \(delta)")
        }
        guard parameters.number("max_tlc_number_in_flight") ?? 125 <= 253 else {
            throw refuse("The max tlc number in flight should be less than or equal to 253")
        }
        let fee = parameters.amount("tlc_fee_proportional_millionths")
        var channel = Channel(
            temporaryID: .random(), id: .random(), pubkey: request.pubkey, funding: Amount(funding),
            isPublic: isPublic, isOneWay: isOneWay, udt: request.udt, tlcExpiryDelta: delta,
            tlcFee: Amount(fee ?? UInt128(configuration.tlcFeeProportionalMillionths)), createdAt: nextCreation(),
            local: Amount(request.udt == nil ? funding - Channel.minimumFunding : funding))
        channel.fundingFee = Amount(Channel.transactionFee(rate: parameters.number("funding_fee_rate") ?? 1000))
        return try open(channel)
    }

    /// The channel that the configuration wants with this peer is opened once.
    func openConfiguredChannel(to pubkey: Pubkey) throws {
        guard let funding = peers[pubkey]?.simulated.channel?.value,
            !channels.contains(where: { $0.pubkey == pubkey && $0.state != .aborted })
        else { return }
        _ = try open(
            Channel(
                temporaryID: .random(), id: .random(), pubkey: pubkey, funding: Amount(funding), isPublic: true,
                isOneWay: false, udt: nil, tlcExpiryDelta: UInt64(configuration.tlcExpiryDelta),
                tlcFee: Amount(UInt128(configuration.tlcFeeProportionalMillionths)), createdAt: nextCreation(),
                local: Amount(funding - Channel.minimumFunding)))
    }

    private func nextCreation() -> Int64 { max(SimNode.now * 1000, (channels.last?.createdAt ?? 0) + 1) }

    /// ChannelCreated with the temporary id, RemoteTxComplete with the final one, the commitments, and ChannelReady
    /// when the chain has confirmed. A step finds the channel as the last one left it, or does nothing.
    private func open(_ channel: Channel) throws -> String {
        channels.append(channel)
        try save(channel)
        let id = channel.temporaryID
        emitAbout(channel, "ChannelCreated", id: id)
        later { try $0.agreeOnFunding(id) }
        return id.description
    }

    private func agreeOnFunding(_ id: Hash256) throws {
        guard let index = channels.firstIndex(where: { $0.temporaryID == id && $0.state == .negotiating }) else {
            return
        }
        // The wallet is asked this late, as by the real node.
        guard channels[index].cost <= wallet else { return try abort(index, "Funding transaction aborted") }
        channels[index].spent = Amount(channels[index].cost)
        guard let channel = try advance(id, from: .negotiating, to: .signing) else { return }
        emitAbout(channel, "RemoteTxComplete", redacted: true)
        later { try $0.signCommitments(id) }
    }

    private func signCommitments(_ id: Hash256) throws {
        guard let channel = try advance(id, from: .signing, to: .awaitingReady) else { return }
        emitAbout(channel, "RemoteCommitmentSigned", redacted: true)
        emit(["kind": "LocalCommitmentSigned", "channel_id": JSON(channel.id), "redacted": .bool(true)])
        later(configuration.simulation.confirmation) { try $0.confirmFunding(id) }
    }

    private func confirmFunding(_ id: Hash256) throws {
        // Confirmed while the peer is away: the channel becomes ready when it is back.
        guard let channel = channels.first(where: { $0.temporaryID == id }), isOnline(channel),
            let ready = try advance(id, from: .awaitingReady, to: .ready)
        else { return }
        emitAbout(ready, "ChannelReady", outpoint: true)
    }

    private func advance(_ id: Hash256, from old: Channel.State, to new: Channel.State) throws -> Channel? {
        guard let index = channels.firstIndex(where: { $0.temporaryID == id && $0.state == old }) else { return nil }
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
            if channel.state == .ready {
                emitAbout(channel, "ChannelOnline", outpoint: true)
                emitAbout(channel, "ChannelReady", outpoint: true)
            } else {
                let id = channel.temporaryID
                later(configuration.simulation.confirmation) { try $0.confirmFunding(id) }
            }
            resumePayments(through: channel.id)
            answerAll(in: channel)
        }
    }

    /// A connection ended.
    func channelsWentOffline(with pubkey: Pubkey) throws {
        for index in channels.indices where channels[index].pubkey == pubkey {
            switch channels[index].state {
            case .ready: emitAbout(channels[index], "ChannelOffline", outpoint: true)
            case .negotiating, .signing: try abort(index)
            case .awaitingReady, .aborted: continue
            }
        }
    }

    /// An opening that a restart interrupted before the funding transaction was out is over.
    func failInterruptedOpenings() {
        for index in channels.indices where channels[index].state == .negotiating || channels[index].state == .signing {
            do { try abort(index) } catch { Standard.error("a panic in the simulated node: \(error)") }
        }
    }

    private func abort(_ index: Int, _ detail: String = "Peer disconnected during channel opening") throws {
        let id = channels[index].state == .negotiating ? channels[index].temporaryID : channels[index].id
        channels[index].state = .aborted
        channels[index].failure = detail
        channels[index].spent = Amount(0)
        try save(channels[index])
        emit(["kind": "ChannelFundingAborted", "channel_id": JSON(id)])
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
            case .negotiating: request.onlyPending
            case .signing, .awaitingReady: true
            case .ready: !request.onlyPending
            case .aborted: request.onlyPending || request.includesClosed
            }
        }
        return ["channels": .array(chosen.map(listed))]
    }

    private func listed(_ channel: Channel) -> JSON {
        let isRequest = channel.state == .negotiating
        let hasFunding = channel.state == .signing || channel.state.isLive
        let pending = payments.values.filter { $0.channelID == channel.id && $0.status == .inflight }
        return [
            "channel_id": JSON(isRequest ? channel.temporaryID : channel.id), "is_public": .bool(channel.isPublic),
            "is_acceptor": .bool(false), "is_one_way": .bool(channel.isOneWay),
            "channel_outpoint": hasFunding ? .string(channel.outpoint) : .null, "pubkey": JSON(channel.pubkey),
            "funding_udt_type_script": channel.udt ?? .null, "state": channel.stateObject,
            "local_balance": JSON(hex: isRequest ? channel.funding.value : channel.local.value),
            "offered_tlc_balance": JSON(hex: channel.offered.value),
            "remote_balance": JSON(hex: channel.remote.value), "received_tlc_balance": JSON(hex: channel.received),
            "pending_tlcs": .array(
                pending.sorted { $0.tlcID < $1.tlcID }.map(\.pendingTLC) + channel.inbound.map(\.pendingTLC)),
            "latest_commitment_transaction_hash": hasFunding
                ? JSON(Hash256(SimulatedDigest.of([channel.id.bytes, Array("\(channel.nextTLC)".utf8)]))) : .null,
            "created_at": JSON(hex: channel.createdAt / 1000), "enabled": .bool(channel.state == .ready),
            "tlc_expiry_delta": JSON(hex: channel.tlcExpiryDelta),
            "tlc_fee_proportional_millionths": JSON(hex: channel.tlcFee.value), "shutdown_transaction_hash": .null,
            "failure_detail": JSON(channel.failure),
        ]
    }
}
