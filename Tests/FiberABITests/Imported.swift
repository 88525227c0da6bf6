import CFiber

/// One struct of the header, as Swift sees it.
struct ImportedStruct: Sendable {
    let name: String
    let size: Int
    let stride: Int
    let alignment: Int
    let fields: [ImportedField]

    init<Struct>(_ type: Struct.Type, _ fields: [ImportedField]) {
        name = "\(type)"
        size = MemoryLayout<Struct>.size
        stride = MemoryLayout<Struct>.stride
        alignment = MemoryLayout<Struct>.alignment
        self.fields = fields
    }
}

/// One member of a struct: its name and where it lies.
struct ImportedField: Sendable, Equatable {
    let name: String
    let offset: Int?
    let size: Int

    init(name: String, offset: Int?, size: Int) {
        self.name = name
        self.offset = offset
        self.size = size
    }

    init<Struct, Value>(_ name: String, _ path: KeyPath<Struct, Value>) {
        self.init(name: name, offset: MemoryLayout<Struct>.offset(of: path), size: MemoryLayout<Value>.size)
    }
}

// A key path cannot be made from a name, so each member is written out; the test sees to it that none is missing.
private let fiberU128 = ImportedStruct(
    FiberU128.self,
    [
        ImportedField("low", \FiberU128.low),
        ImportedField("high", \FiberU128.high),
    ])

private let fiberStartOptions = ImportedStruct(
    FiberStartOptions.self,
    [
        ImportedField("config_path", \FiberStartOptions.config_path),
        ImportedField("database_prefix", \FiberStartOptions.database_prefix),
        ImportedField("log_level", \FiberStartOptions.log_level),
        ImportedField("event_callback", \FiberStartOptions.event_callback),
        ImportedField("event_callback_user_data", \FiberStartOptions.event_callback_user_data),
    ])

private let fiberConnectPeerOptions = ImportedStruct(
    FiberConnectPeerOptions.self,
    [
        ImportedField("address", \FiberConnectPeerOptions.address),
        ImportedField("pubkey", \FiberConnectPeerOptions.pubkey),
        ImportedField("addr_type", \FiberConnectPeerOptions.addr_type),
        ImportedField("save", \FiberConnectPeerOptions.save),
    ])

private let fiberCkbDiscoverHistoryStartBlockOptions = ImportedStruct(
    FiberCkbDiscoverHistoryStartBlockOptions.self,
    [
        ImportedField("struct_size", \FiberCkbDiscoverHistoryStartBlockOptions.struct_size),
        ImportedField("flags", \FiberCkbDiscoverHistoryStartBlockOptions.flags),
        ImportedField("rpc_url", \FiberCkbDiscoverHistoryStartBlockOptions.rpc_url),
        ImportedField("lock_args", \FiberCkbDiscoverHistoryStartBlockOptions.lock_args),
        ImportedField("pubkey", \FiberCkbDiscoverHistoryStartBlockOptions.pubkey),
        ImportedField("address", \FiberCkbDiscoverHistoryStartBlockOptions.address),
        ImportedField("safety_blocks", \FiberCkbDiscoverHistoryStartBlockOptions.safety_blocks),
        ImportedField("has_safety_blocks", \FiberCkbDiscoverHistoryStartBlockOptions.has_safety_blocks),
        ImportedField("max_indexer_lag", \FiberCkbDiscoverHistoryStartBlockOptions.max_indexer_lag),
        ImportedField("has_max_indexer_lag", \FiberCkbDiscoverHistoryStartBlockOptions.has_max_indexer_lag),
    ])

