/// The words of refusals that no description of the node states. They are guesses in the node's manner: a program may
/// show them, but must not tell anything by them.
enum UnstatedText {
    static let settleUnknown = "Invoice not found"
    static let settleMismatch = "Hash mismatch"

    /// An invoice that no payment waits for.
    static func settle(status: String) -> String {
        status == "Open" ? "Invoice is still open" : "Invoice is already \(status.lowercased())"
    }

    static let noFunding = "The funding amount of a UDT channel should be greater than 0"
    static let closingFee = "InvalidParameter: Local balance is not enough to pay the fee"
    /// The TLC error of a payment whose channel ended by force.
    static let channelFailure = "PermanentChannelFailure"

    /// Terms that leave too little time.
    static func expiryDelta(_ delta: UInt64) -> String {
        "TLC expiry delta is too small, expect larger than 9600000, got \(delta)"
    }

    /// A channel that cannot be closed this way now.
    static func shutdown(_ state: ChannelState) -> String {
        "InvalidState: Trying to send shutdown message while in invalid state, expecting state ChannelReady, "
            + "but got \(state.name)"
    }

    /// A channel whose terms cannot be changed now.
    static func update(_ state: ChannelState) -> String {
        "InvalidState: Expecting state ChannelReady, but got \(state.name)"
    }

    /// A channel whose peer is not there.
    static func offline(_ pubkey: Pubkey) -> String { "Peer \(pubkey.debugPrint) is not connected" }

    static let routerAmount = "Invalid amount"
    static let routerHops = "Hops are empty or too many"
    static let finalExpiryDelta =
        "final_tlc_expiry_delta should be between 9600000 and 1209600000"

    static let fundingUnsigned = "InvalidParameter: The funding transaction is not signed"

    /// A funding transaction for a channel that nobody knows.
    static func fundingUnknown(_ id: Hash256) -> String { "Channel not found error: \(id.debugPrint)" }

    /// A funding transaction for a channel that waits for none.
    static func fundingState(_ state: ChannelState) -> String {
        "InvalidState: Expecting a channel that awaits external funding, but got \(state.name)"
    }

    /// A funding transaction that is not the one that was given out.
    static func fundingChanged(_ field: String) -> String {
        "InvalidParameter: The signed funding transaction differs from the unsigned one in \(field)"
    }
}
