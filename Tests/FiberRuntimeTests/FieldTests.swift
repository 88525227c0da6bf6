import CFiber
import Glibc
import HostLink
import Testing
import Wire

@testable import FiberRuntime

let key = "02" + String(repeating: "ab", count: 32)
let hash = "0x" + String(repeating: "cd", count: 32)
let script: JSON = ["code_hash": "0x00", "hash_type": "type", "args": "0x"]

/// One parameter, a value for it, and the members of the C struct that it must set, besides those of the required
/// parameters.
struct FieldCase: Sendable, CustomTestStringConvertible {
    let method: String
    let parameter: String
    let value: JSON
    let members: [String: String]

    init(_ method: String, _ parameter: String, _ value: JSON, _ members: [String: String]) {
        self.method = method
        self.parameter = parameter
        self.value = value
        self.members = members
    }

    var testDescription: String { "\(method) \(parameter)" }
}

extension NativeSuites {
    @Suite struct Fields {
        /// What each method needs, and what that alone makes of its struct.
        static let bases: [String: (given: JSON, members: [String: String])] = [
            "fiber.connect_peer": ([:], ["save": "1"]),
            "fiber.disconnect_peer": ([:], [:]),
            "fiber.get_payment": ([:], [:]),
            "fiber.open_channel": (
                ["pubkey": .string(key), "funding_amount": "1"],
                ["struct_size": "216", "pubkey": key, "funding_amount": "1"]
            ),
            "fiber.list_channels": ([:], ["struct_size": "32"]),
            "fiber.new_invoice": (["amount": "1"], ["struct_size": "128", "amount": "1"]),
            "fiber.send_payment": (["invoice": "fibd1y"], ["struct_size": "216", "invoice": "fibd1y"]),
        ].merging(laterBases) { $1 }

        static let cases: [FieldCase] =
            peers + openChannel + listChannels + newInvoice + sendPayment + later

        static let peers: [FieldCase] = [
            .init("fiber.connect_peer", "address", "/ip4/1.2.3.4/tcp/1", ["address": "/ip4/1.2.3.4/tcp/1"]),
            .init("fiber.connect_peer", "pubkey", .string(key), ["pubkey": key]),
            .init("fiber.disconnect_peer", "pubkey", .string("0x" + key), ["text": key]),
            .init("fiber.get_payment", "payment_hash", .string(hash), ["text": hash]),
        ]

        static let openChannel: [FieldCase] = [
            .init("fiber.open_channel", "pubkey", .string("0x" + key), ["pubkey": key]),
            .init("fiber.open_channel", "funding_amount", "500 CKB", ["funding_amount": "50000000000"]),
            .init(
                "fiber.open_channel", "funding_amount", "340282366920938463463374607431768211455",
                ["funding_amount": "340282366920938463463374607431768211455"]),
            .init("fiber.open_channel", "public", false, ["has_public": "1"]),
            .init("fiber.open_channel", "public", true, ["has_public": "1", "public_": "1"]),
            .init(
                "fiber.open_channel", "one_way", true, ["has_public": "1", "has_one_way": "1", "one_way": "1"]),
            .init("fiber.open_channel", "one_way", false, ["has_one_way": "1"]),
            .init(
                "fiber.open_channel", "funding_udt_type_script", script,
                ["funding_udt_type_script_json": script.encoded]),
            .init("fiber.open_channel", "shutdown_script", script, ["shutdown_script_json": script.encoded]),
            .init(
                "fiber.open_channel", "commitment_fee_rate", 5,
                ["commitment_fee_rate": "5", "has_commitment_fee_rate": "1"]),
            .init("fiber.open_channel", "funding_fee_rate", 6, ["funding_fee_rate": "6", "has_funding_fee_rate": "1"]),
            .init(
                "fiber.open_channel", "tlc_expiry_delta", "18446744073709551615",
                ["tlc_expiry_delta": "18446744073709551615", "has_tlc_expiry_delta": "1"]),
            .init("fiber.open_channel", "tlc_min_value", "7", ["tlc_min_value": "7", "has_tlc_min_value": "1"]),
            .init("fiber.open_channel", "tlc_min_value", "0", ["has_tlc_min_value": "1"]),
            .init(
                "fiber.open_channel", "tlc_fee_proportional_millionths", 8,
                ["tlc_fee_proportional_millionths": "8", "has_tlc_fee_proportional_millionths": "1"]),
            .init(
                "fiber.open_channel", "max_tlc_value_in_flight", "18446744073709551616",
                ["max_tlc_value_in_flight": "18446744073709551616", "has_max_tlc_value_in_flight": "1"]),
            .init(
                "fiber.open_channel", "max_tlc_number_in_flight", 9,
                ["max_tlc_number_in_flight": "9", "has_max_tlc_number_in_flight": "1"]),
        ]

