import CFiber

/// What the node says of the chain. It has no limit for the lag: with an external node every block that is not indexed
/// yet makes it not ready.
extension SimNode {
    private static let mode = "external_rpc"
    private static let unreachable = "error sending request for url (http://127.0.0.1:1/)"

    /// The answer of fiber_ckb_readiness. What is unknown is left out.
    func readiness() -> JSON {
        var answer: [String: JSON] = ["mode": .string(Self.mode), "max_acceptable_lag": .integer(0)]
        let time = chain.time
        let heights = chain.heights(at: time)
        let reason: String?
        switch chain.fault {
        case .tip: reason = "failed to query CKB chain tip: \(Self.unreachable)"
        case .noIndexer:
            answer["tip_block_number"] = JSON(heights.tip)
            reason = "CKB indexer tip is not available"
        case .indexer:
            answer["tip_block_number"] = JSON(heights.tip)
            reason = "failed to query CKB indexer tip: \(Self.unreachable)"
        case .none, .stale:
            answer["tip_block_number"] = JSON(heights.tip)
            answer["indexed_block_number"] = JSON(heights.indexed)
            answer["lag"] = JSON(heights.lag)
            if chain.fault == .stale || heights.tip == 0 {
                reason = "CKB chain tip is not current"
            } else if heights.lag > 0 {
                reason =
                    "CKB indexer is \(heights.lag) block(s) behind the chain tip; maximum acceptable lag is 0"
                answer["wait_estimate"] = waitEstimate.observe(
                    indexed: heights.indexed, lag: heights.lag, at: time)
            } else {
                reason = nil
            }
        }
        if reason != nil && answer["wait_estimate"] == nil { waitEstimate.reset() }
        answer["ready"] = .bool(reason == nil)
        answer["reason"] = reason.map(JSON.string)
        return .object(answer)
    }

    /// Status 6 while the chain cannot be relied on, with the whole answer of fiber_ckb_readiness in its text.
    func refuseUnlessReady() throws {
        let readiness = readiness()
        guard readiness["ready"] == .bool(true) else {
            throw Refusal(FIBER_FFI_STATUS_NOT_READY, "CKB backend is not ready: \(readiness.text)")
        }
    }

    /// The answer of fiber_ckb_balance. The key is read anew each time, so the password must be there.
    func balance() throws -> JSON {
        let key: [UInt8]
        do { key = try KeyFile.read(path: keyPath) } catch {
            throw Refusal.invalid("failed to derive the CKB funding lock script: \(error.text)")
        }
        guard chain.fault == .none || chain.fault == .stale else {
            throw Refusal.invalid("failed to query CKB wallet cells: \(Self.unreachable)")
        }
        let readiness = readiness()
        var answer: [String: JSON] = ["simulated": .bool(true), "scope": "base_ckb_only"]
        for name in ["ready", "mode", "tip_block_number", "indexed_block_number", "lag"] {
            answer[name] = readiness[name]
        }
        let lock = FundingLock(key: key)
        answer["address"] = .string(lock.address(on: configuration.chain))
        answer["lock_args"] = .string("0x" + lock.arguments.hex)
        answer["cell_count"] = JSON(wallet == 0 ? 0 : 1 + channels.count { $0.returned.value > 0 })
        answer["capacity_shannons"] = .string(String(wallet))
        let decimals = String(wallet % 100_000_000)
        answer["capacity_ckb"] = .string(
            "\(wallet / 100_000_000).\(String(repeating: "0", count: 8 - decimals.count))\(decimals)")
        return .object(answer)
    }

    /// What the funding wallet holds: what it began with, without what the channels took, with what they gave back.
    var wallet: UInt128 {
        let begun = configuration.simulation.chain.wallet.value
        let taken = channels.reduce(0) { $0 + $1.spent.value }
        let returned = channels.reduce(0) { $0 + $1.returned.value }
        return begun + returned > taken ? begun + returned - taken : 0
    }
}

/// The lock of the funding wallet.
struct FundingLock {
    /// 20 bytes that follow from the key.
    let arguments: [UInt8]

    init(key: [UInt8]) { arguments = Array(SimulatedDigest.of([Array("lock".utf8), key]).prefix(20)) }

    /// An address in the full form of
    /// https://github.com/nervosnetwork/rfcs/blob/master/rfcs/0021-ckb-address-format/0021-ckb-address-format.md, with a
    /// hash type that does not exist: no wallet sends real money to it.
    func address(on chain: Chain) -> String {
        let code = SimulatedDigest.of([Array("the simulated funding lock".utf8)])
        return Bech32m.encode(prefix: chain == .mainnet ? "ckb" : "ckt", [0] + code + [0xFF] + arguments)
    }
}