private let fiberOpenChannelOptions = ImportedStruct(
    FiberOpenChannelOptions.self,
    [
        ImportedField("struct_size", \FiberOpenChannelOptions.struct_size),
        ImportedField("flags", \FiberOpenChannelOptions.flags),
        ImportedField("pubkey", \FiberOpenChannelOptions.pubkey),
        ImportedField("funding_amount", \FiberOpenChannelOptions.funding_amount),
        ImportedField("has_public", \FiberOpenChannelOptions.has_public),
        ImportedField("public_", \FiberOpenChannelOptions.public_),
        ImportedField("has_one_way", \FiberOpenChannelOptions.has_one_way),
        ImportedField("one_way", \FiberOpenChannelOptions.one_way),
        ImportedField("funding_udt_type_script_json", \FiberOpenChannelOptions.funding_udt_type_script_json),
        ImportedField("shutdown_script_json", \FiberOpenChannelOptions.shutdown_script_json),
        ImportedField("commitment_delay_epoch", \FiberOpenChannelOptions.commitment_delay_epoch),
        ImportedField("has_commitment_delay_epoch", \FiberOpenChannelOptions.has_commitment_delay_epoch),
        ImportedField("commitment_fee_rate", \FiberOpenChannelOptions.commitment_fee_rate),
        ImportedField("has_commitment_fee_rate", \FiberOpenChannelOptions.has_commitment_fee_rate),
        ImportedField("funding_fee_rate", \FiberOpenChannelOptions.funding_fee_rate),
        ImportedField("has_funding_fee_rate", \FiberOpenChannelOptions.has_funding_fee_rate),
        ImportedField("tlc_expiry_delta", \FiberOpenChannelOptions.tlc_expiry_delta),
        ImportedField("has_tlc_expiry_delta", \FiberOpenChannelOptions.has_tlc_expiry_delta),
        ImportedField("tlc_min_value", \FiberOpenChannelOptions.tlc_min_value),
        ImportedField("has_tlc_min_value", \FiberOpenChannelOptions.has_tlc_min_value),
        ImportedField("tlc_fee_proportional_millionths", \FiberOpenChannelOptions.tlc_fee_proportional_millionths),
        ImportedField(
            "has_tlc_fee_proportional_millionths", \FiberOpenChannelOptions.has_tlc_fee_proportional_millionths),
        ImportedField("max_tlc_value_in_flight", \FiberOpenChannelOptions.max_tlc_value_in_flight),
        ImportedField("has_max_tlc_value_in_flight", \FiberOpenChannelOptions.has_max_tlc_value_in_flight),
        ImportedField("max_tlc_number_in_flight", \FiberOpenChannelOptions.max_tlc_number_in_flight),
        ImportedField("has_max_tlc_number_in_flight", \FiberOpenChannelOptions.has_max_tlc_number_in_flight),
    ])

private let fiberAcceptChannelOptions = ImportedStruct(
    FiberAcceptChannelOptions.self,
    [
        ImportedField("struct_size", \FiberAcceptChannelOptions.struct_size),
        ImportedField("flags", \FiberAcceptChannelOptions.flags),
        ImportedField("temporary_channel_id", \FiberAcceptChannelOptions.temporary_channel_id),
        ImportedField("funding_amount", \FiberAcceptChannelOptions.funding_amount),
        ImportedField("shutdown_script_json", \FiberAcceptChannelOptions.shutdown_script_json),
        ImportedField("max_tlc_value_in_flight", \FiberAcceptChannelOptions.max_tlc_value_in_flight),
        ImportedField("has_max_tlc_value_in_flight", \FiberAcceptChannelOptions.has_max_tlc_value_in_flight),
        ImportedField("max_tlc_number_in_flight", \FiberAcceptChannelOptions.max_tlc_number_in_flight),
        ImportedField("has_max_tlc_number_in_flight", \FiberAcceptChannelOptions.has_max_tlc_number_in_flight),
        ImportedField("tlc_min_value", \FiberAcceptChannelOptions.tlc_min_value),
        ImportedField("has_tlc_min_value", \FiberAcceptChannelOptions.has_tlc_min_value),
        ImportedField("tlc_fee_proportional_millionths", \FiberAcceptChannelOptions.tlc_fee_proportional_millionths),
        ImportedField(
            "has_tlc_fee_proportional_millionths", \FiberAcceptChannelOptions.has_tlc_fee_proportional_millionths),
        ImportedField("tlc_expiry_delta", \FiberAcceptChannelOptions.tlc_expiry_delta),
        ImportedField("has_tlc_expiry_delta", \FiberAcceptChannelOptions.has_tlc_expiry_delta),
    ])

