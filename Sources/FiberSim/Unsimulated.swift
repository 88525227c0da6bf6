import CFiber

// Calls that the simulator only checks. Their arguments are refused as the real library refuses them; a sound call is
// answered with status 2 and a text that says that it is not simulated.

private func refusal(_ call: ABICall) -> Refusal { .invalid("simulator: \(call.rawValue) is not simulated") }

/// The funding address of the key in `ckb/key`: not simulated.
@c(fiber_ckb_funding_address)
public func fiberCkbFundingAddress(
    _ options: UnsafePointer<FiberStartOptions>?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    perform(.fiber_ckb_funding_address) {
        let options = try required(options, "options")
        let out = try required(out, "out_json")
        out.pointee = nil
        _ = try StartRequest(options.pointee)
        try Faults.strike(.fiber_ckb_funding_address, .before)
        throw refusal(.fiber_ckb_funding_address)
    }
}

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
        throw refusal(.fiber_ckb_discover_history_start_block)
    }
}

private func prepare(
    _ call: ABICall, _ options: UnsafePointer<FiberStartOptions>?, _ callback: fiber_ckb_prepare_callback?
) -> FiberFfiStatus {
    perform(call) {
        let options = try required(options, "options")
        _ = try required(callback, "completion_callback")
        _ = try StartRequest(options.pointee)
        try Faults.strike(call, .before)
        throw refusal(call)
    }
}

/// Preparation of the chain backend: not simulated.
@c(fiber_prepare_ckb)
public func fiberPrepareCkb(
    _ options: UnsafePointer<FiberStartOptions>?, _ callback: fiber_ckb_prepare_callback?,
    _ userData: UnsafeMutableRawPointer?
) -> FiberFfiStatus {
    prepare(.fiber_prepare_ckb, options, callback)
}

/// Preparation of the chain backend from a block on: not simulated.
@c(fiber_prepare_ckb_with_history_start_block)
public func fiberPrepareCkbWithHistoryStartBlock(
    _ options: UnsafePointer<FiberStartOptions>?, _ historyStartBlock: UInt64,
    _ callback: fiber_ckb_prepare_callback?, _ userData: UnsafeMutableRawPointer?
) -> FiberFfiStatus {
    prepare(.fiber_prepare_ckb_with_history_start_block, options, callback)
}
