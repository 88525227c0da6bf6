import CFiber

// The one call that the simulator only checks. Its arguments are refused as the real library refuses them; a sound call
// is answered with status 2 and a text that says that it is not simulated: it asks a chain over HTTP, and there is none.

/// The first block of a wallet: not simulated.
@c(fiber_ckb_discover_history_start_block)
public func fiberCkbDiscoverHistoryStartBlock(
    _ options: UnsafePointer<FiberCkbDiscoverHistoryStartBlockOptions>?, _ outHeight: UnsafeMutablePointer<UInt64>?
) -> FiberFfiStatus {
    perform(.fiber_ckb_discover_history_start_block) {
        let options = try required(options, "options")
        try required(outHeight, "out_height").pointee = 0
        let checked = try FiberCkbDiscoverHistoryStartBlockOptions.checked(options)
        let url = try Text.required(checked.rpc_url, "rpc_url")
        let identities = try [checked.lock_args, checked.pubkey, checked.address].compactMap(Text.nonEmpty)
        for (flag, name) in [
            (checked.has_safety_blocks, "has_safety_blocks"), (checked.has_max_indexer_lag, "has_max_indexer_lag"),
        ] where flag != 0 && flag != 1 {
            throw Refusal.invalid("\(name) must be 0 or 1")
        }
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw Refusal.invalid("rpc_url must use http:// or https://")
        }
        guard identities.filter({ $0.contains { !$0.isWhitespace } }).count == 1 else {
            throw Refusal.invalid("exactly one of lock_args, pubkey, and address must be supplied")
        }
        try Faults.strike(.fiber_ckb_discover_history_start_block, .before)
        throw Refusal.invalid("simulator: fiber_ckb_discover_history_start_block is not simulated")
    }
}
