import CFiber
import Glibc

/// The native library as its functions. Those of the first generation are there or the library is refused; of the
/// later ones each may be missing, and the method that needs it is
/// then not offered.
public struct Library: @unchecked Sendable {
    // Safe: function pointers of a library that is never unloaded; they never change after the initialiser.
    var version: fiber_version_fn
    var start: fiber_start_fn
    var stop: fiber_stop_fn
    var stringFree: fiber_string_free_fn
    var lastErrorMessage: fiber_last_error_message_fn
    var nodeInfo: fiber_node_info_fn
    var listPeers: fiber_list_peers_fn
    var connectPeer: fiber_connect_peer_fn
    var disconnectPeer: fiber_disconnect_peer_fn
    var openChannel: fiber_open_channel_fn?
    var acceptChannel: fiber_accept_channel_fn?
    var openChannelWithExternalFunding: fiber_open_channel_with_external_funding_fn?
    var submitSignedFundingTx: fiber_submit_signed_funding_tx_fn?
    var abandonChannel: fiber_abandon_channel_fn?
    var listChannels: fiber_list_channels_fn?
    var shutdownChannel: fiber_shutdown_channel_fn?
    var updateChannel: fiber_update_channel_fn?
    var newInvoice: fiber_new_invoice_fn?
    var parseInvoice: fiber_parse_invoice_fn?
    var getInvoice: fiber_get_invoice_fn?
    var cancelInvoice: fiber_cancel_invoice_fn?
    var settleInvoice: fiber_settle_invoice_fn?
    var sendPayment: fiber_send_payment_fn?
    var buildRouter: fiber_build_router_fn?
    var sendPaymentWithRouter: fiber_send_payment_with_router_fn?
    var getPayment: fiber_get_payment_fn?
    var listPayments: fiber_list_payments_fn?
    var ckbReadiness: fiber_ckb_readiness_fn?
    var ckbBalance: fiber_ckb_balance_fn?
    var simControl: fiber_sim_control_fn?

    /// Only the simulated node has a control function.
    public var isSimulated: Bool { simControl != nil }

    /// What the library calls its version, such as `0.9.0`.
    public var versionText: String {
        guard let text = version() else { return "unknown" }
        return String(cString: text)
    }

    /// Loads the library at `path` and looks its functions up. It is never unloaded: the node's threads may outlive
    /// any moment we could choose.
    public static func load(_ path: String) throws(LibraryError) -> Library {
        let handle = try LibraryFile(path: path).open()
        var symbols = Symbols(path: path, handle: handle)
        let library = symbols.library()
        guard let library else { throw LibraryError.missingSymbols(path, symbols.missing) }
        return library
    }
}

/// The looking up of symbols, remembering which were missed.
private struct Symbols {
    let path: String
    let handle: UnsafeMutableRawPointer
    var missing: [String] = []

    init(path: String, handle: UnsafeMutableRawPointer) {
        self.path = path
        self.handle = handle
    }

    /// The function of this name as the C type that the header gives it.
    func optional<Function>(_ name: String, _ type: Function.Type = Function.self) -> Function? {
        guard let symbol = dlsym(handle, name) else { return nil }
        precondition(MemoryLayout<Function>.size == MemoryLayout<UnsafeMutableRawPointer>.size, "a C function pointer")
        return unsafeBitCast(symbol, to: Function.self)
    }

    mutating func required<Function>(_ name: String, _ type: Function.Type = Function.self) -> Function? {
        let function = optional(name, type)
        if function == nil { missing.append(name) }
        return function
    }

    mutating func library() -> Library? {
        let version: fiber_version_fn? = required("fiber_version")
        let start: fiber_start_fn? = required("fiber_start")
        let stop: fiber_stop_fn? = required("fiber_stop")
        let stringFree: fiber_string_free_fn? = required("fiber_string_free")
        let lastErrorMessage: fiber_last_error_message_fn? = required("fiber_last_error_message")
        let nodeInfo: fiber_node_info_fn? = required("fiber_node_info")
        let listPeers: fiber_list_peers_fn? = required("fiber_list_peers")
        let connectPeer: fiber_connect_peer_fn? = required("fiber_connect_peer")
        let disconnectPeer: fiber_disconnect_peer_fn? = required("fiber_disconnect_peer")
        guard let version, let start, let stop, let stringFree, let lastErrorMessage, let nodeInfo, let listPeers,
            let connectPeer, let disconnectPeer
        else { return nil }
        var library = Library(
            version: version, start: start, stop: stop, stringFree: stringFree, lastErrorMessage: lastErrorMessage,
            nodeInfo: nodeInfo, listPeers: listPeers, connectPeer: connectPeer, disconnectPeer: disconnectPeer)
        addLaterGenerations(to: &library)
        return library
    }

    private func addLaterGenerations(to library: inout Library) {
        library.openChannel = optional("fiber_open_channel")
        library.acceptChannel = optional("fiber_accept_channel")
        library.openChannelWithExternalFunding = optional("fiber_open_channel_with_external_funding")
        library.submitSignedFundingTx = optional("fiber_submit_signed_funding_tx")
        library.abandonChannel = optional("fiber_abandon_channel")
        library.listChannels = optional("fiber_list_channels")
        library.shutdownChannel = optional("fiber_shutdown_channel")
        library.updateChannel = optional("fiber_update_channel")
        library.newInvoice = optional("fiber_new_invoice")
        library.parseInvoice = optional("fiber_parse_invoice")
        library.getInvoice = optional("fiber_get_invoice")
        library.cancelInvoice = optional("fiber_cancel_invoice")
        library.settleInvoice = optional("fiber_settle_invoice")
        library.sendPayment = optional("fiber_send_payment")
        library.buildRouter = optional("fiber_build_router")
        library.sendPaymentWithRouter = optional("fiber_send_payment_with_router")
        library.getPayment = optional("fiber_get_payment")
        library.listPayments = optional("fiber_list_payments")
        library.ckbReadiness = optional("fiber_ckb_readiness")
        library.ckbBalance = optional("fiber_ckb_balance")
        library.simControl = optional("fiber_sim_control")
    }
}
