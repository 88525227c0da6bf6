import Linux

/// The seq from which on the account's ceiling is to be raised: set by the main thread, asked by the journal thread with each batch.
final class CeilingMark: Sendable {
    /// How far above the head a ceiling is put, and never further: so it also tells a head that the journal has had. At the highest rate of events
    /// half of it takes seconds.
    static let room: Int64 = 1 << 20

    private let seq = Lock(Int64.max)

    /// Sets the mark.
    func set(_ seq: Int64) { self.seq.withLock { $0 = seq } }

    /// Whether `head` has passed it; once, until it is set again.
    func isPassed(by head: Int64) -> Bool {
        seq.withLock { seq in
            guard head >= seq else { return false }
            seq = .max
            return true
        }
    }
}
