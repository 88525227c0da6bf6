import CFiber

// The node has one status for everything that it refuses (`INVALID_ARGUMENT`), so its text is sorted into stable words
// that a program can act on. What is not sorted is `other`, with the text in the message.
extension NativeFailure {
    static func reason(of text: String, status: UInt32) -> String {
        if status == FIBER_FFI_STATUS_NULL_POINTER.rawValue { return "invalid_argument" }
        // Matched inside the message only: the repeated request behind it holds texts of the caller's.
        let message = (NativeText.errorMessage(in: text) ?? text).lowercased()
        return reasons.first { $0.texts.allSatisfy(message.contains) }?.reason ?? "other"
    }

    /// What all has to stand in a text, in lower case, and what it means; the first match wins.
    static let reasons: [(texts: [String], reason: String)] =
        peerReasons + channelReasons + paymentReasons + invoiceReasons + chainReasons + argumentReasons

    private static let peerReasons: [(texts: [String], reason: String)] = [
        (["peer not found error"], "peer_not_found"),
        (["waiting for peer to send init message"], "peer_not_initialized"),
        (["is not connected"], "not_connected"),
    ]

    private static let channelReasons: [(texts: [String], reason: String)] = [
        (["no channel with temp id"], "channel_unknown"),
        (["channel ", "not found"], "channel_unknown"),
        // Of a call about one channel; of any other it shows a dead node, which is told before.
        (["messaging failed because channel is closed"], "channel_unknown"),
        (["cannot be abandoned"], "channel_state"),
        (["invalid state"], "channel_state"),
        (["invalidstate"], "channel_state"),
        (["only public channel can be updated"], "channel_not_public"),
        (["the funding amount ("], "funding_too_small"),
        (["invalid udt type script"], "udt_not_allowed"),
    ]

    private static let paymentReasons: [(texts: [String], reason: String)] = [
        (["payment session already exists"], "payment_exists"),
        (["payment session not found"], "payment_unknown"),
        (["insufficient balance"], "insufficient_balance"),
        (["no path found"], "no_route"),
        (["failed to build route"], "no_route"),
        (["is not allow mpp"], "mpp_not_allowed"),
        (["does not match the invoice"], "invoice_mismatch"),
    ]

    private static let invoiceReasons: [(texts: [String], reason: String)] = [
        (["invoice not found"], "invoice_unknown"),
        (["invoice already exists"], "invoice_exists"),
        (["invoice is expired"], "invoice_expired"),
        (["invoice is invalid"], "invoice_invalid"),
        (["invoice can not be canceled"], "invoice_state"),
        (["invoice is still"], "invoice_state"),
        (["invoice is already"], "invoice_state"),
        (["hash mismatch"], "preimage_mismatch"),
        (["currency must be"], "currency_mismatch"),
    ]

    private static let chainReasons: [(texts: [String], reason: String)] = [
        (["failed to derive the ckb funding lock script"], "key_unreadable"),
        (["failed to query ckb"], "chain_unreachable"),
    ]

    private static let argumentReasons: [(texts: [String], reason: String)] =
        [
            "must be", "must not be", "should not be", "should be", "mutually exclusive", "cannot be public",
            "invalidparameter",
            "invalid", "utf-8", "is missing", "is too small", "both payment_hash and payment_preimage are set",
        ].map { ([$0], "invalid_argument") }
}
