import CFiber

/// A peer that the node knows.
struct Peer: Sendable {
    let pubkey: Pubkey
    let address: String
    let simulated: SimulatedPeer
    var isConnected = false
    /// Whether its Init message has come, which has no event and comes a moment after the connection.
    var hasInitialised = false
    var isSaved = false
}

/// A peer whose address the program asked to keep.
struct SavedPeer: Codable, Sendable {
    let pubkey: Pubkey
    let address: String
}

/// What fiber_connect_peer is asked for.
enum ConnectRequest: Sendable {
    case address(String, save: Bool)
    case pubkey(Pubkey)

    init(_ options: FiberConnectPeerOptions) throws {
        let address = try Text.optional(options.address)
        let pubkey = try Text.optional(options.pubkey)
        let type = try Text.nonEmpty(options.addr_type)
        if address?.isEmpty == true { throw Refusal.invalid("address must not be empty") }
        if pubkey?.isEmpty == true { throw Refusal.invalid("pubkey must not be empty") }
        switch (address, pubkey) {
        case (let address?, nil):
            guard Self.isMultiaddr(address) else { throw Refusal.invalid("invalid multiaddr") }
            self = .address(address, save: options.save != 0)
        case (nil, let pubkey?):
            let key = try Pubkey(parsing: pubkey)
            guard type.map({ ["tcp", "ws", "wss"].contains($0.lowercased()) }) ?? true else {
                throw Refusal.invalid("addr_type must be tcp, ws, or wss")
            }
            self = .pubkey(key)
        default: throw Refusal.invalid("exactly one of address or pubkey must be set")
        }
    }

    /// `/ip4|ip6|dns…/HOST/tcp/PORT`, then perhaps `/ws` or `/wss` and `/p2p/ID`.
    private static func isMultiaddr(_ text: String) -> Bool {
        var parts = text.split(separator: "/", omittingEmptySubsequences: false)[...]
        guard parts.popFirst() == "", let host = parts.popFirst(), parts.popFirst()?.isEmpty == false,
            ["ip4", "ip6", "dns", "dns4", "dns6"].contains(host), parts.popFirst() == "tcp",
            let port = parts.popFirst(), UInt16(port) != nil
        else { return false }
        if parts.first == "ws" || parts.first == "wss" { parts.removeFirst() }
        guard let end = parts.popFirst() else { return true }
        return end == "p2p" && parts.count == 1 && parts.first?.isEmpty == false
    }
}

extension SimNode {
    /// The answer of fiber_list_peers.
    func listPeers() -> JSON {
        let connected = peers.values.filter(\.isConnected).sorted { $0.address < $1.address }
        return ["peers": .array(connected.map { ["pubkey": JSON($0.pubkey), "address": .string($0.address)] })]
    }

    /// Queues a dial. Nobody answers at an address that no simulated peer has: no event, no error, as in the real
    /// world.
    func connect(_ request: ConnectRequest) throws {
        switch request {
        case .address(let address, let save):
            guard let peer = peers.values.first(where: { address == $0.address || isPrefix(address, of: $0.address) })
            else { return }
            if save {
                try self.save(SavedPeer(pubkey: peer.pubkey, address: address))
                peers[peer.pubkey]?.isSaved = true
            }
            later { $0.connectionStands(peer.pubkey) }
        case .pubkey(let pubkey):
            guard peers[pubkey] != nil else { throw Refusal.invalid("Peer not found error: \(pubkey.debugPrint)") }
            later { $0.connectionStands(pubkey) }
        }
    }

    private func isPrefix(_ address: String, of full: String) -> Bool { full.hasPrefix(address + "/p2p/") }

    /// Whether the node dials this peer by itself: the configuration says so, its address was saved, or there is a
    /// channel with it.
    func isDialledAtStart(_ pubkey: Pubkey) -> Bool {
        guard let peer = peers[pubkey] else { return false }
        return peer.simulated.connects || peer.isSaved
            || channels.contains { $0.pubkey == pubkey && $0.state.isLive }
    }

    /// The transport is up; the Init message follows.
    func connectionStands(_ pubkey: Pubkey) {
        guard let peer = peers[pubkey], !peer.isConnected else { return }
        peers[pubkey]?.isConnected = true
        emit(["kind": "PeerConnected", "pubkey": JSON(pubkey), "addr": .string(peer.address)])
        later { node in
            guard node.peers[pubkey]?.isConnected == true else { return }
            node.peers[pubkey]?.hasInitialised = true
            try node.reestablishChannels(with: pubkey)
            try node.openConfiguredChannel(to: pubkey)
        }
    }

    /// Ends a connection. Channels stay, offline; openings fail.
    func disconnect(_ pubkey: Pubkey) throws {
        guard let peer = peers[pubkey], peer.isConnected else {
            throw Refusal.invalid("peer \(pubkey.debugPrint) is not connected")
        }
        peers[pubkey]?.isConnected = false
        peers[pubkey]?.hasInitialised = false
        emit(["kind": "PeerDisConnected", "pubkey": JSON(pubkey), "addr": .string(peer.address)])
        try channelsWentOffline(with: pubkey)
    }
}
