import Glibc

/// Hands single events to the callback, damaged where a fault says so, and counts them. Used by the delivery thread
/// alone.
final class EventDelivery: Sendable {
    private let sink: EventSink
    private let counters: Counters

    init(sink: EventSink, counters: Counters) {
        self.sink = sink
        self.counters = counters
    }

    /// The running number for the next artificial event of this data directory.
    func nextNumber() -> UInt64 { counters.takeNumber() }

    /// One event through the callback.
    func deliver(_ event: [UInt8]) {
        guard let fault = Faults.takeForEvent() else { return hand(event) }
        switch fault {
        case .call(let action):
            action.strike()
            hand(event)
        case .damage(let damage):
            hand(damage.bytes(insteadOf: event))
        case .tenThreads:
            handFromTenThreads(event)
        }
    }

    /// The order is the contract of the counters: offered before the callback, returned and hash after it.
    private func hand(_ event: [UInt8]) {
        counters.offer()
        Self.call(sink, event)
        counters.record(returned: event)
    }

    /// A library that breaks its own promise of serial callbacks.
    private func handFromTenThreads(_ event: [UInt8]) {
        let sink = sink
        let threads = (0..<10).map { _ in
            counters.offer()
            return NativeThread { Self.call(sink, event) }
        }
        for thread in threads {
            thread.join()
            counters.record(returned: event)
        }
    }

    /// Calls with a copy of the event that is gone afterwards: whoever keeps the pointer reads 0xDD, or worse.
    static func call(_ sink: EventSink, _ event: [UInt8]) {
        let size = event.count
        guard let buffer = malloc(size + 1) else { misuse("out of memory") }
        event.withUnsafeBytes { if let base = $0.baseAddress { memcpy(buffer, base, size) } }
        buffer.storeBytes(of: 0, toByteOffset: size, as: UInt8.self)
        sink(UnsafePointer(buffer.assumingMemoryBound(to: CChar.self)))
        Spoiled.discard(buffer, count: size)
    }
}
