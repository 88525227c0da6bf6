// The kinds about channels.

extension FiberEvent {
    /// A channel is being opened; repeated for every live channel when its peer comes back.
    public struct ChannelCreated: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The channel's id; on the opening side the temporary one.
        public var channelID: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "ChannelCreated", "A channel is being opened; repeated for every live channel when its peer comes back.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("channel_id", \.channelID, .hash, "the channel's id; on the opening side the temporary one"),
            ])
    }

    /// A peer asks for a channel below the terms on which the node accepts by itself: fiber.accept_channel takes it.
    public struct ChannelPendingToBeAccepted: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The temporary id, which fiber.accept_channel takes.
        public var channelID: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "ChannelPendingToBeAccepted",
            "A peer asks for a channel below the terms on which the node accepts by itself: fiber.accept_channel takes it.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("channel_id", \.channelID, .hash, "the temporary id, which fiber.accept_channel takes"),
            ])
    }

    /// The funding transaction is agreed.
    public struct RemoteTxComplete: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The final id.
        public var channelID: String?
        /// Always true: key material was left out.
        public var redacted: Bool?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "RemoteTxComplete", "The funding transaction is agreed.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("channel_id", \.channelID, .hash, "the final id"),
                .flag("redacted", \.redacted, "always true: key material was left out"),
            ])
    }

    /// A channel is usable; repeated whenever its peer comes back.
    public struct ChannelReady: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The final id.
        public var channelID: String?
        /// The funding cell: the digits of channel_outpoint in fiber.list_channels.
        public var outPoint: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "ChannelReady", "A channel is usable; repeated whenever its peer comes back.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("channel_id", \.channelID, .hash, "the final id"),
                .text(
                    "out_point", \.outPoint, .wrappedOutPoint,
                    "the funding cell, wrapped: the digits are those of channel_outpoint in fiber.list_channels"),
            ])
    }

    /// A channel's peer is there.
    public struct ChannelOnline: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The channel's id.
        public var channelID: String?
        /// The funding cell: the digits of channel_outpoint in fiber.list_channels.
        public var outPoint: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "ChannelOnline", "A channel's peer is there.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("channel_id", \.channelID, .hash, "the channel's id"),
                .text(
                    "out_point", \.outPoint, .wrappedOutPoint,
                    "the funding cell, wrapped: the digits are those of channel_outpoint in fiber.list_channels"),
            ])
    }

    /// A channel's peer is away.
    public struct ChannelOffline: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The channel's id.
        public var channelID: String?
        /// The funding cell: the digits of channel_outpoint in fiber.list_channels.
        public var outPoint: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "ChannelOffline", "A channel's peer is away.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("channel_id", \.channelID, .hash, "the channel's id"),
                .text(
                    "out_point", \.outPoint, .wrappedOutPoint,
                    "the funding cell, wrapped: the digits are those of channel_outpoint in fiber.list_channels"),
            ])
    }

    /// A cooperative close is confirmed. Of a forced one fiber.list_channels tells.
    public struct ChannelClosed: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The channel's id.
        public var channelID: String?
        /// The closing transaction.
        public var transactionHash: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "ChannelClosed", "A cooperative close is confirmed. Of a forced one fiber.list_channels tells.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("channel_id", \.channelID, .hash, "the channel's id"),
                .text("tx_hash", \.transactionHash, .wrappedHash, "the closing transaction, wrapped"),
            ])
    }

    /// An opening was given up.
    public struct ChannelAbandon: NodeEvent {
        /// The channel's id.
        public var channelID: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "ChannelAbandon", "An opening was given up.",
            [
                .text("channel_id", \.channelID, .hash, "the channel's id")
            ])
    }

    /// A channel's funding failed.
    public struct ChannelFundingAborted: NodeEvent {
        /// The channel's id.
        public var channelID: String?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "ChannelFundingAborted", "A channel's funding failed.",
            [
                .text("channel_id", \.channelID, .hash, "the channel's id")
            ])
    }

    /// The peer revoked its last state; with every update.
    public struct RevokeAndAckReceived: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The channel's id.
        public var channelID: String?
        /// Always true: key material was left out.
        public var redacted: Bool?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "RevokeAndAckReceived", "The peer revoked its last state; with every update.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("channel_id", \.channelID, .hash, "the channel's id"),
                .flag("redacted", \.redacted, "always true: key material was left out"),
            ])
    }

    /// The peer signed a new state; with every update.
    public struct RemoteCommitmentSigned: NodeEvent {
        /// The peer's key.
        public var pubkey: String?
        /// The channel's id.
        public var channelID: String?
        /// Always true: key material was left out.
        public var redacted: Bool?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "RemoteCommitmentSigned", "The peer signed a new state; with every update.",
            [
                .text("pubkey", \.pubkey, .publicKey, "the peer's key"),
                .text("channel_id", \.channelID, .hash, "the channel's id"),
                .flag("redacted", \.redacted, "always true: key material was left out"),
            ])
    }

    /// We signed a new state; with every update.
    public struct LocalCommitmentSigned: NodeEvent {
        /// The channel's id.
        public var channelID: String?
        /// Always true: key material was left out.
        public var redacted: Bool?

        /// See `NodeEvent`.
        public init() {}

        /// See `NodeEvent`.
        public static let description = EventDescription<Self>(
            "LocalCommitmentSigned", "We signed a new state; with every update.",
            [
                .text("channel_id", \.channelID, .hash, "the channel's id"),
                .flag("redacted", \.redacted, "always true: key material was left out"),
            ])
    }
}
