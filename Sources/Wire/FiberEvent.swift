/// What a Fiber node says, as a typed value.
///
/// Events are hints to read the state again: the outcome of a payment, the state of an invoice and a forced close have
/// none, and `ChannelCreated` and `ChannelReady` are repeated for every live channel whenever its peer comes back.
public enum FiberEvent: Sendable, Equatable {
    /// The node is up.
    case networkStarted(NetworkStarted)
    /// The node went down in order.
    case networkStopped(NetworkStopped)
    /// A connection stands.
    case peerConnected(PeerConnected)
    /// A connection ended.
    case peerDisconnected(PeerDisconnected)
    /// A channel is being opened, or a live one's peer is back.
    case channelCreated(ChannelCreated)
    /// A peer asks for a channel that the node does not accept by itself.
    case channelPendingToBeAccepted(ChannelPendingToBeAccepted)
    /// The funding transaction is agreed.
    case remoteTxComplete(RemoteTxComplete)
    /// A channel is usable.
    case channelReady(ChannelReady)
    /// A channel's peer is there.
    case channelOnline(ChannelOnline)
    /// A channel's peer is away.
    case channelOffline(ChannelOffline)
    /// A cooperative close is confirmed.
    case channelClosed(ChannelClosed)
    /// An opening was given up.
    case channelAbandon(ChannelAbandon)
    /// A channel's funding failed.
    case channelFundingAborted(ChannelFundingAborted)
    /// The peer revoked its last state.
    case revokeAndAckReceived(RevokeAndAckReceived)
    /// The peer signed a new state.
    case remoteCommitmentSigned(RemoteCommitmentSigned)
    /// We signed a new state.
    case localCommitmentSigned(LocalCommitmentSigned)
    /// A preimage came out.
    case preimageCreated(PreimageCreated)
    /// A preimage was dropped.
    case preimageRemoved(PreimageRemoved)
    /// For those who work on the node.
    case debugEvent(DebugEvent)
    /// A kind that this version does not know (nil: none is told), with all that it says.
    case unknown(kind: String?, payload: JSON)

    /// Reads the payload of an event of source `fiber`.
    public init(_ payload: JSON) {
        let name = payload["kind"]?.text
        let kind = FiberEvent.kinds.first { $0.name == name }
        self = kind?.decode(payload) ?? .unknown(kind: name, payload: payload)
    }

    /// One kind, whatever its type.
    public struct Kind: Sendable {
        /// As the node names it.
        public let name: String
        /// The JSON Schema of its payload.
        public let schema: JSON
        /// Reads a payload of this kind.
        let decode: @Sendable (JSON) -> FiberEvent

        fileprivate init<Event: NodeEvent>(_ wrap: @escaping @Sendable (Event) -> FiberEvent) {
            name = Event.description.kind
            schema = Event.description.schema
            decode = { wrap(Event.description.decode($0)) }
        }
    }

    /// All known kinds. The list is open: a node may say others.
    public static let kinds: [Kind] = [
        Kind(FiberEvent.networkStarted), Kind(FiberEvent.networkStopped), Kind(FiberEvent.peerConnected),
        Kind(FiberEvent.peerDisconnected), Kind(FiberEvent.channelCreated),
        Kind(FiberEvent.channelPendingToBeAccepted), Kind(FiberEvent.remoteTxComplete), Kind(FiberEvent.channelReady),
        Kind(FiberEvent.channelOnline), Kind(FiberEvent.channelOffline), Kind(FiberEvent.channelClosed),
        Kind(FiberEvent.channelAbandon), Kind(FiberEvent.channelFundingAborted),
        Kind(FiberEvent.revokeAndAckReceived), Kind(FiberEvent.remoteCommitmentSigned),
        Kind(FiberEvent.localCommitmentSigned), Kind(FiberEvent.preimageCreated), Kind(FiberEvent.preimageRemoved),
        Kind(FiberEvent.debugEvent),
    ]

    /// The result of `events.schema`: of one kind or of all. Throws `invalid_params` for a kind that is not known.
    public static func schemas(of kind: String?) throws(BusError) -> JSON {
        let wanted = kinds.filter { kind == nil || $0.name == kind }
        guard !wanted.isEmpty else {
            throw .parameter(
                "kind",
                "is none that this version knows; it would be published all the same. Known are "
                    + kinds.map(\.name).joined(separator: ", "))
        }
        return ["source": "fiber", "schemas": .object(wanted.map { JSON.Member($0.name, $0.schema) })]
    }
}
