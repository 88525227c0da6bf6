import Bus
import Linux

/// What other threads tell the main thread; it polls the wake descriptor.
final class MainInbox: Sendable {
    /// One thing told.
    enum Item: Sendable {
        /// A request that the main thread answers.
        case request(PendingRequest)
        /// The journal holds NodeStarting of this run.
        case startRecorded(run: Int64)
        /// The disk does not take the journal; the sentence says why.
        case journalStalled(String)
        /// It takes it again.
        case journalResumed
        /// The journal of the account that was in use is closed.
        case accountClosed
        /// The journal's head has passed the ceiling's mark.
        case headRose(Int64)
        /// The host wrote into its ring what cannot be a record.
        case ringBroken(String)
    }

    private let items = Lock<[Item]>([])
    private let wake: WakeDescriptor

    init() throws(SystemError) { wake = try WakeDescriptor() }

    /// The number to poll for POLLIN.
    var descriptor: Int32 { wake.raw }

    /// Tells something. Never waits.
    func put(_ item: Item) {
        items.withLock { $0.append(item) }
        wake.wake()
    }

    /// All that was told since.
    func take() -> [Item] {
        wake.clear()
        return items.withLock { items in
            defer { items = [] }
            return items
        }
    }
}
