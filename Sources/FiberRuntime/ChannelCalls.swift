import CFiber
import Wire

extension FiberCalls {
    static let channels: [NativeCall] = [
        NativeCall(
            "open_channel",
            """
            Asks a connected peer for a channel. Success starts the negotiation: ChannelReady tells that it came to \
            stand, ChannelFundingAborted or a failure_detail that it did not.
            """,
            options: FiberOpenChannelOptions.sized, fields: openChannel, output: .text("temporary_channel_id"),
            result: "temporary_channel_id", effect: .money,
            find: "fiber.list_channels with pubkey, and with only_pending true", check: checkVisibility
        ) { library in
            guard let call = library.openChannel else { return nil }
            return { handle, options, out in call(handle, &options, out) }
        },
        NativeCall(
            "accept_channel",
            """
            Accepts a channel that a peer asks for (ChannelPendingToBeAccepted) below the terms on which the node accepts \
            by itself.
            """,
            options: FiberAcceptChannelOptions.sized, fields: acceptChannel, output: .text("channel_id"),
            result: "channel_id: the final one", effect: .money, find: "fiber.list_channels, and with only_pending true"
        ) { library in
            guard let call = library.acceptChannel else { return nil }
            return { handle, options, out in call(handle, &options, out) }
        },
        NativeCall(
            "list_channels", "The channels, newest first.", options: FiberListChannelsOptions.sized,
            fields: [
                .text("pubkey", \.pubkey, .publicKey, "only those with this peer"),
                .flag(
                    "include_closed", \.include_closed, has: \.has_include_closed, "closed ones too (default false)"),
                .flag(
                    "only_pending", \.only_pending, has: \.has_only_pending,
                    "only those being opened, and openings that failed (default false; not with include_closed)"),
            ], output: .json, result: "channels: channel_id, pubkey, state, local_balance, remote_balance, …",
            check: { (given, _) throws(BusError) in
                guard given["include_closed"] != true || given["only_pending"] != true else {
                    throw .parameter("only_pending", "and include_closed exclude each other")
                }
            }
        ) { library in
            guard let call = library.listChannels else { return nil }
            return { handle, options, out in call(handle, &options, out) }
        },
    ]

    static let fundingUDT = "funding_udt_type_script"

    private static let openChannel: [Field<FiberOpenChannelOptions>] =
        [
            .text(
                "pubkey", \.pubkey, .publicKey, required: true,
                "the peer's key; it must be connected, and a moment past PeerConnected"),
            .amount(
                "funding_amount", \.funding_amount, required: true, udtWhen: fundingUDT,
                "what we put in, in shannons: at least 99 CKB, which stay locked as reserve; of a UDT, its raw units"),
            .flag("public", \.public_, has: \.has_public, "announced for routing (default true, with one_way false)"),
            .flag(
                "one_way", \.one_way, has: \.has_one_way, "pays in one direction only, never public (default false)"),
            .json(
                fundingUDT, \.funding_udt_type_script_json, .object,
                "the UDT's type script: code_hash, hash_type, args (default: a CKB channel)"),
            .json(
                "shutdown_script", \.shutdown_script_json, .object,
                "the lock script that gets our balance on close: code_hash, hash_type, args (default: the node's own)"),
        ] + Field.openerTerms + Field.terms(udtWhen: fundingUDT)

    private static let acceptChannel: [Field<FiberAcceptChannelOptions>] =
        [
            .text(
                temporaryID, \.temporary_channel_id, .hash, required: true,
                "the channel_id of ChannelPendingToBeAccepted"),
            .amount(
                "funding_amount", \.funding_amount, required: true, udtWhen: temporaryID,
                "what we put in, in shannons or raw UDT units; of which kind the channel is, the node knows"),
            .json(
                "shutdown_script", \.shutdown_script_json, .object,
                "the lock script that gets our balance on close: code_hash, hash_type, args (default: the node's own)"),
        ] + Field.terms(udtWhen: temporaryID)

    private static let temporaryID = "temporary_channel_id"

    /// A one-way channel cannot be public, and public is the native default: asking for one_way alone would always
    /// fail.
    @Sendable private static func checkVisibility(_ given: JSON, _ options: inout FiberOpenChannelOptions)
        throws(BusError)
    {
        guard given["one_way"] == true else { return }
        guard given["public"] != true else { throw .parameter("public", "must be false when one_way is true") }
        options.has_public = 1
        options.public_ = 0
    }
}
