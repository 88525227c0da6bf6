import Linux

/// The chain that the node looks at: a tip that grows, an indexer that follows it, and the two questions that can fail.
struct SimulatedChain: Sendable {
    /// What is wrong with the answers of the chain's node.
    enum Fault: String, CaseIterable, Sendable {
        case none
        /// Nobody answers.
        case tip = "tip-rpc"
        /// A node without an indexer.
        case noIndexer = "no-indexer"
        /// The indexer does not answer.
        case indexer = "indexer-rpc"
        /// The newest block is of long ago, or this machine's clock is wrong.
        case stale
    }

    /// The two heights at one moment.
    struct Heights: Equatable {
        let tip: Int
        let indexed: Int
        var lag: Int { tip - indexed }
    }

    /// Blocks that the indexer had left to do at a time, and how many it does in a second.
    private struct Backlog {
        var blocks: Int
        var since: Duration
    }

    var fault: Fault
    private let settings: ChainSection
    private let began = Instant.now
    private var advanced = Duration.zero
    private var backlog: Backlog

    init(_ settings: ChainSection) {
        self.settings = settings
        fault = settings.fault
        backlog = Backlog(blocks: settings.behind, since: .zero)
    }

    /// The chain's own time: since the start, and what it was moved forward by.
    var time: Duration { Instant.now - began + advanced }

    /// Moves the chain's time forward: blocks appear and are indexed as if one had waited.
    mutating func advance(by duration: Duration) { advanced += duration }

    /// The indexer falls behind by this much, or moves backwards to it.
    mutating func fallBehind(by blocks: Int) { backlog = Backlog(blocks: blocks, since: time) }

    /// The heights at a time of the chain.
    func heights(at time: Duration) -> Heights {
        func blocks(_ time: Duration) -> Int {
            guard let interval = settings.blockEvery, time >= .zero else { return 0 }
            return Int(time.nanoseconds / interval.nanoseconds)
        }
        let done = Int(
            clamping: Int128((time - backlog.since).nanoseconds) * Int128(settings.catchUp) / 1_000_000_000)
        let tip = settings.tip + blocks(time)
        return Heights(
            tip: tip, indexed: settings.tip + blocks(time - settings.indexDelay) - max(0, backlog.blocks - done))
    }
}

/// `sim.chain`: how far the chain is, and how its indexer keeps up.
struct ChainSection: Sendable {
    /// The height at the start.
    var tip = 18_000_000
    /// How many blocks the indexer is behind at the start, and how many it does in a second.
    var behind = 0
    var catchUp = 1000
    /// How often a block appears, if ever, and how long the indexer takes for it: that long the node is not ready.
    var blockEvery: Duration?
    var indexDelay = Duration.zero
    var fault = SimulatedChain.Fault.none
    /// What the funding wallet holds before the first channel.
    var wallet = Amount(100_000_000_000_000)

    init() {}

    init(_ section: ConfigurationReader) throws {
        try section.refuseUnknown(
            besides: ["tip", "behind", "catch_up", "block_every", "index_delay", "fault", "wallet"])
        func number(_ key: String, _ limit: Int, _ fallback: Int) throws -> Int {
            guard let member = section.optional(key) else { return fallback }
            let number = try member.number()
            guard number <= limit else { throw member.fault("at most \(limit)") }
            return number
        }
        tip = try number("tip", 1_000_000_000_000, tip)
        behind = try number("behind", tip, behind)
        catchUp = try number("catch_up", 1_000_000, catchUp)
        if let member = section.optional("block_every") {
            guard let duration = Duration(parsing: try member.text()), duration > .zero else {
                throw member.fault("no duration; write 200ms, 2s or 1m")
            }
            blockEvery = duration
        }
        if let member = section.optional("index_delay") {
            guard let duration = Duration(parsing: try member.text()) else {
                throw member.fault("no duration; write 200ms, 2s or 1m")
            }
            indexDelay = duration
        }
        if let member = section.optional("fault") {
            guard let fault = SimulatedChain.Fault(rawValue: try member.text()) else {
                throw member.fault("expected one of \(SimulatedChain.Fault.names)")
            }
            self.fault = fault
        }
        if let member = section.optional("wallet") {
            guard let amount = Amount(ckb: try member.text()) else {
                throw member.fault("no amount; write \"500 CKB\"")
            }
            wallet = amount
        }
    }
}

extension SimulatedChain.Fault {
    /// All of them, for a message.
    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
