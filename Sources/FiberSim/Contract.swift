import CFiber

/// A call that is refused: its status and the text of the last error.
struct Refusal: Error, Equatable {
    let status: FiberFfiStatus
    let text: String

    init(_ status: FiberFfiStatus, _ text: String) {
        self.status = status
        self.text = text
    }

    /// Status 2: a bad argument, or a failure that the node reports as a plain sentence.
    static func invalid(_ text: String) -> Refusal { Refusal(FIBER_FFI_STATUS_INVALID_ARGUMENT, text) }

    /// A member of a request that does not have the type the node wants.
    static func invalidOptions(_ text: String) -> Refusal { .invalid("invalid native options: \(text)") }

    /// What the real library makes of any panic; its details go to stderr.
    static let panicked = Refusal(FIBER_FFI_STATUS_PANIC, "fiber ffi call panicked")

    /// A failure of a channel, payment or invoice command. It goes through the node's RPC layer, so the text is the
    /// debug print of a JSON-RPC error that repeats the whole request.
    static func rpc(_ message: String, request: JSON) -> Refusal {
        .invalid(
            "ErrorObject { code: ServerError(-32000), message: \(debugPrint(message)), "
                + "data: Some(RawValue(\(request.text))) }")
    }

    /// Rust's debug print of a string.
    private static func debugPrint(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        return "\"\(escaped)\""
    }
}

/// The functions of the ABI that answer a status, under their C names: what is counted and where faults can be armed.
enum ABICall: String, CaseIterable, Sendable {
    case fiber_start, fiber_stop, fiber_node_info, fiber_list_peers, fiber_connect_peer, fiber_disconnect_peer
    case fiber_open_channel, fiber_list_channels, fiber_new_invoice, fiber_send_payment, fiber_get_payment
    case fiber_ckb_funding_address, fiber_ckb_discover_history_start_block, fiber_prepare_ckb
    case fiber_prepare_ckb_with_history_start_block, fiber_ckb_readiness, fiber_ckb_balance, fiber_accept_channel
    case fiber_open_channel_with_external_funding, fiber_submit_signed_funding_tx, fiber_abandon_channel
    case fiber_shutdown_channel, fiber_update_channel, fiber_build_router, fiber_send_payment_with_router
    case fiber_list_payments, fiber_parse_invoice, fiber_get_invoice, fiber_cancel_invoice, fiber_settle_invoice
}

/// The string outputs of the ABI.
typealias StringOut = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// Runs the body of a call, and sets or clears this thread's last error by its outcome.
func settle(_ body: () throws -> Void) -> FiberFfiStatus {
    do {
        try body()
        LastError.clear()
        return FIBER_FFI_STATUS_OK
    } catch let refusal as Refusal {
        LastError.set(refusal.text)
        return refusal.status
    } catch {
        // What is left is the store: the real node panics when its database does not take a write.
        Standard.error("a panic in the simulated node: \(error)")
        LastError.set(Refusal.panicked.text)
        return FIBER_FFI_STATUS_PANIC
    }
}

/// `settle` for a function of the ABI, which is counted.
func perform(_ name: ABICall, _ body: () throws -> Void) -> FiberFfiStatus {
    CallCounts.count(name)
    return settle(body)
}

/// The pointer, or the refusal that the ABI gives for NULL.
func required<Pointer>(_ pointer: Pointer?, _ name: String) throws -> Pointer {
    guard let pointer else { throw Refusal(FIBER_FFI_STATUS_NULL_POINTER, "\(name) must be non-null") }
    return pointer
}

/// A call on a handle that answers nothing. `prepare` makes all checks on the calling thread and returns what the node
/// has to do.
func call(
    _ name: ABICall, _ handle: OpaquePointer?, _ prepare: () throws -> @Sendable (SimNode) throws -> Void
) -> FiberFfiStatus {
    perform(name) {
        try Handles.borrow(required(handle, "handle"), for: name) { running in
            try running.run(name, prepare())
        }
    }
}

/// A call on a handle without options that answers a string: the output is checked and zeroed before any argument is
/// looked at.
func answer(
    _ name: ABICall, _ handle: OpaquePointer?, _ out: StringOut?,
    _ prepare: () throws -> @Sendable (SimNode) throws -> String
) -> FiberFfiStatus {
    perform(name) {
        try Handles.borrow(required(handle, "handle"), for: name) { running in
            let out = try required(out, "out_json")
            out.pointee = nil
            out.pointee = LentStrings.lend(try running.run(name, prepare()))
        }
    }
}

/// A call on a handle with an options struct that answers a string.
func answer<Options: SizedOptions>(
    _ name: ABICall, _ handle: OpaquePointer?, _ options: UnsafePointer<Options>?, _ out: StringOut?,
    _ prepare: (Options) throws -> @Sendable (SimNode) throws -> String
) -> FiberFfiStatus {
    perform(name) {
        try Handles.borrow(required(handle, "handle"), for: name) { running in
            let options = try required(options, "options")
            let out = try required(out, "out_json")
            out.pointee = nil
            out.pointee = LentStrings.lend(try running.run(name, prepare(Options.checked(options))))
        }
    }
}

/// An options struct that starts with `struct_size` and `flags`.
protocol SizedOptions {}

extension SizedOptions {
    /// The struct behind the pointer, once its header says that all of it is there. Only the header is read before
    /// that.
    static func checked(_ pointer: UnsafePointer<Self>) throws -> Self {
        let header = UnsafeRawPointer(pointer)
        let name = "\(Self.self)"
        let size = header.load(as: UInt32.self)
        guard size != 0 else { throw Refusal.invalid("\(name).struct_size must be set to sizeof(\(name))") }
        guard size >= MemoryLayout<Self>.size else {
            throw Refusal.invalid(
                "\(name).struct_size is too small: got \(size), expected at least \(MemoryLayout<Self>.size)")
        }
        guard header.load(fromByteOffset: 4, as: UInt32.self) == 0 else {
            throw Refusal.invalid("\(name).flags must be 0")
        }
        return pointer.pointee
    }
}
