import Linux

/// Replies that their client could not take yet, in order, by client.
///
/// libzmq limits how many messages wait for a client, and not their bytes, and then drops. With a low mark there and
/// bytes counted here, a client that reads late still gets all its replies. None is dropped while its connection
/// stands: past the limit what reads is refused, and a client that asks on and on without reading is cut (`Load`).
struct ParkedReplies {
    enum Outcome { case sent, full, gone }

    /// How much waits for a client, by which its next request is judged.
    enum Load {
        /// It can ask.
        case light
        /// At the limit of one client or of all together: what it asks is refused, until it reads.
        case full
        /// At twice that, with the refusals: its connection is ended.
        case excessive
    }

    private struct Queue {
        var messages: [[[UInt8]]] = []
        var first = 0
        var bytes = 0
    }

    private let clientLimit: Int
    private let totalLimit: Int
    private var queues: [ClientIdentity: Queue] = [:]
    private var bytes = 0
    // A ROUTER does not tell when one client can take more, so it is tried: soon at first, then less often while
    // nothing moves.
    private var pause = ParkedReplies.shortestPause
    private(set) var nextTry: Instant?

    private static let shortestPause = Duration.milliseconds(1)
    private static let longestPause = Duration.milliseconds(100)

    init(_ settings: BusSettings) {
        clientLimit = settings.maxParkedReplyBytes
        totalLimit = settings.maxParkedReplyBytesOfAll
    }

    var isEmpty: Bool { queues.isEmpty }

    func load(of client: ClientIdentity) -> Load {
        guard let own = queues[client]?.bytes else { return .light }
        if own >= 2 * clientLimit || bytes >= 2 * totalLimit { return .excessive }
        return own >= clientLimit || bytes >= totalLimit ? .full : .light
    }

    /// Sends a reply or keeps it. When others wait already and it does not fit beside them, `refusal` is kept in its
    /// place; without one it is kept all the same.
    mutating func sendOrKeep(
        _ message: [[UInt8]], for client: ClientIdentity, refusal: (() -> [[UInt8]])?, _ send: ([[UInt8]]) -> Outcome
    ) {
        guard var queue = queues.removeValue(forKey: client) else {
            guard case .full = send(message) else { return }
            let size = ParkedReplies.size(message)
            queues[client] = Queue(messages: [message], bytes: size)
            bytes += size
            if nextTry == nil { nextTry = .now + pause }
            return
        }
        var kept = message
        let room = min(clientLimit - queue.bytes, totalLimit - bytes)
        if let refusal, ParkedReplies.size(message) > room { kept = refusal() }
        queue.messages.append(kept)
        queue.bytes += ParkedReplies.size(kept)
        bytes += ParkedReplies.size(kept)
        queues[client] = queue
    }

    private static func size(_ message: [[UInt8]]) -> Int { message.reduce(0) { $0 + $1.count } }

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
                    let size = ParkedReplies.size(queue.messages[queue.first])
                    queue.bytes -= size
                    bytes -= size
                    queue.messages[queue.first] = []
                    queue.first += 1
                    moved = true
                case .full: break trying
                case .gone:
                    isGone = true
                    break trying
                }
            }
            if isGone { bytes -= queue.bytes }
            queues[client] = isGone || queue.first == queue.messages.count ? nil : queue
        }
        pause = moved ? ParkedReplies.shortestPause : min(pause * 2, ParkedReplies.longestPause)
        nextTry = queues.isEmpty ? nil : .now + pause
    }
}
