import CFiber

extension FiberCkbDiscoverHistoryStartBlockOptions: SizedOptions {}
extension FiberOpenChannelOptions: SizedOptions {}
extension FiberAcceptChannelOptions: SizedOptions {}
extension FiberOpenChannelWithExternalFundingOptions: SizedOptions {}
extension FiberSubmitSignedFundingTxOptions: SizedOptions {}
extension FiberListChannelsOptions: SizedOptions {}
extension FiberShutdownChannelOptions: SizedOptions {}
extension FiberUpdateChannelOptions: SizedOptions {}
extension FiberSendPaymentOptions: SizedOptions {}
extension FiberBuildRouterOptions: SizedOptions {}
extension FiberSendPaymentWithRouterOptions: SizedOptions {}
extension FiberListPaymentsOptions: SizedOptions {}
extension FiberNewInvoiceOptions: SizedOptions {}

// Each initialiser names the members under the node's names, in the order of the struct.
extension RequestParameters {
    init(_ options: FiberOpenChannelOptions) throws {
        self.init()
        try required("pubkey", options.pubkey)
        amount("funding_amount", options.funding_amount)
        bool("public", options.public_, if: options.has_public)
        bool("one_way", options.one_way, if: options.has_one_way)
        try json(
            "funding_udt_type_script", options.funding_udt_type_script_json, field: "funding_udt_type_script_json")
        try json("shutdown_script", options.shutdown_script_json, field: "shutdown_script_json")
        plainNumber(
            "commitment_delay_epoch", options.commitment_delay_epoch, if: options.has_commitment_delay_epoch)
        number("commitment_fee_rate", options.commitment_fee_rate, if: options.has_commitment_fee_rate)
        number("funding_fee_rate", options.funding_fee_rate, if: options.has_funding_fee_rate)
        number("tlc_expiry_delta", options.tlc_expiry_delta, if: options.has_tlc_expiry_delta)
        amount("tlc_min_value", options.tlc_min_value, if: options.has_tlc_min_value)
        amount(
            "tlc_fee_proportional_millionths", options.tlc_fee_proportional_millionths,
            if: options.has_tlc_fee_proportional_millionths)
        amount("max_tlc_value_in_flight", options.max_tlc_value_in_flight, if: options.has_max_tlc_value_in_flight)
        number("max_tlc_number_in_flight", options.max_tlc_number_in_flight, if: options.has_max_tlc_number_in_flight)
    }

    init(_ options: FiberAcceptChannelOptions) throws {
        self.init()
        try required("temporary_channel_id", options.temporary_channel_id)
        amount("funding_amount", options.funding_amount)
        try json("shutdown_script", options.shutdown_script_json, field: "shutdown_script_json")
        amount("max_tlc_value_in_flight", options.max_tlc_value_in_flight, if: options.has_max_tlc_value_in_flight)
        number("max_tlc_number_in_flight", options.max_tlc_number_in_flight, if: options.has_max_tlc_number_in_flight)
        amount("tlc_min_value", options.tlc_min_value, if: options.has_tlc_min_value)
        amount(
            "tlc_fee_proportional_millionths", options.tlc_fee_proportional_millionths,
            if: options.has_tlc_fee_proportional_millionths)
        number("tlc_expiry_delta", options.tlc_expiry_delta, if: options.has_tlc_expiry_delta)
    }

    init(_ options: FiberOpenChannelWithExternalFundingOptions) throws {
        self.init()
        try required("pubkey", options.pubkey)
        amount("funding_amount", options.funding_amount)
        bool("public", options.public_, if: options.has_public)
        try json(
            "funding_udt_type_script", options.funding_udt_type_script_json, field: "funding_udt_type_script_json")
        try requiredJSON("shutdown_script", options.shutdown_script_json, field: "shutdown_script_json")
        try requiredJSON("funding_lock_script", options.funding_lock_script_json, field: "funding_lock_script_json")
        try json(
            "funding_lock_script_cell_deps", options.funding_lock_script_cell_deps_json,
            field: "funding_lock_script_cell_deps_json")
        plainNumber(
            "commitment_delay_epoch", options.commitment_delay_epoch, if: options.has_commitment_delay_epoch)
        number("commitment_fee_rate", options.commitment_fee_rate, if: options.has_commitment_fee_rate)
        number("funding_fee_rate", options.funding_fee_rate, if: options.has_funding_fee_rate)
        number("tlc_expiry_delta", options.tlc_expiry_delta, if: options.has_tlc_expiry_delta)
        amount("tlc_min_value", options.tlc_min_value, if: options.has_tlc_min_value)
        amount(
            "tlc_fee_proportional_millionths", options.tlc_fee_proportional_millionths,
            if: options.has_tlc_fee_proportional_millionths)
        amount("max_tlc_value_in_flight", options.max_tlc_value_in_flight, if: options.has_max_tlc_value_in_flight)
        number("max_tlc_number_in_flight", options.max_tlc_number_in_flight, if: options.has_max_tlc_number_in_flight)
    }

    init(_ options: FiberSubmitSignedFundingTxOptions) throws {
        self.init()
        try required("channel_id", options.channel_id)
        try requiredJSON("signed_funding_tx", options.signed_funding_tx_json, field: "signed_funding_tx_json")
    }

