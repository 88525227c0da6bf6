import CFiber
import Glibc
import HostLink
import Linux
import Synchronization
import Wire

/// Takes the node's events from the library's callback into the ring. It copies and returns: nothing here calls the
/// library, throws or allocates.
final class EventSink: Sendable {
    /// Locked, since the library only promises that callbacks come one at a time, and the ring must not depend on it.
    private let ring: Lock<RingWriter>
    private let networkStopped = Atomic<Bool>(false)
    private let onNetworkStopped: @Sendable () -> Void

    init(ring: RingWriter, onNetworkStopped: @escaping @Sendable () -> Void) {
        self.ring = Lock(ring)
        self.onNetworkStopped = onNetworkStopped
    }

    /// Whether the node said that its network stopped: with no stop ordered, the node is dead inside the live process.
    var didNetworkStop: Bool { networkStopped.load(ordering: .sequentiallyConsistent) }

    /// What the library calls, with the sink as `user_data`.
    static let callback: fiber_event_callback = { json, context in
        guard let context else { return }
        Unmanaged<EventSink>.fromOpaque(context).takeUnretainedValue().take(json)
    }

    /// The sink as `user_data`, never released: a library that lies may call once more at any time.
    func retainedForever() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    private func take(_ json: UnsafePointer<CChar>?) {
        // A NULL message is kept as an empty one, so that it shows as Malformed instead of vanishing.
        let bytes = UnsafeRawBufferPointer(start: json, count: json.map { strlen($0) } ?? 0)
        ring.withLock { $0.write(bytes, timeMicroseconds: WallClock.microseconds) }
        // The word first, since it is cheap and nearly always absent.
        guard let json, strstr(json, "NetworkStopped") != nil, EventClass.of(bytes) == .kind("NetworkStopped") else {
            return
        }
        networkStopped.store(true, ordering: .sequentiallyConsistent)
        onNetworkStopped()
    }
}
