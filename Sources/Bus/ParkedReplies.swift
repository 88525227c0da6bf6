import Linux

/// Replies that their client could not take yet, in order, by client.
///
/// libzmq limits how many messages wait for a client, and not their bytes, and then drops. With a low mark there and
/// bytes counted here, a client that reads late still gets all its replies, and one that never reads costs little and
/// holds nobody up.
struct ParkedReplies {
    enum Outcome { case sent, full, gone }

    private struct Queue {
        var messages: [[[UInt8]]] = []
        var first = 0
        var bytes = 0
    }

    private let byteLimit: Int
    private var queues: [ClientIdentity: Queue] = [:]
    // A ROUTER does not tell when one client can take more, so it is tried: soon at first, then less often while
    // nothing moves.
    private var pause = ParkedReplies.shortestPause
    private(set) var nextTry: Instant?

    private static let shortestPause = Duration.milliseconds(1)
    private static let longestPause = Duration.milliseconds(100)

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    var isEmpty: Bool { queues.isEmpty }

    /// Sends a reply or keeps it; false when it was dropped.
    mutating func sendOrKeep(_ message: [[UInt8]], for client: ClientIdentity, _ send: ([[UInt8]]) -> Outcome) -> Bool {
        let size = message.reduce(0) { $0 + $1.count }
        guard var queue = queues.removeValue(forKey: client) else {
            switch send(message) {
            case .sent, .gone: return true
            case .full: break
            }
            queues[client] = Queue(messages: [message], bytes: size)
            if nextTry == nil { nextTry = .now + pause }
            return true
        }
        let fits = queue.bytes + size <= byteLimit
        if fits {
            queue.messages.append(message)
            queue.bytes += size
        }
        queues[client] = queue
        return fits
    }

    /// Sends what clients take now.
    mutating func send(_ send: ([[UInt8]]) -> Outcome) {
        guard let time = nextTry, time <= .now else { return }
        var moved = false
        for (client, waiting) in queues {
            var queue = waiting
            var isGone = false
            trying: while queue.first < queue.messages.count {
                switch send(queue.messages[queue.first]) {
                case .sent:
                    queue.bytes -= queue.messages[queue.first].reduce(0) { $0 + $1.count }
                    queue.messages[queue.first] = []
                    queue.first += 1
                    moved = true
                case .full: break trying
                case .gone:
                    isGone = true
                    break trying
                }
            }
            queues[client] = isGone || queue.first == queue.messages.count ? nil : queue
        }
        pause = moved ? ParkedReplies.shortestPause : min(pause * 2, ParkedReplies.longestPause)
        nextTry = queues.isEmpty ? nil : .now + pause
    }
}
