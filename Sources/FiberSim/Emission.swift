import Linux

/// A number of artificial events of one kind, at a given rate, made from one template.
struct Emission: Sendable {
    /// What an emission may ask for.
    static let countLimit = 1_000_000_000
    static let rateLimit = 10_000_000
    static let bytesLimit = 64 << 20

    private var template: [UInt8]
    /// Where the running number stands in the template: right-aligned, with the blanks that JSON allows before it.
    private let numberEnd: Int
    private var remaining: Int
    private let interval: Duration
    private var made = 0
    private let start = Instant.now

    /// `perSecond` 0 means as fast as the callback takes them. An event has `bytes` bytes, or the few that it needs at
    /// least.
    init(kind: String, count: Int, perSecond: Int, bytes: Int) {
        let head = "{\"kind\":\(JSON.string(kind).text),\"simulated\":true,\"pad\":\""
        let tail = "\",\"number\":                   0}"
        let padding = max(0, bytes - head.utf8.count - tail.utf8.count)
        template = Array(head.utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: padding) + Array(tail.utf8)
        numberEnd = template.count - 1
        remaining = count
        interval = perSecond == 0 ? .zero : .seconds(1) / perSecond
    }

    /// When the next event is due.
    var due: Instant { start + interval * made }

    /// Whether nothing is left.
    var isDone: Bool { remaining == 0 }

    /// Whether there is a next event and its time has come.
    func isDue(at now: Instant) -> Bool { remaining > 0 && (interval == .zero || due <= now) }

    /// The next event.
    mutating func next(number: UInt64) -> [UInt8] {
        var rest = number
        var place = numberEnd
        repeat {
            place -= 1
            template[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        remaining -= 1
        made += 1
        return template
    }
}
