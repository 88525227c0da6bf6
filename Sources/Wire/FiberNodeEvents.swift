// The kinds about the node itself, its peers and preimages.

extension FiberEvent {
    /// The node is up; once per start.
    public struct NetworkStarted: NodeEvent {
        /// The node's key.
        public var pubkey: String?
        /// The multiaddrs it listens on, ports resolved.
        public var listeningAddresses: [String]?
        /// The multiaddrs it tells others.
        public var announcedAddresses: [String]?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "NetworkStarted", "The node is up; once per start.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the node's key"),
                .texts("listening_addrs", \.listeningAddresses, "the multiaddrs it listens on, ports resolved"),
                .texts("announced_addrs", \.announcedAddresses, "the multiaddrs it tells others"),
            ])
    }

    /// The node went down in order; one that crashes does not say so.
    public struct NetworkStopped: NodeEvent {
        /// The node's key.
        public var pubkey: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "NetworkStopped", "The node went down in order; one that crashes does not say so.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the node's key")
            ])
    }

    /// A connection stands. A channel can be opened a moment later, of which no event tells.
    public struct PeerConnected: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The multiaddr of the connection.
        public var address: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "PeerConnected", "A connection stands. A channel can be opened a moment later, of which no event tells.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("addr", \.address, .free, "the multiaddr of the connection"),
            ])
    }

    /// A connection ended.
    public struct PeerDisconnected: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The multiaddr of the connection.
        public var address: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "PeerDisConnected", "A connection ended.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("addr", \.address, .free, "the multiaddr of the connection"),
            ])
    }

    /// A preimage came out: an invoice is being settled, or a payment passed through.
    public struct PreimageCreated: NodeEvent {
        /// The payment's hash.
        public var paymentHash: String?
        /// Always true: key material was left out.
        public var redacted: Bool?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "PreimageCreated", "A preimage came out: an invoice is being settled, or a payment passed through.",
            [
                .text("payment_hash", \.paymentHash, .hash, "the payment's hash"),
                .flag("redacted", \.redacted, "always true: key material was left out"),
            ])
    }

    /// A stored preimage was dropped.
    public struct PreimageRemoved: NodeEvent {
        /// The payment's hash.
        public var paymentHash: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "PreimageRemoved", "A stored preimage was dropped.",
            [
                .text("payment_hash", \.paymentHash, .hash, "the payment's hash")
            ])
    }

    /// For those who work on the node; from debug builds only.
    public struct DebugEvent: NodeEvent {
        /// What it says.
        public var message: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "DebugEvent", "For those who work on the node; from debug builds only.",
            [
                .text("message", \.message, .free, "what it says")
            ])
    }
}
