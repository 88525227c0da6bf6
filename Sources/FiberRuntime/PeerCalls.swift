import CFiber
import Wire

extension FiberCalls {
    static let peers: [NativeCall] = [
        NativeCall(
            "list_peers", "The peers that are connected now.", options: { NoArguments() }, fields: [], output: .json,
            result: "peers: pubkey, address"
        ) { library in { handle, _, out in library.listPeers(handle, out) } },
        NativeCall(
            "connect_peer",
            """
            Dials a peer, by address or by key. Success means that the dial is queued: PeerConnected tells that it \
            stands, a failed dial tells nothing.
            """,
            options: {
                // The native default is 0: a peer that was connected once would not be dialled again after a restart.
                FiberConnectPeerOptions(address: nil, pubkey: nil, addr_type: nil, save: 1)
            },
            fields: [
                .text("address", \.address, .text(maxBytes: 1024), "a multiaddr, normally ending in /p2p/<peer id>"),
                .text(
                    "pubkey", \.pubkey, .publicKey,
                    "instead of address: a node's key; its address comes from the saved peers or the network graph"),
                .text(
                    "addr_type", \.addr_type, .choice(["tcp", "ws", "wss"]), "with pubkey: addresses of this type"),
                .flag(
                    "save", \.save,
                    "with address: keep it and reconnect by itself (default true, unlike the C function's)"),
            ], output: .nothing, result: "{}", effect: .change, find: "fiber.list_peers", check: checkTarget
        ) { library in { handle, options, _ in library.connectPeer(handle, &options) } },
        NativeCall(
            "disconnect_peer", "Ends the connection to a peer. With open channels the node may connect again.",
            options: { OneText() }, fields: [.text("pubkey", \.text, .publicKey, required: true, "the peer's key")],
            output: .nothing, result: "{}", effect: .change, find: "fiber.list_peers"
        ) { library in { handle, argument, _ in library.disconnectPeer(handle, argument.text) } },
    ]

    /// The native function ignores what does not go with the other parameter; here it is refused.
    @Sendable private static func checkTarget(_ given: JSON, _ options: inout FiberConnectPeerOptions) throws(BusError)
    {
        let byAddress = given["address"] != nil
        guard byAddress || given["pubkey"] != nil else { throw .parameter("address", "or pubkey is required") }
        guard !byAddress || given["pubkey"] == nil else { throw .parameter("pubkey", "cannot be given with address") }
        guard !byAddress || given["addr_type"] == nil else { throw .parameter("addr_type", "goes with pubkey only") }
        guard byAddress || given["save"] == nil else { throw .parameter("save", "goes with address only") }
    }
}
