import CFiber

/// A channel, from the request on.
struct Channel: Codable, Sendable {
    /// At least 99 CKB, which stay locked as the reserve of the side that funded them.
    static let minimumFunding: UInt128 = 9_900_000_000

    /// What a transaction of 1000 weight, as the simulated ones are, costs at a rate of shannons per 1000 weight.
    static func transactionFee(rate: UInt64) -> UInt128 { UInt128(rate) }

    let temporaryID: Hash256
    let id: Hash256
    let pubkey: Pubkey
    /// What this side gives; 0 until an inbound request is accepted.
    var funding: Amount
    /// What the peer gives. 99 CKB when it is not the one who wanted the channel.
    var peerFunding = Amount(Channel.minimumFunding)
    let isPublic: Bool
    let isOneWay: Bool
    var isAcceptor = false
    let udt: JSON?
    var tlcExpiryDelta: UInt64
    var tlcFee: Amount
    var tlcMinimum = Amount(0)
    /// Microseconds since 1970, so that the order of creation is kept.
    let createdAt: Int64
    var state = ChannelState.negotiating
    /// What fiber_update_channel says last; only a ready channel is enabled in fact.
    var isEnabled = true
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
    /// What the funding and the closing transaction cost this side, in shannons.
    var fundingFee = Amount(Channel.transactionFee(rate: 1000))
    var closingFee = Amount(Channel.transactionFee(rate: 1000))
    /// Whether the money goes back to the funding wallet; not when another script was named for it.
    var paysWallet = true
    var shutdownTransaction: Hash256?
    /// The transaction that somebody else is to sign, as it was given out.
    var unsignedFunding: JSON?

    /// What inbound TLCs hold.
    var received: UInt128 { inbound.reduce(0) { $0 + $1.amount.value } }
    /// Whether nothing is under way in it.
    var isDrained: Bool { offered.value == 0 && inbound.isEmpty }
    /// What the wallet has to give: the funding of a CKB channel, the reserve of one for a UDT, and the fee.
    var cost: UInt128 { (udt == nil ? funding.value : Channel.minimumFunding) + fundingFee.value }
    /// What this side has in CKB when the channel is closed: its balance and the reserve.
    var capacity: UInt128 { (udt == nil ? local.value : 0) + Channel.minimumFunding }
    /// The funding transaction's first output.
    var outpoint: String { id.outpoint }
}

extension Hash256 {
    /// The transaction that funds the channel with this id.
    var fundingTransaction: Hash256 { Hash256(SimulatedDigest.of([Array("funding".utf8), bytes])) }
    /// The outpoint with that transaction and index 0, in hex.
    var outpoint: String { fundingTransaction.description + "00000000" }
}