    init(_ options: FiberListChannelsOptions) throws {
        self.init()
        try text("pubkey", options.pubkey)
        bool("include_closed", options.include_closed, if: options.has_include_closed)
        bool("only_pending", options.only_pending, if: options.has_only_pending)
    }

    init(_ options: FiberShutdownChannelOptions) throws {
        self.init()
        try required("channel_id", options.channel_id)
        try json("close_script", options.close_script_json, field: "close_script_json")
        number("fee_rate", options.fee_rate, if: options.has_fee_rate)
        bool("force", options.force, if: options.has_force)
    }

    init(_ options: FiberUpdateChannelOptions) throws {
        self.init()
        try required("channel_id", options.channel_id)
        bool("enabled", options.enabled, if: options.has_enabled)
        number("tlc_expiry_delta", options.tlc_expiry_delta, if: options.has_tlc_expiry_delta)
        amount("tlc_minimum_value", options.tlc_minimum_value, if: options.has_tlc_minimum_value)
        amount(
            "tlc_fee_proportional_millionths", options.tlc_fee_proportional_millionths,
            if: options.has_tlc_fee_proportional_millionths)
    }

    init(_ options: FiberSendPaymentOptions) throws {
        self.init()
        try text("target_pubkey", options.target_pubkey)
        amount("amount", options.amount, if: options.has_amount)
        try text("payment_hash", options.payment_hash)
        number("final_tlc_expiry_delta", options.final_tlc_expiry_delta, if: options.has_final_tlc_expiry_delta)
        number("tlc_expiry_limit", options.tlc_expiry_limit, if: options.has_tlc_expiry_limit)
        try text("invoice", options.invoice)
        number("timeout", options.timeout, if: options.has_timeout)
        amount("max_fee_amount", options.max_fee_amount, if: options.has_max_fee_amount)
        number("max_fee_rate", options.max_fee_rate, if: options.has_max_fee_rate)
        number("max_parts", options.max_parts, if: options.has_max_parts)
        try json("trampoline_hops", options.trampoline_hops_json, field: "trampoline_hops_json")
        bool("keysend", options.keysend, if: options.has_keysend)
        try json("udt_type_script", options.udt_type_script_json, field: "udt_type_script_json")
        bool("allow_self_payment", options.allow_self_payment, if: options.has_allow_self_payment)
        try json("custom_records", options.custom_records_json, field: "custom_records_json")
        try json("hop_hints", options.hop_hints_json, field: "hop_hints_json")
        bool("dry_run", options.dry_run, if: options.has_dry_run)
    }

    init(_ options: FiberBuildRouterOptions) throws {
        self.init()
        amount("amount", options.amount, if: options.has_amount)
        try json("udt_type_script", options.udt_type_script_json, field: "udt_type_script_json")
        try requiredJSON("hops_info", options.hops_info_json, field: "hops_info_json")
        number("final_tlc_expiry_delta", options.final_tlc_expiry_delta, if: options.has_final_tlc_expiry_delta)
    }

    init(_ options: FiberSendPaymentWithRouterOptions) throws {
        self.init()
        try text("payment_hash", options.payment_hash)
        try requiredJSON("router", options.router_json, field: "router_json")
        try text("invoice", options.invoice)
        try json("custom_records", options.custom_records_json, field: "custom_records_json")
        bool("keysend", options.keysend, if: options.has_keysend)
        try json("udt_type_script", options.udt_type_script_json, field: "udt_type_script_json")
        bool("dry_run", options.dry_run, if: options.has_dry_run)
    }

    init(_ options: FiberListPaymentsOptions) throws {
        self.init()
        let names = [nil, "Created", "Inflight", "Success", "Failed"]
        guard names.indices.contains(Int(options.status)) else {
            throw Refusal.invalid("status must be one of FIBER_PAYMENT_STATUS_FILTER_*")
        }
        name("status", names[Int(options.status)])
        number("limit", options.limit, if: options.has_limit)
        try text("after", options.after)
    }

    init(_ options: FiberNewInvoiceOptions) throws {
        self.init()
        amount("amount", options.amount)
        try text("description", options.description)
        let currencies = ["Fibd", "Fibb", "Fibt", "Fibd"]
        guard currencies.indices.contains(Int(options.currency)) else {
            throw Refusal.invalid("currency must be one of FIBER_INVOICE_CURRENCY_*")
        }
        name("currency", currencies[Int(options.currency)])
        try text("payment_preimage", options.payment_preimage)
        try text("payment_hash", options.payment_hash)
        number("expiry", options.expiry, if: options.has_expiry)
        try text("fallback_address", options.fallback_address)
        number("final_expiry_delta", options.final_expiry_delta, if: options.has_final_expiry_delta)
        try json("udt_type_script", options.udt_type_script_json, field: "udt_type_script_json")
        let algorithms = [nil, "ckb_hash", "sha256"]
        guard algorithms.indices.contains(Int(options.hash_algorithm)) else {
            throw Refusal.invalid("hash_algorithm must be one of FIBER_HASH_ALGORITHM_*")
        }
        name("hash_algorithm", algorithms[Int(options.hash_algorithm)])
        bool("allow_mpp", options.allow_mpp, if: options.has_allow_mpp)
        bool(
            "allow_trampoline_routing", options.allow_trampoline_routing, if: options.has_allow_trampoline_routing)
    }
}
