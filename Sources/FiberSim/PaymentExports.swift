import CFiber

/// Creates a payment session and returns without its outcome; the answer is the payment as JSON.
@c(fiber_send_payment)
public func fiberSendPayment(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberSendPaymentOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_send_payment, handle, options, out) { options in
        let request = try SendPaymentRequest(RequestParameters(options))
        return { node in try node.sendPayment(request).text }
    }
}

/// One payment by its hash, as JSON.
@c(fiber_get_payment)
public func fiberGetPayment(
    _ handle: OpaquePointer?, _ paymentHash: UnsafePointer<CChar>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_get_payment, handle, out) {
        let hash = try Hash256(parsing: Text.required(paymentHash, "payment_hash"))
        return { node in try node.getPayment(hash).text }
    }
}

/// The payments in the order of their hashes, a page of them, as JSON.
@c(fiber_list_payments)
public func fiberListPayments(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberListPaymentsOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_list_payments, handle, options, out) { options in
        let request = try ListPaymentsRequest(RequestParameters(options))
        return { node in node.listPayments(request).text }
    }
}

/// A route over given hops, as JSON.
@c(fiber_build_router)
public func fiberBuildRouter(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberBuildRouterOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_build_router, handle, options, out) { options in
        let request = try BuildRouterRequest(RequestParameters(options))
        return { node in try node.buildRouter(request).text }
    }
}

/// Creates a payment session over a given route; the answer is the payment as JSON.
@c(fiber_send_payment_with_router)
public func fiberSendPaymentWithRouter(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberSendPaymentWithRouterOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_send_payment_with_router, handle, options, out) { options in
        let request = try RouterPaymentRequest(RequestParameters(options))
        return { node in try node.sendPayment(request).text }
    }
}
