import CFiber
import Linux

/// The simulated node itself: its peers, channels, payments, invoices and its view of the chain. What it does is in the
/// files named so: Peers; Opening, Acceptance, ExternalFunding, Channels, ChannelUpdate and Closing; Payments, Router
/// and InboundPayments; Invoices; Readiness. This file has what it is.
final class SimNode: @unchecked Sendable {
    // Safe: after `init` all state is touched on the node's thread alone (`RunningNode.inspect`, `later`).
    let configuration: Configuration
    let pubkey: Pubkey
    /// The peers that this node knows an address of.
    var peers: [Pubkey: Peer] = [:]
    /// In the order in which they were begun.
    var channels: [Channel] = []
    var payments: [Hash256: Payment] = [:]
    var invoices: [Hash256: Invoice] = [:]
    /// How many payment sessions were begun, readable from any thread.
    let paymentsMade: Lock<Int>

    var chain: SimulatedChain
    var waitEstimate = WaitEstimate()
    /// The file of the funding key, which is read again whenever the wallet is asked.
    let keyPath: String

    private let store: Store
    private let thread: NodeThread
    private let events: EventQueue?
    private let listening: String

    /// How long a message takes to a peer inside the library.
    static let networkDelay = Duration.milliseconds(5)

    init(
        _ configuration: Configuration, pubkey: Pubkey, keyPath: String, listening: String, store: Store,
        thread: NodeThread, events: EventQueue?, paymentsMade: Lock<Int>
    ) throws {
        self.configuration = configuration
        self.pubkey = pubkey
        self.keyPath = keyPath
        chain = SimulatedChain(configuration.simulation.chain)
        self.listening = listening
        self.store = store
        self.thread = thread
        self.events = events
        self.paymentsMade = paymentsMade
        channels = try store.read(.channel, as: Channel.self).sorted { $0.createdAt < $1.createdAt }
        for payment in try store.read(.payment, as: Payment.self) { payments[payment.hash] = payment }
        for invoice in try store.read(.invoice, as: Invoice.self) { invoices[invoice.hash] = invoice }
        for peer in configuration.simulation.peers {
            peers[peer.pubkey] = Peer(pubkey: peer.pubkey, address: peer.address, simulated: peer)
        }
        for saved in try store.read(.peer, as: SavedPeer.self) where peers[saved.pubkey] != nil {
            peers[saved.pubkey]?.isSaved = true
        }
        let sessions = payments.values.reduce(0) { $0 + $1.sessions }
        paymentsMade.withLock { $0 = sessions }
    }

    /// The network comes up, and the peers that belong to this node are dialled.
    func begin() {
        let identified = "\(listening)/p2p/\(pubkey.peerID)"
        let addresses = [identified, "\(listening)/ws/p2p/\(pubkey.peerID)"].map(JSON.string)
        emit([
            "kind": "NetworkStarted", "pubkey": JSON(pubkey), "listening_addrs": .array(addresses),
            "announced_addrs": .array(configuration.announcedAddresses.map(JSON.string)),
        ])
        Log.write("node \(pubkey) on \(identified)")
        failInterruptedOpenings()
        watchClosings()
        for peer in configuration.simulation.peers.map(\.pubkey) where isDialledAtStart(peer) {
            later { $0.connectionStands(peer) }
        }
    }

    /// The network goes down. The store is closed when the node goes.
    func end() { emit(["kind": "NetworkStopped", "pubkey": JSON(pubkey)]) }

    /// Queues an event for the program.
    func emit(_ event: JSON) { events?.post(event) }

    /// Does something in a while, unless the node is stopped before.
    func later(_ delay: Duration = networkDelay, _ body: @escaping @Sendable (SimNode) throws -> Void) {
        thread.after(delay) { [self] in
            // What fails here is the store, where the real node panics too.
            do { try body(self) } catch { Standard.error("a panic in the simulated node: \(error)") }
        }
    }

    /// Writes a channel as it is now.
    func save(_ channel: Channel) throws { try store.write(.channel, id: channel.temporaryID.description, channel) }
    /// Writes an invoice.
    func save(_ invoice: Invoice) throws { try store.write(.invoice, id: invoice.hash.description, invoice) }
    /// Writes a channel and the invoice that was paid through it, in one transaction.
    func save(_ channel: Channel, _ invoice: Invoice?) throws {
        try store.transaction {
            try save(channel)
            if let invoice { try save(invoice) }
        }
    }
    /// Writes the address of a peer that is to be dialled at every start.
    func save(_ peer: SavedPeer) throws { try store.write(.peer, id: peer.pubkey.description, peer) }
    /// Writes a payment and the channel that it moved, in one transaction.
    func save(_ payment: Payment, _ channel: Channel? = nil) throws {
        try store.transaction {
            try store.write(.payment, id: payment.hash.description, payment)
            if let channel { try save(channel) }
        }
    }

    /// Milliseconds since 1970.
    static var now: Int64 { WallClock.microseconds / 1000 }

    /// The answer of fiber_node_info.
    func nodeInfo() -> JSON {
        [
            "version": .string(versionString), "commit_hash": "simulated 2026-11-30", "simulated": .bool(true),
            "pubkey": JSON(pubkey),
            "features": ["GOSSIP_QUERIES_REQUIRED", "BASIC_MPP_REQUIRED", "TRAMPOLINE_ROUTING_REQUIRED"],
            "node_name": JSON(configuration.nodeName),
            "addresses": .array(configuration.announcedAddresses.map(JSON.string)),
            "chain_hash": .string(configuration.chain.hash),
            "open_channel_auto_accept_min_ckb_funding_amount": JSON(configuration.openChannelAutoAcceptMinimum),
            "auto_accept_channel_ckb_funding_amount": JSON(configuration.autoAcceptFunding),
            "tlc_expiry_delta": JSON(configuration.tlcExpiryDelta),
            "tlc_min_value": JSON(configuration.tlcMinimumValue),
            "tlc_fee_proportional_millionths": JSON(configuration.tlcFeeProportionalMillionths),
            "channel_count": JSON(channels.count { $0.state == .ready }),
            "pending_channel_count": JSON(channels.count { $0.state.isOpening }),
            "peers_count": JSON(peers.values.count(where: \.isConnected)),
            "udt_cfg_infos": .array(configuration.udtWhitelist),
        ]
    }

    /// What the text of status 6 carries.
    static let unreadiness: JSON = [
        "ready": .bool(false), "mode": "external_rpc", "tip_block_number": .integer(18_000_000),
        "indexed_block_number": .integer(17_999_999), "lag": .integer(1), "max_acceptable_lag": .integer(0),
        "wait_estimate": [
            "lower_seconds": .integer(3), "upper_seconds": .integer(60), "retry_after_seconds": .integer(3),
            "confidence": "low",
        ],
        "reason": "CKB indexer is 1 block(s) behind the chain tip; maximum acceptable lag is 0",
    ]
}

extension JSON {
    /// A key in the form of the node.
    init(_ pubkey: Pubkey) { self = .string(pubkey.description) }
    /// A hash in the form of the node.
    init(_ hash: Hash256) { self = .string(hash.description) }
}
