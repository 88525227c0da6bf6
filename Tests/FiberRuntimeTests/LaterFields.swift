import Wire

/// The cases of the calls that came after the first ones: see `FieldCase`.
extension NativeSuites.Fields {
    static let laterBases: [String: (given: JSON, members: [String: String])] = [
        "fiber.accept_channel": (
            ["temporary_channel_id": .string(hash), "funding_amount": "1"],
            ["struct_size": "144", "temporary_channel_id": hash, "funding_amount": "1"]
        ),
        "fiber.open_channel_with_external_funding": (
            ["pubkey": .string(key), "funding_amount": "1", "shutdown_script": script, "funding_lock_script": script],
            [
                "struct_size": "224", "pubkey": key, "funding_amount": "1", "shutdown_script_json": script.encoded,
                "funding_lock_script_json": script.encoded,
            ]
        ),
        "fiber.submit_signed_funding_tx": (
            ["channel_id": .string(hash), "signed_funding_tx": [:]],
            ["struct_size": "24", "channel_id": hash, "signed_funding_tx_json": "{}"]
        ),
        "fiber.abandon_channel": ([:], [:]),
        "fiber.shutdown_channel": (["channel_id": .string(hash)], ["struct_size": "48", "channel_id": hash]),
        "fiber.update_channel": (
            ["channel_id": .string(hash), "enabled": true],
            ["struct_size": "88", "channel_id": hash, "has_enabled": "1", "enabled": "1"]
        ),
        "fiber.parse_invoice": ([:], [:]),
        "fiber.get_invoice": ([:], [:]),
        "fiber.cancel_invoice": ([:], [:]),
        "fiber.settle_invoice": (
            ["payment_hash": .string(hash), "payment_preimage": .string(hash)], ["text": hash, "preimage": hash]
        ),
        "fiber.build_router": (["hops_info": []], ["struct_size": "64", "hops_info_json": "[]"]),
        "fiber.send_payment_with_router": (
            ["router": [], "invoice": "fibd1y"], ["struct_size": "64", "router_json": "[]", "invoice": "fibd1y"]
        ),
        "fiber.list_payments": ([:], ["struct_size": "40"]),
    ]

    static let later: [FieldCase] =
        [
            .init("fiber.accept_channel", "temporary_channel_id", .string(other), ["temporary_channel_id": other]),
            .init("fiber.accept_channel", "funding_amount", "0x10", ["funding_amount": "16"]),
            .init("fiber.accept_channel", "shutdown_script", script, ["shutdown_script_json": script.encoded]),
        ] + terms("fiber.accept_channel") + externalFunding + terms(external) + changes + invoices + routes

    private static let other = "0x" + String(repeating: "ef", count: 32)
    private static let external = "fiber.open_channel_with_external_funding"

    /// The terms that every way to get a channel takes.
    private static func terms(_ method: String) -> [FieldCase] {
        [
            .init(method, "tlc_expiry_delta", 5, ["tlc_expiry_delta": "5", "has_tlc_expiry_delta": "1"]),
            .init(method, "tlc_min_value", "7", ["tlc_min_value": "7", "has_tlc_min_value": "1"]),
            .init(
                method, "tlc_fee_proportional_millionths", 8,
                ["tlc_fee_proportional_millionths": "8", "has_tlc_fee_proportional_millionths": "1"]),
            .init(
                method, "max_tlc_value_in_flight", "18446744073709551616",
                ["max_tlc_value_in_flight": "18446744073709551616", "has_max_tlc_value_in_flight": "1"]),
            .init(
                method, "max_tlc_number_in_flight", 9,
                ["max_tlc_number_in_flight": "9", "has_max_tlc_number_in_flight": "1"]),
        ]
    }

