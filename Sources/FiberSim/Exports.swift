// FiberSim: a simulated Fiber node behind the whole C ABI of libfiber_ffi, so that everything runs on a fresh machine.
// It is the one stand-in of the project and therefore stricter than the library it stands for: what that one forgives
// or turns into undefined behaviour (a handle used after fiber_stop, a string freed twice, an event read after its
// callback) ends the process here with a message. Whatever it says, it says that it is simulated. It shares no code
// with the host that loads it.
//
// Start here, with start and stop, peers and the strings; the other calls are in ChannelExports.swift,
// PaymentExports.swift, InvoiceExports.swift and ChainExports.swift, and Unsimulated.swift has the one that is checked
// and then refused. Then read Contract.swift (the order of checks and the last error), Lifecycle.swift (start and stop)
// and SimNode.swift (the node behind the handle).

import CFiber

/// The version: never NULL, static, not to be freed.
@c(fiber_version)
public func fiberVersion() -> UnsafePointer<CChar>? { versionText }

/// Starts the one node of this process. Blocks until it runs.
@c(fiber_start)
public func fiberStart(
    _ options: UnsafePointer<FiberStartOptions>?, _ outHandle: UnsafeMutablePointer<OpaquePointer?>?
) -> FiberFfiStatus {
    perform(.fiber_start) {
        guard let options, let outHandle else {
            throw Refusal(FIBER_FFI_STATUS_NULL_POINTER, "options and out_handle must be non-null")
        }
        outHandle.pointee = nil
        outHandle.pointee = try Lifecycle.start(StartRequest(options.pointee))
    }
}

/// Stops the node. The handle is gone when this is called, whatever is returned.
@c(fiber_stop)
public func fiberStop(_ handle: OpaquePointer?) -> FiberFfiStatus {
    perform(.fiber_stop) { try Lifecycle.stop(required(handle, "handle")) }
}

/// What the node says of itself, as JSON.
@c(fiber_node_info)
public func fiberNodeInfo(
    _ handle: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_node_info, handle, out) { { $0.nodeInfo().text } }
}

/// The connected peers, as JSON.
@c(fiber_list_peers)
public func fiberListPeers(
    _ handle: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_list_peers, handle, out) { { $0.listPeers().text } }
}

/// Queues a dial.
@c(fiber_connect_peer)
public func fiberConnectPeer(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberConnectPeerOptions>?
) -> FiberFfiStatus {
    call(.fiber_connect_peer, handle) {
        let request = try ConnectRequest(required(options, "options").pointee)
        return { node in try node.connect(request) }
    }
}

/// Ends the connection to a peer.
@c(fiber_disconnect_peer)
public func fiberDisconnectPeer(_ handle: OpaquePointer?, _ pubkey: UnsafePointer<CChar>?) -> FiberFfiStatus {
    call(.fiber_disconnect_peer, handle) {
        let pubkey = try Pubkey(parsing: Text.required(pubkey, "pubkey"))
        return { node in try node.disconnect(pubkey) }
    }
}

/// Frees a string that the library returned. NULL is nothing to free.
@c(fiber_string_free)
public func fiberStringFree(_ string: UnsafeMutablePointer<CChar>?) {
    if let string { LentStrings.takeBack(string) }
}

/// The message of this thread's last failed call: its full length in bytes, whatever the buffer holds.
@c(fiber_last_error_message)
public func fiberLastErrorMessage(_ buffer: UnsafeMutablePointer<CChar>?, _ length: Int) -> Int {
    LastError.copy(to: buffer, size: length)
}

/// One command to the simulator (design of the simulated node; see fiber_sim.h). JSON in, JSON out.
@c(fiber_sim_control)
public func fiberSimControl(
    _ request: UnsafePointer<CChar>?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
    let status = settle {
        let out = try required(out, "out_json")
        out.pointee = nil
        out.pointee = LentStrings.lend(try Control.perform(Text.required(request, "request_json")))
    }
    return Int32(status.rawValue)
}