private let fiberOpenChannelWithExternalFundingOptions = ImportedStruct(
    FiberOpenChannelWithExternalFundingOptions.self,
    [
        ImportedField("struct_size", \FiberOpenChannelWithExternalFundingOptions.struct_size),
        ImportedField("flags", \FiberOpenChannelWithExternalFundingOptions.flags),
        ImportedField("pubkey", \FiberOpenChannelWithExternalFundingOptions.pubkey),
        ImportedField("funding_amount", \FiberOpenChannelWithExternalFundingOptions.funding_amount),
        ImportedField("has_public", \FiberOpenChannelWithExternalFundingOptions.has_public),
        ImportedField("public_", \FiberOpenChannelWithExternalFundingOptions.public_),
        ImportedField(
            "funding_udt_type_script_json", \FiberOpenChannelWithExternalFundingOptions.funding_udt_type_script_json),
        ImportedField("shutdown_script_json", \FiberOpenChannelWithExternalFundingOptions.shutdown_script_json),
        ImportedField("funding_lock_script_json", \FiberOpenChannelWithExternalFundingOptions.funding_lock_script_json),
        ImportedField(
            "funding_lock_script_cell_deps_json",
            \FiberOpenChannelWithExternalFundingOptions.funding_lock_script_cell_deps_json),
        ImportedField("commitment_delay_epoch", \FiberOpenChannelWithExternalFundingOptions.commitment_delay_epoch),
        ImportedField(
            "has_commitment_delay_epoch", \FiberOpenChannelWithExternalFundingOptions.has_commitment_delay_epoch),
        ImportedField("commitment_fee_rate", \FiberOpenChannelWithExternalFundingOptions.commitment_fee_rate),
        ImportedField("has_commitment_fee_rate", \FiberOpenChannelWithExternalFundingOptions.has_commitment_fee_rate),
        ImportedField("funding_fee_rate", \FiberOpenChannelWithExternalFundingOptions.funding_fee_rate),
        ImportedField("has_funding_fee_rate", \FiberOpenChannelWithExternalFundingOptions.has_funding_fee_rate),
        ImportedField("tlc_expiry_delta", \FiberOpenChannelWithExternalFundingOptions.tlc_expiry_delta),
        ImportedField("has_tlc_expiry_delta", \FiberOpenChannelWithExternalFundingOptions.has_tlc_expiry_delta),
        ImportedField("tlc_min_value", \FiberOpenChannelWithExternalFundingOptions.tlc_min_value),
        ImportedField("has_tlc_min_value", \FiberOpenChannelWithExternalFundingOptions.has_tlc_min_value),
        ImportedField(
            "tlc_fee_proportional_millionths",
            \FiberOpenChannelWithExternalFundingOptions.tlc_fee_proportional_millionths),
        ImportedField(
            "has_tlc_fee_proportional_millionths",
            \FiberOpenChannelWithExternalFundingOptions.has_tlc_fee_proportional_millionths),
        ImportedField("max_tlc_value_in_flight", \FiberOpenChannelWithExternalFundingOptions.max_tlc_value_in_flight),
        ImportedField(
            "has_max_tlc_value_in_flight", \FiberOpenChannelWithExternalFundingOptions.has_max_tlc_value_in_flight),
        ImportedField("max_tlc_number_in_flight", \FiberOpenChannelWithExternalFundingOptions.max_tlc_number_in_flight),
        ImportedField(
            "has_max_tlc_number_in_flight", \FiberOpenChannelWithExternalFundingOptions.has_max_tlc_number_in_flight),
    ])

private let fiberSubmitSignedFundingTxOptions = ImportedStruct(
    FiberSubmitSignedFundingTxOptions.self,
    [
        ImportedField("struct_size", \FiberSubmitSignedFundingTxOptions.struct_size),
        ImportedField("flags", \FiberSubmitSignedFundingTxOptions.flags),
        ImportedField("channel_id", \FiberSubmitSignedFundingTxOptions.channel_id),
        ImportedField("signed_funding_tx_json", \FiberSubmitSignedFundingTxOptions.signed_funding_tx_json),
    ])

private let fiberListChannelsOptions = ImportedStruct(
    FiberListChannelsOptions.self,
    [
        ImportedField("struct_size", \FiberListChannelsOptions.struct_size),
        ImportedField("flags", \FiberListChannelsOptions.flags),
        ImportedField("pubkey", \FiberListChannelsOptions.pubkey),
        ImportedField("has_include_closed", \FiberListChannelsOptions.has_include_closed),
        ImportedField("include_closed", \FiberListChannelsOptions.include_closed),
        ImportedField("has_only_pending", \FiberListChannelsOptions.has_only_pending),
        ImportedField("only_pending", \FiberListChannelsOptions.only_pending),
    ])

