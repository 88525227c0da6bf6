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