        static let listChannels: [FieldCase] = [
            .init("fiber.list_channels", "pubkey", .string(key), ["pubkey": key]),
            .init(
                "fiber.list_channels", "include_closed", true, ["has_include_closed": "1", "include_closed": "1"]),
            .init("fiber.list_channels", "only_pending", true, ["has_only_pending": "1", "only_pending": "1"]),
        ]

        static let newInvoice: [FieldCase] = [
            .init("fiber.new_invoice", "amount", 150, ["amount": "150"]),
            .init("fiber.new_invoice", "description", "käse", ["description": "käse"]),
            .init("fiber.new_invoice", "currency", "Fibb", ["currency": "1"]),
            .init("fiber.new_invoice", "currency", "Fibt", ["currency": "2"]),
            .init("fiber.new_invoice", "currency", "Fibd", ["currency": "3"]),
            .init("fiber.new_invoice", "payment_preimage", .string(hash), ["payment_preimage": hash]),
            .init("fiber.new_invoice", "payment_hash", .string(hash), ["payment_hash": hash]),
            .init("fiber.new_invoice", "expiry", 3600, ["expiry": "3600", "has_expiry": "1"]),
            .init("fiber.new_invoice", "fallback_address", "ckt1x", ["fallback_address": "ckt1x"]),
            .init(
                "fiber.new_invoice", "final_expiry_delta", 11,
                ["final_expiry_delta": "11", "has_final_expiry_delta": "1"]),
            .init("fiber.new_invoice", "udt_type_script", script, ["udt_type_script_json": script.encoded]),
            .init("fiber.new_invoice", "hash_algorithm", "ckb_hash", ["hash_algorithm": "1"]),
            .init("fiber.new_invoice", "hash_algorithm", "sha256", ["hash_algorithm": "2"]),
            .init("fiber.new_invoice", "allow_mpp", true, ["has_allow_mpp": "1", "allow_mpp": "1"]),
            .init(
                "fiber.new_invoice", "allow_trampoline_routing", true,
                ["has_allow_trampoline_routing": "1", "allow_trampoline_routing": "1"]),
        ]

