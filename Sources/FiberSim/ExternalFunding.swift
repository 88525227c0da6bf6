import CFiber

/// What fiber_submit_signed_funding_tx is asked for.
struct SubmitFundingRequest: Sendable {
    static let fields = ["version", "cell_deps", "header_deps", "inputs", "outputs", "outputs_data", "witnesses"]

    let parameters: RequestParameters
    let id: Hash256
    let transaction: [String: JSON]

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        guard let id = try parameters.hash("channel_id") else {
            throw Refusal.invalidOptions("missing field `channel_id`")
        }
        self.id = id
        transaction = try parameters.object("signed_funding_tx") ?? [:]
        for field in Self.fields where transaction[field] == nil {
            throw Refusal.invalidOptions("missing field `\(field)`")
        }
        guard case .array(let witnesses)? = transaction["witnesses"] else {
            throw Refusal.invalidOptions("invalid type, expected a sequence")
        }
        for witness in witnesses { _ = try RequestParameters.hexBytes(witness) }
    }
}

/// Channels whose funding somebody else signs. The wallet gives nothing for them and gets nothing back.
extension SimNode {
    /// Begins to open a channel and answers the transaction to be signed. It waits for nobody's readiness.
    func openChannelWithExternalFunding(_ request: OpenChannelRequest) throws -> JSON {
        var channel = try requestedChannel(request)
        channel.fundingFee = Amount(0)
        channel.paysWallet = false
        channel.state = .awaitingFunding
        let transaction = unsignedFunding(of: channel, request.parameters)
        channel.unsignedFunding = transaction
        channels.append(channel)
        try save(channel)
        emitAbout(channel, "ChannelCreated", id: channel.temporaryID)
        let id = channel.temporaryID
        later(configuration.externalFundingTimeout) { node in
            guard let index = node.index(id, in: .awaitingFunding) else { return }
            try node.abort(index, "Funding transaction aborted")
        }
        return ["channel_id": JSON(channel.id), "unsigned_funding_tx": transaction]
    }

    /// Takes the signed transaction, which must be the one that was given out, and goes on with the opening.
    func submitSignedFunding(_ request: SubmitFundingRequest) throws -> JSON {
        func refuse(_ text: String) -> Refusal { .rpc(text, request: request.parameters.json) }
        guard let index = channels.firstIndex(where: { $0.id == request.id }) else {
            throw refuse(UnstatedText.fundingUnknown(request.id))
        }
        let channel = channels[index]
        guard channel.state == .awaitingFunding, case .object(let unsigned)? = channel.unsignedFunding else {
            throw refuse(UnstatedText.fundingState(channel.state))
        }
        for field in SubmitFundingRequest.fields where field != "witnesses" {
            guard request.transaction[field] == unsigned[field] else {
                throw refuse(UnstatedText.fundingChanged(field))
            }
        }
        guard case .array(let witnesses)? = request.transaction["witnesses"], witnesses.contains(where: { $0 != "0x" })
        else { throw refuse(UnstatedText.fundingUnsigned) }
        channels[index].state = .collaborating
        try save(channels[index])
        let id = channel.temporaryID
        later { try $0.agreeOnFunding(id, from: .collaborating) }
        return ["channel_id": JSON(channel.id), "funding_tx_hash": JSON(channel.id.fundingTransaction)]
    }

    /// One cell of the one who funds goes in, and comes out as the channel and what is left of it.
    private func unsignedFunding(of channel: Channel, _ parameters: RequestParameters) -> JSON {
        let capacity =
            (channel.udt == nil ? channel.funding.value : Channel.minimumFunding) + channel.peerFunding.value
        let cell = SimulatedDigest.of([Array("cell".utf8), channel.id.bytes])
        let lock: JSON = [
            "code_hash": JSON(Hash256(SimulatedDigest.of([Array("the simulated funding lock".utf8)]))),
            "hash_type": "type", "args": .string("0x" + Array(channel.id.bytes.prefix(20)).hex),
        ]
        let data =
            channel.udt == nil
            ? "0x" : "0x" + withUnsafeBytes(of: channel.funding.value.littleEndian, Array.init).hex
        return [
            "version": "0x0", "cell_deps": parameters["funding_lock_script_cell_deps"] ?? [], "header_deps": [],
            "inputs": [["previous_output": ["tx_hash": JSON(Hash256(cell)), "index": "0x0"], "since": "0x0"]],
            "outputs": [
                ["capacity": JSON(hex: capacity), "lock": lock, "type": channel.udt ?? .null],
                [
                    "capacity": JSON(hex: Channel.minimumFunding), "lock": parameters["funding_lock_script"] ?? .null,
                    "type": .null,
                ],
            ],
            "outputs_data": [.string(data), "0x"], "witnesses": ["0x"],
        ]
    }
}
