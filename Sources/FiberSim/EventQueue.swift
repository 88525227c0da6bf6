import CFiber
import Glibc
import Linux

/// Where events go: the program's callback and what it wants back.
struct EventSink: @unchecked Sendable {
    // Safe: the pointer is only handed back to the callback; the contract says that it may come on any thread.
    let callback: fiber_event_callback
    let userData: UnsafeMutableRawPointer?

    func callAsFunction(_ event: UnsafePointer<CChar>) { callback(event, userData) }
}

/// The queue between the node and the program's callback, and the one thread that empties it.
///
/// Callbacks are strictly serial. A callback that blocks stalls the queue, and when the queue is full the node itself
/// waits, as the real one does. Each event lies in memory of its own that is overwritten as soon as the callback has
/// returned.
final class EventQueue: Sendable {
    /// As many events as the real node's queue holds.
    static let capacity = 4000
    /// How many emissions may be under way at once.
    static let emissionLimit = 16
    /// How many events of an emission are made before the queue is looked at again.
    private static let slice = 64

    private struct State {
        var events: [[UInt8]] = []
        var first = 0
        var emissions: [Emission] = []
        /// Those in `emissions` and the one that is being worked on.
        var emissionsUnderWay = 0
        /// No emission may begin or go on.
        var isEnding = false
        var isClosing = false
        var delivered = 0

        var count: Int { events.count - first }

        mutating func popFirst() -> [UInt8]? {
            guard first < events.count else { return nil }
            defer {
                first += 1
                if first == events.count || first == EventQueue.capacity {
                    events.removeFirst(first)
                    first = 0
                }
            }
            return events[first]
        }
    }
    private enum Work {
        case event([UInt8])
        case emission(Emission)
        case end
    }

    private let state = Monitor(State())
    private let sink: EventSink
    private let delivery: EventDelivery

    init(sink: EventSink, counters: Counters) {
        self.sink = sink
        delivery = EventDelivery(sink: sink, counters: counters)
    }

    /// Runs the thread that calls the callback; it ends after `close`, once the queue is empty.
    func begin() -> NativeThread {
        NativeThread { [self] in
            ThreadState.current.isInCallback = true
            while true {
                switch next() {
                case .event(let bytes):
                    delivery.deliver(bytes)
                    state.change { $0.delivered += 1 }
                case .emission(var emission):
                    var left = Self.slice
                    while left > 0, emission.isDue(at: .now) {
                        delivery.deliver(emission.next(number: delivery.nextNumber()))
                        left -= 1
                    }
                    finishSlice(of: emission)
                case .end: return
                }
            }
        }
    }

    /// Queues an event; waits while the queue is full.
    func post(_ event: JSON) {
        let bytes = Array(event.text.utf8)
        state.wait { state -> Monitor<State>.Turn<Void> in
            guard state.count < Self.capacity else { return .wait(until: nil) }
            state.events.append(bytes)
            return .done(())
        }
    }

    /// Starts an emission beside the node's own events.
    func begin(_ emission: Emission) throws {
        try state.change { state in
            guard !state.isEnding else { throw Refusal.invalid("simulator: no node is running") }
            guard state.emissionsUnderWay < Self.emissionLimit else {
                throw Refusal.invalid("simulator: \(Self.emissionLimit) emissions are under way already")
            }
            state.emissions.append(emission)
            state.emissionsUnderWay += 1
        }
    }

    /// Waits until the callback for the first event has returned, at most for `limit`.
    func waitForFirst(atMost limit: Duration) {
        let deadline = Instant.now + limit
        state.wait { state -> Monitor<State>.Turn<Void> in
            state.delivered > 0 || deadline <= .now ? .done(()) : .wait(until: deadline)
        }
    }

    /// Cuts emissions off, so that NetworkStopped is the last event.
    func endEmissions() {
        state.change { state in
            state.isEnding = true
            state.emissions = []
        }
    }

    /// Ends the thread, once what is queued is delivered.
    func close() { state.change { $0.isClosing = true } }

    private func finishSlice(of emission: Emission) {
        state.change { state in
            if emission.isDone || state.isEnding {
                state.emissionsUnderWay -= 1
            } else {
                state.emissions.append(emission)
            }
        }
    }

    private func next() -> Work {
        state.wait { state in
            if let event = state.popFirst() { return .done(.event(event)) }
            if state.isClosing { return .done(.end) }
            let now = Instant.now
            if let index = state.emissions.firstIndex(where: { $0.isDue(at: now) }) {
                return .done(.emission(state.emissions.remove(at: index)))
            }
            return .wait(until: state.emissions.map(\.due).min())
        }
    }
}
