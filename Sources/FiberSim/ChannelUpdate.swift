import CFiber

/// What fiber_update_channel is asked for.
struct UpdateChannelRequest: Sendable {
    let parameters: RequestParameters
    let id: Hash256

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        guard let id = try parameters.hash("channel_id") else {
            throw Refusal.invalidOptions("missing field `channel_id`")
        }
        self.id = id
    }
}

extension SimNode {
    /// Changes the terms of a public channel. Whoever does not say that it stays disabled enables it.
    func updateChannel(_ request: UpdateChannelRequest) throws {
        let parameters = request.parameters
        func refuse(_ text: String) -> Refusal { .rpc("InvalidParameter: \(text)", request: parameters.json) }
        let index = try liveIndex(request.id, parameters)
        guard channels[index].isPublic else { throw refuse("Only public channel can be updated") }
        guard channels[index].state == .ready else {
            throw Refusal.rpc(UnstatedText.update(channels[index].state), request: parameters.json)
        }
        let delta = parameters.number("tlc_expiry_delta") ?? channels[index].tlcExpiryDelta
        guard delta >= 9_600_000 else { throw refuse(UnstatedText.expiryDelta(delta)) }
        channels[index].tlcExpiryDelta = delta
        channels[index].isEnabled = parameters.bool("enabled") ?? true
        if let minimum = parameters.amount("tlc_minimum_value") { channels[index].tlcMinimum = Amount(minimum) }
        if let fee = parameters.amount("tlc_fee_proportional_millionths") { channels[index].tlcFee = Amount(fee) }
        try save(channels[index])
    }
}
