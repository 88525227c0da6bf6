import CFiber
import Wire

extension FiberCalls {
    /// A channel that somebody else's key funds: the node makes the transaction, the caller has it signed.
    static let externalFunding: [NativeCall] = [
        NativeCall(
            "open_channel_with_external_funding",
            """
            Asks a connected peer for a channel that cells of a given lock script pay for, and answers once the \
            transaction is negotiated. It is to be signed without another change, and handed in with \
            fiber.submit_signed_funding_tx, by default within 300 seconds.
            """,
            options: FiberOpenChannelWithExternalFundingOptions.sized, fields: openChannel, output: .json,
            result: "channel_id, unsigned_funding_tx", effect: .money,
            find: "fiber.list_channels with pubkey, and with only_pending true"
        ) { library in
            guard let call = library.openChannelWithExternalFunding else { return nil }
            return { handle, options, out in call(handle, &options, out) }
        },
        NativeCall(
            "submit_signed_funding_tx",
            "Hands in the signed transaction of fiber.open_channel_with_external_funding.",
            options: FiberSubmitSignedFundingTxOptions.sized,
            fields: [
                .text(
                    "channel_id", \.channel_id, .hash, required: true,
                    "as fiber.open_channel_with_external_funding answered it"),
                .json(
                    "signed_funding_tx", \.signed_funding_tx_json, .object, required: true,
                    "the unsigned_funding_tx, signed"),
            ], output: .json, result: "channel_id, funding_tx_hash", effect: .money, find: "fiber.list_channels"
        ) { library in
            guard let call = library.submitSignedFundingTx else { return nil }
            return { handle, options, out in call(handle, &options, out) }
        },
    ]

    private static let openChannel: [Field<FiberOpenChannelWithExternalFundingOptions>] =
        [
            .text(
                "pubkey", \.pubkey, .publicKey, required: true,
                "the peer's key; it must be connected, and a moment past PeerConnected"),
            .amount(
                "funding_amount", \.funding_amount, required: true, udtWhen: fundingUDT,
                "what is put in, in shannons: at least 99 CKB, which stay locked as reserve; of a UDT, its raw units"),
            .json(
                "shutdown_script", \.shutdown_script_json, .object, required: true,
                "the lock script that gets our balance on close: code_hash, hash_type, args"),
            .json(
                "funding_lock_script", \.funding_lock_script_json, .object, required: true,
                "the lock script whose cells pay: code_hash, hash_type, args"),
            .json(
                "funding_lock_script_cell_deps", \.funding_lock_script_cell_deps_json, .array,
                "what that script needs: objects of out_point (tx_hash, index) and dep_type"),
            .flag("public", \.public_, has: \.has_public, "announced for routing (default true)"),
            .json(
                fundingUDT, \.funding_udt_type_script_json, .object,
                "the UDT's type script: code_hash, hash_type, args (default: a CKB channel)"),
        ] + Field.openerTerms + Field.terms(udtWhen: fundingUDT)
}
