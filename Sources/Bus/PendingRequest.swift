import Linux
import Synchronization
import Wire

/// Who sent a request: one connection, as long as it stands.
public struct ClientIdentity: Sendable, Hashable {
    /// The name that ROUTER has for it.
    public let bytes: [UInt8]

    /// The client of that name.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}

/// A checked request on its way to whoever carries it out. It is answered exactly once: by `answer`, or with `timeout`
/// at its deadline, whichever comes first.
///
/// The caller of a request that timed out is told whether it can have had an effect, and `claim` is what decides that:
/// whoever carries a request out claims it first, and leaves it alone when it is too late.
public final class PendingRequest: Sendable {
    /// The method's name.
    public let method: String
    /// The parameters, checked and in normal form.
    public let parameters: JSON
    /// What the method is.
    public let description: MethodDescription
    /// When the caller is answered `timeout`.
    public let deadline: Instant
    /// Who asked.
    public let client: ClientIdentity

    let number: UInt64
    let id: JSON
    let envelope: [[UInt8]]
    /// What it takes of `BusSettings.maxInFlightBytes`.
    let size: Int
    private let inbox: Inbox
    private let state = Atomic<UInt8>(State.queued)

    private enum State {
        static let queued: UInt8 = 0
        static let started: UInt8 = 1
        static let answered: UInt8 = 2
    }

    init(
        number: UInt64, request: RPCRequest, parameters: JSON, description: MethodDescription, deadline: Instant,
        client: ClientIdentity, envelope: [[UInt8]], size: Int, inbox: Inbox
    ) {
        self.number = number
        id = request.id
        method = request.method
        self.parameters = parameters
        self.description = description
        self.deadline = deadline
        self.client = client
        self.envelope = envelope
        self.size = size
        self.inbox = inbox
    }

    /// From queued to started, once. False: the caller has been answered already (or another has claimed it), so do
    /// nothing.
    public func claim() -> Bool {
        state.compareExchange(expected: State.queued, desired: State.started, ordering: .acquiringAndReleasing)
            .exchanged
    }

    /// Answers, from any thread, without waiting. Later answers are dropped, and so is one after the deadline.
    public func answer(_ reply: RPCReply) {
        guard state.exchange(State.answered, ordering: .acquiringAndReleasing) != State.answered else { return }
        inbox.reply(number, reply.bytes(id: id))
    }

    /// What is known of a request whose answer will not come.
    enum Outcome: Sendable { case notStarted, unknown }

    /// Takes the right to answer away from all others; nil when an answer is on its way already.
    func giveUp() -> Outcome? {
        func take(_ expected: UInt8) -> Bool {
            state.compareExchange(expected: expected, desired: State.answered, ordering: .acquiringAndReleasing)
                .exchanged
        }
        if take(State.queued) { return .notStarted }
        return take(State.started) ? .unknown : nil
    }
}