        static let sendPayment: [FieldCase] = [
            .init("fiber.send_payment", "invoice", "fibd1x", ["invoice": "fibd1x"]),
            .init("fiber.send_payment", "target_pubkey", .string(key), ["target_pubkey": key]),
            .init("fiber.send_payment", "amount", "0x10", ["amount": "16", "has_amount": "1"]),
            .init("fiber.send_payment", "payment_hash", .string(hash), ["payment_hash": hash]),
            .init("fiber.send_payment", "keysend", false, ["has_keysend": "1"]),
            .init("fiber.send_payment", "dry_run", true, ["has_dry_run": "1", "dry_run": "1"]),
            .init("fiber.send_payment", "max_fee_amount", "12", ["max_fee_amount": "12", "has_max_fee_amount": "1"]),
            .init("fiber.send_payment", "max_fee_rate", 13, ["max_fee_rate": "13", "has_max_fee_rate": "1"]),
            .init("fiber.send_payment", "timeout", 14, ["timeout": "14", "has_timeout": "1"]),
            .init("fiber.send_payment", "max_parts", 15, ["max_parts": "15", "has_max_parts": "1"]),
            .init("fiber.send_payment", "udt_type_script", script, ["udt_type_script_json": script.encoded]),
            .init(
                "fiber.send_payment", "allow_self_payment", true,
                ["has_allow_self_payment": "1", "allow_self_payment": "1"]),
            .init(
                "fiber.send_payment", "final_tlc_expiry_delta", 16,
                ["final_tlc_expiry_delta": "16", "has_final_tlc_expiry_delta": "1"]),
            .init(
                "fiber.send_payment", "tlc_expiry_limit", 17,
                ["tlc_expiry_limit": "17", "has_tlc_expiry_limit": "1"]),
            .init(
                "fiber.send_payment", "trampoline_hops", [.string(key)], ["trampoline_hops_json": "[\"\(key)\"]"]),
            .init(
                "fiber.send_payment", "custom_records", ["0x1": "0xff"],
                ["custom_records_json": #"{"0x1":"0xff"}"#]),
            .init(
                "fiber.send_payment", "hop_hints", [["pubkey": "x"]], ["hop_hints_json": #"[{"pubkey":"x"}]"#]),
        ]

        @Test("a parameter sets its member and flag, and no other", arguments: cases)
        func fills(_ field: FieldCase) throws {
            let base = try #require(Self.bases[field.method])
            let fake = FakeLibrary()
            let outcome = make(field.method, base.given.with(field.parameter, field.value), fake).outcome
            guard case .result = outcome else {
                Issue.record("\(outcome)")
                return
            }
            let expected = base.members.merging(field.members) { $1 }
            #expect(fake.state.withLock { $0.arguments } == expected)
            #expect(fake.freedAll)
        }

        @Test("a payment without invoice goes to a key: spontaneously, or to a hash")
        func payees() {
            let fake = FakeLibrary()
            let given: JSON = ["target_pubkey": .string(key), "amount": "7"]
            let members = ["struct_size": "216", "target_pubkey": key, "amount": "7", "has_amount": "1"]
            _ = make("fiber.send_payment", given.with("keysend", true), fake)
            #expect(
                fake.state.withLock { $0.arguments }
                    == members.merging(["has_keysend": "1", "keysend": "1"]) { $1 })
            _ = make("fiber.send_payment", given.with("payment_hash", .string(hash)), fake)
            #expect(fake.state.withLock { $0.arguments } == members.merging(["payment_hash": hash]) { $1 })
            _ = make("fiber.send_payment_with_router", ["router": [], "keysend": true], fake)
            #expect(
                fake.state.withLock { $0.arguments }
                    == ["struct_size": "64", "router_json": "[]", "has_keysend": "1", "keysend": "1"])
        }

        @Test(
            "an amount reaches the node with both its halves",
            arguments: [0, 1, UInt128(UInt64.max), UInt128(UInt64.max) + 1, 1 << 127, UInt128.max])
        func halves(_ units: UInt128) {
            let fake = FakeLibrary()
            _ = make("fiber.send_payment", ["invoice": "x", "amount": .string(String(units))], fake)
            let sent = fake.state.withLock { $0.arguments }
            #expect(sent["amount"] == (units == 0 ? nil : String(units)))
            #expect(sent["has_amount"] == "1")
        }

        @Test("every parameter of every call that takes some is held by a case above")
        func everyParameterIsHeld() {
            let held = Set(Self.cases.map { "\($0.method) \($0.parameter)" })
            let elsewhere = ["fiber.connect_peer addr_type", "fiber.connect_peer save"]
            for call in FiberCalls.all where call.description.name != "fiber.sim" {
                for parameter in call.description.parameters {
                    if case .refused = parameter.type { continue }
                    let name = "\(call.description.name) \(parameter.name)"
                    #expect(held.contains(name) || elsewhere.contains(name), "\(name) is held by no case")
                }
            }
        }

        @Test("a connection by key takes a type, one by address is saved unless told not to")
        func connectDefaults() {
            let fake = FakeLibrary()
            _ = make("fiber.connect_peer", ["pubkey": .string(key), "addr_type": "wss"], fake)
            #expect(fake.state.withLock { $0.arguments } == ["pubkey": key, "addr_type": "wss", "save": "1"])
            _ = make("fiber.connect_peer", ["address": "/dns4/x", "save": false], fake)
            #expect(fake.state.withLock { $0.arguments } == ["address": "/dns4/x"])
        }

        @Test(
            "what the node would ignore or always refuse is refused by the name of the parameter",
            arguments: [
                ("fiber.connect_peer", [:], "address"),
                ("fiber.connect_peer", ["address": "/dns4/x", "pubkey": .string(key)], "pubkey"),
                ("fiber.connect_peer", ["address": "/dns4/x", "addr_type": "ws"], "addr_type"),
                ("fiber.connect_peer", ["pubkey": .string(key), "save": true], "save"),
                (
                    "fiber.open_channel",
                    ["pubkey": .string(key), "funding_amount": "1", "one_way": true, "public": true], "public"
                ),
                (
                    "fiber.open_channel",
                    ["pubkey": .string(key), "funding_amount": "1", "commitment_delay_epoch": 1],
                    "commitment_delay_epoch"
                ),
                ("fiber.list_channels", ["include_closed": true, "only_pending": true], "only_pending"),
                (
                    "fiber.new_invoice",
                    ["amount": "1", "payment_hash": .string(hash), "payment_preimage": .string(hash)], "payment_hash"
                ),
                ("fiber.new_invoice", ["amount": "1.5 CKB", "udt_type_script": [:]], "amount"),
                ("fiber.get_payment", ["payment_hash": "0x12"], "payment_hash"),
                ("fiber.get_payment", [:], "payment_hash"),
                ("fiber.get_payment", ["payment_hash": 5], "payment_hash"),
                ("fiber.node_info", ["x": 1], "x"),
                ("fiber.send_payment", [:], "invoice"),
                ("fiber.send_payment", ["target_pubkey": .string(key), "amount": "1"], "invoice"),
                ("fiber.send_payment", ["keysend": true, "invoice": "x"], "invoice"),
                ("fiber.send_payment", ["keysend": true, "amount": "1"], "target_pubkey"),
                ("fiber.send_payment", ["payment_hash": .string(hash), "target_pubkey": .string(key)], "amount"),
                ("fiber.send_payment", ["keysend": true, "payment_hash": .string(hash)], "payment_hash"),
                ("fiber.send_payment_with_router", ["router": []], "invoice"),
                ("fiber.send_payment_with_router", ["keysend": true], "router"),
                ("fiber.send_payment_with_router", ["router": [], "keysend": true, "invoice": "x"], "invoice"),
                // Only the node knows whether these are of a UDT.
                (
                    "fiber.accept_channel", ["temporary_channel_id": .string(hash), "funding_amount": "1 CKB"],
                    "funding_amount"
                ),
                (
                    "fiber.update_channel", ["channel_id": .string(hash), "tlc_minimum_value": "1 CKB"],
                    "tlc_minimum_value"
                ),
                ("fiber.update_channel", ["channel_id": .string(hash)], "enabled"),
                ("fiber.shutdown_channel", ["channel_id": .string(hash), "force": true, "fee_rate": 1], "fee_rate"),
                (
                    "fiber.shutdown_channel", ["channel_id": .string(hash), "force": true, "close_script": [:]],
                    "close_script"
                ),
                ("fiber.list_payments", ["limit": 0], "limit"),
                ("fiber.settle_invoice", ["payment_hash": .string(hash)], "payment_preimage"),
                ("fiber.parse_invoice", [:], "invoice"),
            ] as [(String, JSON, String)])
        func refuses(_ method: String, _ given: JSON, _ parameter: String) {
            let fake = FakeLibrary()
            guard case .failure(let error) = make(method, given, fake).outcome else {
                Issue.record("\(method) was made")
                return
            }
            #expect(error.code == .invalidParams)
            #expect(error.data.first { $0.key == "path" }?.value == .string(parameter))
            #expect(fake.state.withLock { $0.arguments }.isEmpty, "the node must not see the call")
        }

        static let chains: [(hash: String, currency: String, number: String)] = [
            ("0x92b197aa1fba0f63633922c61c92375c9c074a93e85963554f5499fe1450d0e5", "Fibb", "1"),
            ("0x10639e0895502b5688a6be8cf69460d76541bfa4821629d86d62ba0aae3f9606", "Fibt", "2"),
            ("0x00", "Fibd", "3"),
        ]

        @Test(
            "an invoice's currency is the one of the node's chain, and another never reaches the node",
            arguments: chains)
        func currency(_ chain: (hash: String, currency: String, number: String)) {
            let fake = FakeLibrary(output: Array(#"{"chain_hash":"\#(chain.hash)"}"#.utf8))
            func sent() -> String? { fake.state.withLock { $0.arguments["currency"] } }
            _ = make("fiber.new_invoice", ["amount": "1"], fake)
            #expect(sent() == chain.number)
            for (_, currency, number) in Self.chains {
                fake.state.withLock { $0.arguments = [:] }
                let outcome = make("fiber.new_invoice", ["amount": "1", "currency": .string(currency)], fake).outcome
                guard currency != chain.currency else {
                    #expect(sent() == number)
                    continue
                }
                guard case .failure(let error) = outcome else {
                    Issue.record("\(currency) was taken")
                    continue
                }
                #expect(error.code == .invalidParams)
                #expect(error.data == [JSON.Member("path", "currency")])
                #expect(error.message.hasPrefix("parameter currency must be \(chain.currency) on "))
                #expect(sent() == nil, "the node must not see the call")
            }
            #expect(fake.freedAll)
        }

        @Test("a node that does not tell its chain has the last word on the currency")
        func unknownChain() {
            let fake = FakeLibrary(output: Array("{}".utf8))
            _ = make("fiber.new_invoice", ["amount": "1", "currency": "Fibb"], fake)
            #expect(fake.state.withLock { $0.arguments["currency"] } == "1")
            let failing = FakeLibrary(status: FIBER_FFI_STATUS_INVALID_ARGUMENT, text: "no reply", output: nil)
            guard case .failure(let error) = make("fiber.new_invoice", ["amount": "1"], failing).outcome else {
                Issue.record("an invoice without a node")
                return
            }
            #expect(error.code == .nodeError)
            #expect(failing.state.withLock { $0.arguments }.isEmpty, "no invoice is asked for")
        }

        @Test("a library of the first generation offers what it has, and the simulator's control only a simulator")
        func offers() {
            var library = FakeLibrary.firstGeneration
            let first = ["node_info", "list_peers", "connect_peer", "disconnect_peer"].map { "fiber." + $0 }
            #expect(FiberCalls.offered(by: library).map(\.description.name) == first)
            #expect(!library.isSimulated)
            library.simControl = { _, _ in 0 }
            #expect(FiberCalls.offered(by: library).map(\.description.name) == first + ["fiber.sim"])
        }

        @Test("the simulator gets its request as one object")
        func simRequest() {
            var library = FakeLibrary.library
            library.simControl = { request, output in
                let copy = request.flatMap { strdup($0) }
                if let copy { FakeLibrary.given.withLock { $0.append(UnsafeMutableRawPointer(copy)) } }
                output?.pointee = copy
                return 0
            }
            let fake = FakeLibrary()
            let call = FiberCalls.all.first { $0.description.name == "fiber.sim" }
            let made = call?.make(library, fake.handle, ["fault": ["call": "fiber_stop", "do": "hang"]])
            #expect(made?.outcome == .result(Array(#"{"fault":{"call":"fiber_stop","do":"hang"}}"#.utf8)))
            #expect(fake.freedAll)
            guard case .failure(let error) = call?.make(library, fake.handle, [:]).outcome else {
                Issue.record("an empty request was made")
                return
            }
            #expect(error.code == .invalidParams)
        }
    }
}

/// Makes a call of the fake library.
func make(_ method: String, _ given: JSON, _ fake: FakeLibrary) -> NativeCall.Made {
    guard let call = FiberCalls.all.first(where: { $0.description.name == method }) else {
        return NativeCall.Made(outcome: .failure(BusError(.methodNotFound, method)))
    }
    return call.make(FakeLibrary.library, fake.handle, given)
}

/// The suites that share the fake library's last error and count of strings: one test at a time.
@Suite(.serialized) enum NativeSuites {}
