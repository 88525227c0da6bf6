import CFiber

/// Whether the chain backend can be relied on, as JSON. Status 0 also when it cannot.
@c(fiber_ckb_readiness)
public func fiberCkbReadiness(
    _ handle: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_ckb_readiness, handle, out) { { $0.readiness().text } }
}

/// What the funding wallet holds on the chain, as JSON.
@c(fiber_ckb_balance)
public func fiberCkbBalance(
    _ handle: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_ckb_balance, handle, out) { { try $0.balance().text } }
}

/// The funding address of the key in `ckb/key`. A plaintext key is rewritten, as by every reading.
@c(fiber_ckb_funding_address)
public func fiberCkbFundingAddress(
    _ options: UnsafePointer<FiberStartOptions>?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    perform(.fiber_ckb_funding_address) {
        let options = try required(options, "options")
        let out = try required(out, "out_json")
        out.pointee = nil
        let request = try StartRequest(options.pointee)
        try Faults.strike(.fiber_ckb_funding_address, .before)
        let (configuration, key) = try Preparation.configurationAndKey(request)
        try Faults.strike(.fiber_ckb_funding_address, .after)
        out.pointee = LentStrings.lend(FundingLock(key: key).address(on: configuration.chain))
    }
}

private func prepare(
    _ call: ABICall, _ options: UnsafePointer<FiberStartOptions>?, _ callback: fiber_ckb_prepare_callback?,
    _ userData: UnsafeMutableRawPointer?, from height: UInt64?
) -> FiberFfiStatus {
    perform(call) {
        let options = try required(options, "options")
        let callback = try required(callback, "completion_callback")
        let request = try StartRequest(options.pointee)
        try Faults.strike(call, .before)
        try Preparation.begin(request, from: height, PrepareSink(callback: callback, userData: userData))
        try Faults.strike(call, .after)
    }
}

/// Prepares the chain backend; what becomes of it goes to the callback.
@c(fiber_prepare_ckb)
public func fiberPrepareCkb(
    _ options: UnsafePointer<FiberStartOptions>?, _ callback: fiber_ckb_prepare_callback?,
    _ userData: UnsafeMutableRawPointer?
) -> FiberFfiStatus {
    prepare(.fiber_prepare_ckb, options, callback, userData, from: nil)
}

/// Prepares the chain backend from a block on.
@c(fiber_prepare_ckb_with_history_start_block)
public func fiberPrepareCkbWithHistoryStartBlock(
    _ options: UnsafePointer<FiberStartOptions>?, _ historyStartBlock: UInt64,
    _ callback: fiber_ckb_prepare_callback?, _ userData: UnsafeMutableRawPointer?
) -> FiberFfiStatus {
    prepare(.fiber_prepare_ckb_with_history_start_block, options, callback, userData, from: historyStartBlock)
}
