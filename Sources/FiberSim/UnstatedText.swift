/// The words of refusals that no description of the node states. They are guesses in the node's manner: a program may
/// show them, but must not tell anything by them.
enum UnstatedText {
    static let settleUnknown = "Invoice not found"
    static let settleMismatch = "Hash mismatch"

    /// An invoice that no payment waits for.
    static func settle(status: String) -> String {
        status == "Open" ? "Invoice is still open" : "Invoice is already \(status.lowercased())"
    }
}
