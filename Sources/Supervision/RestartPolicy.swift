/// When a node that ended by itself is started again (the section `supervision` of the configuration).
public struct RestartPolicy: Sendable, Equatable {
    /// The first delay.
    public var first: Duration
    /// Each delay is the last one times this.
    public var factor: Double
    /// The longest delay.
    public var max: Duration
    /// Each delay is made longer or shorter by up to this part of it, so that many nodes do not start together.
    public var jitter: Double
    /// After so many restarts within `window` the node has failed.
    public var limit: Int
    /// See `limit`.
    public var window: Duration
    /// A node ready for so long has its past forgotten.
    public var stable: Duration
    /// A failed node is tried again so often; zero: never.
    public var thenEvery: Duration

    /// The documented defaults.
    public init(
        first: Duration = .milliseconds(250), factor: Double = 2, max: Duration = .seconds(30), jitter: Double = 0.2,
        limit: Int = 10, window: Duration = .seconds(600), stable: Duration = .seconds(60),
        thenEvery: Duration = .seconds(300)
    ) {
        self.first = first
        self.factor = factor
        self.max = max
        self.jitter = jitter
        self.limit = limit
        self.window = window
        self.stable = stable
        self.thenEvery = thenEvery
    }

    /// The delay before restart number `attempt` (from 1); `random` is from 0 up to 1.
    public func delay(attempt: Int, random: Double) -> Duration {
        var seconds = RestartPolicy.seconds(first)
        let longest = RestartPolicy.seconds(max)
        for _ in 1..<Swift.max(attempt, 1) where seconds < longest { seconds *= factor }
        return .seconds(min(seconds, longest) * (1 + jitter * (2 * random - 1)))
    }

    private static func seconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}

/// What the policy remembers of the restarts so far.
public struct RestartHistory: Sendable, Equatable {
    private(set) var times: [Time] = []
    /// How many restarts since the node was last stable.
    private(set) var attempt = 0
    /// Whether the limit was passed, so that a failed try leads straight back to failed.
    var isExhausted = false

    /// What to do after an end that nobody ordered.
    enum Decision: Equatable {
        case restart(delay: Duration, attempt: Int)
        case giveUp(restarts: Int)
    }

    mutating func unexpectedEnd(at now: Time, policy: RestartPolicy, random: Double) -> Decision {
        times.removeAll { now - $0 >= policy.window }
        guard !isExhausted, times.count < policy.limit else {
            isExhausted = true
            return .giveUp(restarts: times.count)
        }
        times.append(now)
        attempt += 1
        return .restart(delay: policy.delay(attempt: attempt, random: random), attempt: attempt)
    }

    mutating func forget() { self = RestartHistory() }
}

/// A small deterministic generator (SplitMix64, S. Vigna), so that a simulation replays from its seed.
public struct SeededGenerator: RandomNumberGenerator, Sendable, Equatable {
    private var state: UInt64

    /// The generator of a seed.
    public init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
