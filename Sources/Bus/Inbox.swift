import Glibc
import Linux
import Wire

/// What other threads hand to the bus thread: events and orders in one queue, in order, and replies in another. Only
/// `publish` can wait.
final class Inbox: Sendable {
    enum Order: Sendable {
        case batch(EventBatch)
        case announce(kind: String, payload: JSON)
        case openJournal(Profile, epoch: String, head: Int64, run: Int64)
        case closeJournal(Profile)
        /// A batch up to `head` was dropped: heartbeats have to tell.
        case missed(Profile, epoch: String, head: Int64)
    }

    struct Reply: Sendable {
        let number: UInt64
        let bytes: [UInt8]
    }

    private struct Contents {
        var orders: [Order] = []
        var replies: [Reply] = []
        /// Bytes of the batches that are not published yet, those taken out of `orders` too.
        var bytes = 0
        /// Once set, the bus ends by then.
        var end: Instant?
        /// Nobody reads any more.
        var isClosed = false
    }

    private let contents = Lock(Contents())
    private let byteLimit: Int
    /// For the bus thread: something is here.
    let wake: WakeDescriptor
    /// For `publish`: there is room again.
    private let room: WakeDescriptor

    init(byteLimit: Int) throws(SystemError) {
        self.byteLimit = byteLimit
        wake = try WakeDescriptor()
        room = try WakeDescriptor()
    }

    private enum Entry { case taken, full, closed }

    /// Queues a batch; waits for room. False when there was none in time or nobody reads any more.
    func publish(_ batch: EventBatch, timeout: Duration) -> Bool {
        let deadline = Instant.now + timeout
        while true {
            let entry = contents.withLock { contents -> Entry in
                if contents.isClosed { return .closed }
                if contents.bytes > byteLimit { return .full }
                contents.bytes += Inbox.size(batch)
                contents.orders.append(.batch(batch))
                return .taken
            }
            switch entry {
            case .taken:
                wake.wake()
                return true
            case .closed: return false
            case .full:
                guard Instant.now < deadline else {
                    order(.missed(batch.profile, epoch: batch.epoch, head: batch.head))
                    return false
                }
                // Not for longer: another publisher may have taken the wake-up.
                var item = pollfd(fd: room.raw, events: Int16(POLLIN), revents: 0)
                poll(&item, 1, 50)
                room.clear()
            }
        }
    }

    func order(_ order: Order) {
        contents.withLock { if !$0.isClosed { $0.orders.append(order) } }
        wake.wake()
    }

    func reply(_ number: UInt64, _ bytes: [UInt8]) {
        contents.withLock { if !$0.isClosed { $0.replies.append(Reply(number: number, bytes: bytes)) } }
        wake.wake()
    }

    /// Asks the bus to end by `end`.
    func end(by end: Instant) {
        contents.withLock { if $0.end == nil { $0.end = end } }
        wake.wake()
    }

    // The rest is for the bus thread.

    var end: Instant? { contents.withLock { $0.end } }

    func takeOrders() -> [Order] {
        contents.withLock { contents in
            defer { contents.orders = [] }
            return contents.orders
        }
    }

    func takeReplies() -> [Reply] {
        contents.withLock { contents in
            defer { contents.replies = [] }
            return contents.replies
        }
    }

    func published(_ batch: EventBatch) {
        let hasRoom = contents.withLock { contents -> Bool in
            let wasFull = contents.bytes > byteLimit
            contents.bytes -= Inbox.size(batch)
            return wasFull && contents.bytes <= byteLimit
        }
        if hasRoom { room.wake() }
    }

    func close() {
        contents.withLock {
            $0.isClosed = true
            $0.orders = []
            $0.replies = []
        }
        room.wake()
    }

    private static func size(_ batch: EventBatch) -> Int { batch.headers.count + batch.payloads.count }
}