private let fiberShutdownChannelOptions = ImportedStruct(
    FiberShutdownChannelOptions.self,
    [
        ImportedField("struct_size", \FiberShutdownChannelOptions.struct_size),
        ImportedField("flags", \FiberShutdownChannelOptions.flags),
        ImportedField("channel_id", \FiberShutdownChannelOptions.channel_id),
        ImportedField("close_script_json", \FiberShutdownChannelOptions.close_script_json),
        ImportedField("fee_rate", \FiberShutdownChannelOptions.fee_rate),
        ImportedField("has_fee_rate", \FiberShutdownChannelOptions.has_fee_rate),
        ImportedField("has_force", \FiberShutdownChannelOptions.has_force),
        ImportedField("force", \FiberShutdownChannelOptions.force),
    ])

private let fiberUpdateChannelOptions = ImportedStruct(
    FiberUpdateChannelOptions.self,
    [
        ImportedField("struct_size", \FiberUpdateChannelOptions.struct_size),
        ImportedField("flags", \FiberUpdateChannelOptions.flags),
        ImportedField("channel_id", \FiberUpdateChannelOptions.channel_id),
        ImportedField("has_enabled", \FiberUpdateChannelOptions.has_enabled),
        ImportedField("enabled", \FiberUpdateChannelOptions.enabled),
        ImportedField("tlc_expiry_delta", \FiberUpdateChannelOptions.tlc_expiry_delta),
        ImportedField("has_tlc_expiry_delta", \FiberUpdateChannelOptions.has_tlc_expiry_delta),
        ImportedField("tlc_minimum_value", \FiberUpdateChannelOptions.tlc_minimum_value),
        ImportedField("has_tlc_minimum_value", \FiberUpdateChannelOptions.has_tlc_minimum_value),
        ImportedField("tlc_fee_proportional_millionths", \FiberUpdateChannelOptions.tlc_fee_proportional_millionths),
        ImportedField(
            "has_tlc_fee_proportional_millionths", \FiberUpdateChannelOptions.has_tlc_fee_proportional_millionths),
    ])

private let fiberSendPaymentOptions = ImportedStruct(
    FiberSendPaymentOptions.self,
    [
        ImportedField("struct_size", \FiberSendPaymentOptions.struct_size),
        ImportedField("flags", \FiberSendPaymentOptions.flags),
        ImportedField("target_pubkey", \FiberSendPaymentOptions.target_pubkey),
        ImportedField("amount", \FiberSendPaymentOptions.amount),
        ImportedField("has_amount", \FiberSendPaymentOptions.has_amount),
        ImportedField("payment_hash", \FiberSendPaymentOptions.payment_hash),
        ImportedField("final_tlc_expiry_delta", \FiberSendPaymentOptions.final_tlc_expiry_delta),
        ImportedField("has_final_tlc_expiry_delta", \FiberSendPaymentOptions.has_final_tlc_expiry_delta),
        ImportedField("tlc_expiry_limit", \FiberSendPaymentOptions.tlc_expiry_limit),
        ImportedField("has_tlc_expiry_limit", \FiberSendPaymentOptions.has_tlc_expiry_limit),
        ImportedField("invoice", \FiberSendPaymentOptions.invoice),
        ImportedField("timeout", \FiberSendPaymentOptions.timeout),
        ImportedField("has_timeout", \FiberSendPaymentOptions.has_timeout),
        ImportedField("max_fee_amount", \FiberSendPaymentOptions.max_fee_amount),
        ImportedField("has_max_fee_amount", \FiberSendPaymentOptions.has_max_fee_amount),
        ImportedField("max_fee_rate", \FiberSendPaymentOptions.max_fee_rate),
        ImportedField("has_max_fee_rate", \FiberSendPaymentOptions.has_max_fee_rate),
        ImportedField("max_parts", \FiberSendPaymentOptions.max_parts),
        ImportedField("has_max_parts", \FiberSendPaymentOptions.has_max_parts),
        ImportedField("trampoline_hops_json", \FiberSendPaymentOptions.trampoline_hops_json),
        ImportedField("has_keysend", \FiberSendPaymentOptions.has_keysend),
        ImportedField("keysend", \FiberSendPaymentOptions.keysend),
        ImportedField("udt_type_script_json", \FiberSendPaymentOptions.udt_type_script_json),
        ImportedField("has_allow_self_payment", \FiberSendPaymentOptions.has_allow_self_payment),
        ImportedField("allow_self_payment", \FiberSendPaymentOptions.allow_self_payment),
        ImportedField("custom_records_json", \FiberSendPaymentOptions.custom_records_json),
        ImportedField("hop_hints_json", \FiberSendPaymentOptions.hop_hints_json),
        ImportedField("has_dry_run", \FiberSendPaymentOptions.has_dry_run),
        ImportedField("dry_run", \FiberSendPaymentOptions.dry_run),
    ])

