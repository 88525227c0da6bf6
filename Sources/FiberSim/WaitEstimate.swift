/// How long it may take until the indexer has caught up, from what repeated questions have seen of it.
struct WaitEstimate: Sendable {
    private struct Sample {
        let indexed: Int
        let time: Duration
    }

    private var last: Sample?
    private var progressed = Duration.zero
    /// Blocks a second.
    private var rate: Double?

    /// Forgets everything, for want of numbers to go by.
    mutating func reset() { self = WaitEstimate() }

    /// `wait_estimate` for a lag that is not 0.
    mutating func observe(indexed: Int, lag: Int, at time: Duration) -> JSON {
        if let last, time - last.time <= .seconds(120), indexed >= last.indexed {
            measure(indexed, since: last, at: time)
        } else {
            rate = nil
            progressed = time
            last = Sample(indexed: indexed, time: time)
        }
        let thousands = (lag + 999) / 1000
        let guess = (lower: 3 * thousands, upper: min(max(60 * thousands, 60), 1800))
        if time - progressed >= .seconds(60) {
            return Self.json(guess.lower, max(guess.upper, 120), "stalled")
        }
        guard let rate else { return Self.json(guess.lower, guess.upper, "low") }
        let expected = max(Int((Double(lag) / rate).rounded(.up)), 1)
        return Self.json(max(expected / 2, 1), 2 * expected + 3, "measured")
    }

    private mutating func measure(_ indexed: Int, since sample: Sample, at time: Duration) {
        let elapsed = time - sample.time
        guard elapsed >= .milliseconds(500) else { return }
        last = Sample(indexed: indexed, time: time)
        guard indexed > sample.indexed else { return }
        let now = Double(indexed - sample.indexed) / (Double(elapsed.nanoseconds) / 1_000_000_000)
        rate = rate.map { ($0 + now) / 2 } ?? now
        progressed = time
    }

    private static func json(_ lower: Int, _ upper: Int, _ confidence: String) -> JSON {
        [
            "lower_seconds": JSON(lower), "upper_seconds": JSON(upper), "retry_after_seconds": .integer(3),
            "confidence": .string(confidence),
        ]
    }
}
