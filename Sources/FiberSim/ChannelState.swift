/// Where a channel stands, in the order of a channel's life. The raw values are stored.
enum ChannelState: String, Codable, CaseIterable {
    /// We asked for it; there is only the temporary id.
    case negotiating
    /// The peer asked for it, and the program has to accept it.
    case requested
    /// Somebody else is to sign the funding transaction.
    case awaitingFunding
    /// Both sides put the funding transaction together.
    case collaborating
    /// It is agreed, and the commitments are signed.
    case signing
    /// Our signature of the funding transaction is out.
    case awaitingSignatures
    /// The funding transaction is on its way into the chain.
    case awaitingReady
    case ready
    /// We want to close it, and the peer has not answered.
    case shuttingDown
    /// Both want to close it, and wait for the TLCs that are under way.
    case draining
    /// The closing transaction is on its way into the chain.
    case dropping
    /// Our commitment transaction is on its way into the chain.
    case forcing
    /// It is in the chain, and its delay has to pass.
    case settling
    /// Closed with the peer's consent.
    case closed
    /// Closed without it, and the money is back.
    case forceClosed
    /// The opening failed.
    case aborted
    /// The program gave the opening up.
    case abandoned

    /// Whether it has yet to become ready.
    var isOpening: Bool {
        switch self {
        case .negotiating, .requested, .awaitingFunding, .collaborating, .signing, .awaitingSignatures, .awaitingReady:
            true
        case .ready, .shuttingDown, .draining, .dropping, .forcing, .settling, .closed, .forceClosed, .aborted,
            .abandoned:
            false
        }
    }

    /// Whether the opening is over when the connection is, since nothing binding was exchanged.
    var isFragile: Bool { isOpening && !isLive }

    /// Whether it is spoken of with the peer again after a reconnection.
    var isLive: Bool {
        switch self {
        case .awaitingSignatures, .awaitingReady, .ready, .shuttingDown, .draining, .dropping: true
        case .negotiating, .requested, .awaitingFunding, .collaborating, .signing, .forcing, .settling, .closed,
            .forceClosed, .aborted, .abandoned:
            false
        }
    }

    /// Whether the peer's coming and going is told as the channel's.
    var isOnline: Bool { isLive && !isOpening }

    /// The node's name of it.
    var name: String { names.state }

    /// `state` of fiber_list_channels.
    var json: JSON {
        let (state, flags) = names
        return flags.map { ["state_name": .string(state), "state_flags": .string($0)] } ?? [
            "state_name": .string(state)
        ]
    }

    /// Name and flags. A combined flag appears as soon as one of its bits is set.
    private var names: (state: String, flags: String?) {
        switch self {
        case .negotiating: ("NegotiatingFunding", "OUR_INIT_SENT|INIT_SENT")
        case .requested: ("NegotiatingFunding", "THEIR_INIT_SENT|INIT_SENT")
        case .awaitingFunding:
            ("NegotiatingFunding", "OUR_INIT_SENT|THEIR_INIT_SENT|INIT_SENT|AWAITING_EXTERNAL_FUNDING")
        case .collaborating: ("CollaboratingFundingTx", "AWAITING_REMOTE_TX_COLLABORATION_MSG")
        case .signing: ("SigningCommitment", "OUR_COMMITMENT_SIGNED_SENT|COMMITMENT_SIGNED_SENT")
        case .awaitingSignatures: ("AwaitingTxSignatures", "OUR_TX_SIGNATURES_SENT|TX_SIGNATURES_SENT")
        case .awaitingReady: ("AwaitingChannelReady", "")
        case .ready: ("ChannelReady", nil)
        case .shuttingDown: ("ShuttingDown", "OUR_SHUTDOWN_SENT|AWAITING_PENDING_TLCS")
        case .draining: ("ShuttingDown", "OUR_SHUTDOWN_SENT|THEIR_SHUTDOWN_SENT|AWAITING_PENDING_TLCS")
        case .dropping: ("ShuttingDown", "DROPPING_PENDING")
        case .forcing: ("ShuttingDown", "WAITING_COMMITMENT_CONFIRMATION")
        case .settling: ("Closed", "UNCOOPERATIVE_LOCAL|WAITING_ONCHAIN_SETTLEMENT")
        case .closed: ("Closed", "COOPERATIVE")
        case .forceClosed: ("Closed", "UNCOOPERATIVE_LOCAL")
        case .aborted: ("Closed", "FUNDING_ABORTED")
        case .abandoned: ("Closed", "ABANDONED")
        }
    }
}
