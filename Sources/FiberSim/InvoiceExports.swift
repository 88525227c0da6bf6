import CFiber

/// Makes an invoice; the answer is its text.
@c(fiber_new_invoice)
public func fiberNewInvoice(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberNewInvoiceOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_new_invoice, handle, options, out) { options in
        let request = try NewInvoiceRequest(RequestParameters(options))
        return { node in try node.newInvoice(request) }
    }
}

/// What an invoice says, as JSON.
@c(fiber_parse_invoice)
public func fiberParseInvoice(
    _ handle: OpaquePointer?, _ invoice: UnsafePointer<CChar>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_parse_invoice, handle, out) {
        let text = try Text.required(invoice, "invoice")
        return { node in try node.parseInvoice(text).text }
    }
}

/// An own invoice by its hash, with its status, as JSON.
@c(fiber_get_invoice)
public func fiberGetInvoice(
    _ handle: OpaquePointer?, _ paymentHash: UnsafePointer<CChar>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_get_invoice, handle, out) {
        let hash = try Hash256(parsing: Text.required(paymentHash, "payment_hash"))
        return { node in try node.getInvoice(hash).text }
    }
}

/// Ends an own invoice; the answer is the invoice as JSON.
@c(fiber_cancel_invoice)
public func fiberCancelInvoice(
    _ handle: OpaquePointer?, _ paymentHash: UnsafePointer<CChar>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_cancel_invoice, handle, out) {
        let hash = try Hash256(parsing: Text.required(paymentHash, "payment_hash"))
        return { node in try node.cancelInvoice(hash).text }
    }
}

/// The preimage for a held payment.
@c(fiber_settle_invoice)
public func fiberSettleInvoice(
    _ handle: OpaquePointer?, _ paymentHash: UnsafePointer<CChar>?, _ paymentPreimage: UnsafePointer<CChar>?
) -> FiberFfiStatus {
    call(.fiber_settle_invoice, handle) {
        let hashText = try Text.required(paymentHash, "payment_hash")
        let preimageText = try Text.required(paymentPreimage, "payment_preimage")
        let hash = try Hash256(parsing: hashText)
        let preimage = try Hash256(parsing: preimageText)
        return { node in try node.settleInvoice(hash, preimage: preimage) }
    }
}