private let fiberBuildRouterOptions = ImportedStruct(
    FiberBuildRouterOptions.self,
    [
        ImportedField("struct_size", \FiberBuildRouterOptions.struct_size),
        ImportedField("flags", \FiberBuildRouterOptions.flags),
        ImportedField("amount", \FiberBuildRouterOptions.amount),
        ImportedField("has_amount", \FiberBuildRouterOptions.has_amount),
        ImportedField("udt_type_script_json", \FiberBuildRouterOptions.udt_type_script_json),
        ImportedField("hops_info_json", \FiberBuildRouterOptions.hops_info_json),
        ImportedField("final_tlc_expiry_delta", \FiberBuildRouterOptions.final_tlc_expiry_delta),
        ImportedField("has_final_tlc_expiry_delta", \FiberBuildRouterOptions.has_final_tlc_expiry_delta),
    ])

private let fiberSendPaymentWithRouterOptions = ImportedStruct(
    FiberSendPaymentWithRouterOptions.self,
    [
        ImportedField("struct_size", \FiberSendPaymentWithRouterOptions.struct_size),
        ImportedField("flags", \FiberSendPaymentWithRouterOptions.flags),
        ImportedField("payment_hash", \FiberSendPaymentWithRouterOptions.payment_hash),
        ImportedField("router_json", \FiberSendPaymentWithRouterOptions.router_json),
        ImportedField("invoice", \FiberSendPaymentWithRouterOptions.invoice),
        ImportedField("custom_records_json", \FiberSendPaymentWithRouterOptions.custom_records_json),
        ImportedField("has_keysend", \FiberSendPaymentWithRouterOptions.has_keysend),
        ImportedField("keysend", \FiberSendPaymentWithRouterOptions.keysend),
        ImportedField("udt_type_script_json", \FiberSendPaymentWithRouterOptions.udt_type_script_json),
        ImportedField("has_dry_run", \FiberSendPaymentWithRouterOptions.has_dry_run),
        ImportedField("dry_run", \FiberSendPaymentWithRouterOptions.dry_run),
    ])

private let fiberListPaymentsOptions = ImportedStruct(
    FiberListPaymentsOptions.self,
    [
        ImportedField("struct_size", \FiberListPaymentsOptions.struct_size),
        ImportedField("flags", \FiberListPaymentsOptions.flags),
        ImportedField("status", \FiberListPaymentsOptions.status),
        ImportedField("limit", \FiberListPaymentsOptions.limit),
        ImportedField("has_limit", \FiberListPaymentsOptions.has_limit),
        ImportedField("after", \FiberListPaymentsOptions.after),
    ])

private let fiberNewInvoiceOptions = ImportedStruct(
    FiberNewInvoiceOptions.self,
    [
        ImportedField("struct_size", \FiberNewInvoiceOptions.struct_size),
        ImportedField("flags", \FiberNewInvoiceOptions.flags),
        ImportedField("amount", \FiberNewInvoiceOptions.amount),
        ImportedField("description", \FiberNewInvoiceOptions.description),
        ImportedField("currency", \FiberNewInvoiceOptions.currency),
        ImportedField("payment_preimage", \FiberNewInvoiceOptions.payment_preimage),
        ImportedField("payment_hash", \FiberNewInvoiceOptions.payment_hash),
        ImportedField("expiry", \FiberNewInvoiceOptions.expiry),
        ImportedField("has_expiry", \FiberNewInvoiceOptions.has_expiry),
        ImportedField("fallback_address", \FiberNewInvoiceOptions.fallback_address),
        ImportedField("final_expiry_delta", \FiberNewInvoiceOptions.final_expiry_delta),
        ImportedField("has_final_expiry_delta", \FiberNewInvoiceOptions.has_final_expiry_delta),
        ImportedField("udt_type_script_json", \FiberNewInvoiceOptions.udt_type_script_json),
        ImportedField("hash_algorithm", \FiberNewInvoiceOptions.hash_algorithm),
        ImportedField("has_allow_mpp", \FiberNewInvoiceOptions.has_allow_mpp),
        ImportedField("allow_mpp", \FiberNewInvoiceOptions.allow_mpp),
        ImportedField("has_allow_trampoline_routing", \FiberNewInvoiceOptions.has_allow_trampoline_routing),
        ImportedField("allow_trampoline_routing", \FiberNewInvoiceOptions.allow_trampoline_routing),
    ])