    private static let externalFunding: [FieldCase] = [
        .init(external, "pubkey", .string("0x" + key), ["pubkey": key]),
        .init(external, "funding_amount", "500 CKB", ["funding_amount": "50000000000"]),
        .init(external, "public", false, ["has_public": "1"]),
        .init(external, "funding_udt_type_script", script, ["funding_udt_type_script_json": script.encoded]),
        .init(external, "shutdown_script", ["args": "0x1"], ["shutdown_script_json": #"{"args":"0x1"}"#]),
        .init(external, "funding_lock_script", ["args": "0x2"], ["funding_lock_script_json": #"{"args":"0x2"}"#]),
        .init(
            external, "funding_lock_script_cell_deps", [["dep_type": "code"]],
            ["funding_lock_script_cell_deps_json": #"[{"dep_type":"code"}]"#]),
        .init(external, "commitment_fee_rate", 5, ["commitment_fee_rate": "5", "has_commitment_fee_rate": "1"]),
        .init(external, "funding_fee_rate", 6, ["funding_fee_rate": "6", "has_funding_fee_rate": "1"]),
        .init("fiber.submit_signed_funding_tx", "channel_id", .string(other), ["channel_id": other]),
        .init(
            "fiber.submit_signed_funding_tx", "signed_funding_tx", ["version": "0x0"],
            ["signed_funding_tx_json": #"{"version":"0x0"}"#]),
    ]

    private static let changes: [FieldCase] = [
        .init("fiber.abandon_channel", "channel_id", .string(other), ["text": other]),
        .init("fiber.shutdown_channel", "channel_id", .string(other), ["channel_id": other]),
        .init("fiber.shutdown_channel", "force", true, ["has_force": "1", "force": "1"]),
        .init("fiber.shutdown_channel", "close_script", script, ["close_script_json": script.encoded]),
        .init("fiber.shutdown_channel", "fee_rate", 3, ["fee_rate": "3", "has_fee_rate": "1"]),
        .init("fiber.update_channel", "channel_id", .string(other), ["channel_id": other]),
        .init("fiber.update_channel", "enabled", true, ["has_enabled": "1", "enabled": "1"]),
        .init(
            "fiber.update_channel", "tlc_expiry_delta", 5, ["tlc_expiry_delta": "5", "has_tlc_expiry_delta": "1"]),
        .init(
            "fiber.update_channel", "tlc_minimum_value", "7",
            ["tlc_minimum_value": "7", "has_tlc_minimum_value": "1"]),
        .init(
            "fiber.update_channel", "tlc_fee_proportional_millionths", 8,
            ["tlc_fee_proportional_millionths": "8", "has_tlc_fee_proportional_millionths": "1"]),
    ]

    private static let invoices: [FieldCase] = [
        .init("fiber.parse_invoice", "invoice", "fibt1x", ["text": "fibt1x"]),
        .init("fiber.get_invoice", "payment_hash", .string(hash), ["text": hash]),
        .init("fiber.cancel_invoice", "payment_hash", .string(hash), ["text": hash]),
        .init("fiber.settle_invoice", "payment_hash", .string(other), ["text": other]),
        .init("fiber.settle_invoice", "payment_preimage", .string(other), ["preimage": other]),
        .init("fiber.list_payments", "status", "Created", ["status": "1"]),
        .init("fiber.list_payments", "status", "Inflight", ["status": "2"]),
        .init("fiber.list_payments", "status", "Success", ["status": "3"]),
        .init("fiber.list_payments", "status", "Failed", ["status": "4"]),
        .init("fiber.list_payments", "limit", 100, ["limit": "100", "has_limit": "1"]),
        .init("fiber.list_payments", "after", .string(hash), ["after": hash]),
    ]

    private static let routes: [FieldCase] = [
        .init("fiber.build_router", "hops_info", [["pubkey": "x"]], ["hops_info_json": #"[{"pubkey":"x"}]"#]),
        .init("fiber.build_router", "amount", "1 CKB", ["amount": "100000000", "has_amount": "1"]),
        .init("fiber.build_router", "udt_type_script", script, ["udt_type_script_json": script.encoded]),
        .init(
            "fiber.build_router", "final_tlc_expiry_delta", 16,
            ["final_tlc_expiry_delta": "16", "has_final_tlc_expiry_delta": "1"]),
        .init("fiber.send_payment_with_router", "router", [["target": "x"]], ["router_json": #"[{"target":"x"}]"#]),
        .init("fiber.send_payment_with_router", "invoice", "fibd1x", ["invoice": "fibd1x"]),
        .init("fiber.send_payment_with_router", "payment_hash", .string(hash), ["payment_hash": hash]),
        .init("fiber.send_payment_with_router", "keysend", false, ["has_keysend": "1"]),
        .init("fiber.send_payment_with_router", "dry_run", true, ["has_dry_run": "1", "dry_run": "1"]),
        .init(
            "fiber.send_payment_with_router", "udt_type_script", script, ["udt_type_script_json": script.encoded]),
        .init(
            "fiber.send_payment_with_router", "custom_records", ["0x1": "0xff"],
            ["custom_records_json": #"{"0x1":"0xff"}"#]),
    ]
}