/// Every struct of the header.
let importedStructs: [ImportedStruct] = [
    fiberU128, fiberStartOptions, fiberConnectPeerOptions, fiberCkbDiscoverHistoryStartBlockOptions,
    fiberOpenChannelOptions, fiberAcceptChannelOptions, fiberOpenChannelWithExternalFundingOptions,
    fiberSubmitSignedFundingTxOptions, fiberListChannelsOptions, fiberShutdownChannelOptions,
    fiberUpdateChannelOptions, fiberSendPaymentOptions, fiberBuildRouterOptions, fiberSendPaymentWithRouterOptions,
    fiberListPaymentsOptions, fiberNewInvoiceOptions,
]

/// Every constant of the header with the value Swift sees.
let importedConstants: [(name: String, value: Int)] = [
    ("FIBER_FFI_STATUS_OK", Int(FIBER_FFI_STATUS_OK.rawValue)),
    ("FIBER_FFI_STATUS_NULL_POINTER", Int(FIBER_FFI_STATUS_NULL_POINTER.rawValue)),
    ("FIBER_FFI_STATUS_INVALID_ARGUMENT", Int(FIBER_FFI_STATUS_INVALID_ARGUMENT.rawValue)),
    ("FIBER_FFI_STATUS_STARTUP_FAILED", Int(FIBER_FFI_STATUS_STARTUP_FAILED.rawValue)),
    ("FIBER_FFI_STATUS_ALREADY_STOPPED", Int(FIBER_FFI_STATUS_ALREADY_STOPPED.rawValue)),
    ("FIBER_FFI_STATUS_PANIC", Int(FIBER_FFI_STATUS_PANIC.rawValue)),
    ("FIBER_FFI_STATUS_NOT_READY", Int(FIBER_FFI_STATUS_NOT_READY.rawValue)),
    ("FIBER_INVOICE_CURRENCY_DEFAULT", Int(FIBER_INVOICE_CURRENCY_DEFAULT)),
    ("FIBER_INVOICE_CURRENCY_FIBB", Int(FIBER_INVOICE_CURRENCY_FIBB)),
    ("FIBER_INVOICE_CURRENCY_FIBT", Int(FIBER_INVOICE_CURRENCY_FIBT)),
    ("FIBER_INVOICE_CURRENCY_FIBD", Int(FIBER_INVOICE_CURRENCY_FIBD)),
    ("FIBER_HASH_ALGORITHM_DEFAULT", Int(FIBER_HASH_ALGORITHM_DEFAULT)),
    ("FIBER_HASH_ALGORITHM_CKB_HASH", Int(FIBER_HASH_ALGORITHM_CKB_HASH)),
    ("FIBER_HASH_ALGORITHM_SHA256", Int(FIBER_HASH_ALGORITHM_SHA256)),
    ("FIBER_PAYMENT_STATUS_FILTER_ALL", Int(FIBER_PAYMENT_STATUS_FILTER_ALL)),
    ("FIBER_PAYMENT_STATUS_FILTER_CREATED", Int(FIBER_PAYMENT_STATUS_FILTER_CREATED)),
    ("FIBER_PAYMENT_STATUS_FILTER_INFLIGHT", Int(FIBER_PAYMENT_STATUS_FILTER_INFLIGHT)),
    ("FIBER_PAYMENT_STATUS_FILTER_SUCCESS", Int(FIBER_PAYMENT_STATUS_FILTER_SUCCESS)),
    ("FIBER_PAYMENT_STATUS_FILTER_FAILED", Int(FIBER_PAYMENT_STATUS_FILTER_FAILED)),
]
