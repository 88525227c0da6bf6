import CFiber
import Foundation
import HostLink
import Testing
import Wire

@testable import FiberRuntime

private let preimage = "0x" + String(repeating: "e9", count: 32)

extension NativeSuites {
    @Suite struct Outcomes {
        @Test("JSON is passed on byte for byte, bare text becomes an object, no output an empty one")
        func results() {
            let untouched = Array(#"{ "b":1,"a":1.50, "ü":"\u00fc" }"#.utf8)
            #expect(make("fiber.node_info", [:], FakeLibrary(output: untouched)).outcome == .result(untouched))
            let opened = make(
                "fiber.open_channel", ["pubkey": .string(key), "funding_amount": "1"],
                FakeLibrary(output: Array("0x\"1".utf8)))
            #expect(opened.outcome == .result(Array(#"{"temporary_channel_id":"0x\"1"}"#.utf8)))
            let invoice = make("fiber.new_invoice", ["amount": "1"], FakeLibrary(output: Array("fibd1x".utf8)))
            #expect(invoice.outcome == .result(Array(#"{"invoice":"fibd1x"}"#.utf8)))
            let disconnected = make("fiber.disconnect_peer", ["pubkey": .string(key)], FakeLibrary())
            #expect(disconnected.outcome == .result(Array("{}".utf8)))
        }

        @Test(
            "a result that cannot be sent on is an error, and is freed",
            arguments: [
                ("fiber.node_info", Array("{\"a\":".utf8)), ("fiber.node_info", Array("not json".utf8)),
                ("fiber.node_info", [0x22, 0xff, 0x22]), ("fiber.node_info", nil), ("fiber.node_info", []),
                ("fiber.new_invoice", [0x66, 0xc3]), ("fiber.new_invoice", nil),
            ] as [(String, [UInt8]?)])
        func unreadable(_ method: String, _ output: [UInt8]?) {
            let fake = FakeLibrary(output: output)
            let given: JSON = method == "fiber.new_invoice" ? ["amount": "1"] : [:]
            guard case .failure(let error) = make(method, given, fake).outcome else {
                Issue.record("it was taken for a result")
                return
            }
            #expect(error.code == .nodeError)
            #expect(error.data.contains(JSON.Member("reason", "unreadable_result")))
            #expect(fake.freedAll)
        }

        @Test("a string that comes with a failure is freed too")
        func freedOnFailure() {
            let fake = FakeLibrary(status: FIBER_FFI_STATUS_INVALID_ARGUMENT, text: "no", output: Array("x".utf8))
            _ = make("fiber.node_info", [:], fake)
            #expect(fake.freedAll)
            #expect(FakeLibrary.freed.withLock { $0.count } == 1)
        }

        @Test(
            "a node's failure becomes a stable word",
            arguments: [
                ("Peer not found error: Pubkey(\(key))", "peer_not_found"),
                ("peer Pubkey(\(key)) is not connected", "not_connected"),
                (wrapped("x feature not found, waiting for peer to send Init message"), "peer_not_initialized"),
                (wrapped("Send payment error: Failed to build route, PathFind error: no path found"), "no_route"),
                (wrapped("InvalidParameter: Payment session not found: Hash256(\(hash))"), "payment_unknown"),
                (
                    wrapped("InvalidParameter: Payment session already exists: \(hash) with payment session status"),
                    "payment_exists"
                ),
                (wrapped("invoice not found"), "invoice_unknown"),
                (wrapped("invoice already exists"), "invoice_exists"),
                (
                    wrapped(
                        "InvalidParameter: Failed to validate payment request: \\\"invoice is expired\\\""),
                    "invoice_expired"
                ),
                (
                    wrapped("The funding amount (1) should be greater than or equal to 9900000000"),
                    "funding_too_small"
                ),
                (wrapped("Currency must be Fibt with the chain network"), "currency_mismatch"),
                ("exactly one of address or pubkey must be set", "invalid_argument"),
                ("invalid native options: missing field", "invalid_argument"),
                ("incomplete utf-8 byte sequence from index 3", "invalid_argument"),
                (wrapped("No channel with temp id Hash256(\(hash)) found"), "channel_unknown"),
                (wrapped("Channel Hash256(\(hash)) not found"), "channel_unknown"),
                (
                    wrapped(
                        "Channel \(hash) in state ChannelReady cannot be abandoned, please shutdown the channel instead"
                    ),
                    "channel_state"
                ),
                (wrapped("our signature has been sent. It cannot be abandoned. x"), "channel_state"),
                (wrapped("Invalid state: x"), "channel_state"),
                (wrapped("InvalidState: Expecting state ChannelReady"), "channel_state"),
                (wrapped("Only public channel can be updated"), "channel_not_public"),
                (wrapped("Invalid UDT type script"), "udt_not_allowed"),
                (wrapped("An one-way channel cannot be public"), "invalid_argument"),
                (
                    wrapped("close_script and fee_rate should not be set when force is true"), "invalid_argument"
                ),
                (wrapped("InvalidParameter: payment invoice is not allow MPP"), "mpp_not_allowed"),
                (wrapped("InvalidParameter: amount does not match the invoice"), "invoice_mismatch"),
                (
                    wrapped("InvalidParameter: Failed to validate payment request: \\\"invoice is invalid\\\""),
                    "invoice_invalid"
                ),
                (wrapped("target_pubkey is missing"), "invalid_argument"),
                (wrapped("invoice can not be canceled, current status: Paid"), "invoice_state"),
                (wrapped("Invoice is still open"), "invoice_state"),
                (wrapped("Invoice is already paid"), "invoice_state"),
                (wrapped("Hash mismatch"), "preimage_mismatch"),
                (wrapped("Both payment_hash and payment_preimage are set"), "invalid_argument"),
                (wrapped("final_expiry_delta must be greater than or equal to 9600000"), "invalid_argument"),
                (wrapped("Send payment error: Insufficient balance: x"), "insufficient_balance"),
                ("failed to derive the CKB funding lock script: aead::Error", "key_unreadable"),
                ("failed to query CKB wallet cells: connection refused", "chain_unreachable"),
                ("the moon is in the way", "other"),
                // The words of the repeated request must not decide.
                (wrapped("the moon is in the way", data: #"{"description":"invoice not found"}"#), "other"),
            ])
        func reasons(_ text: String, _ reason: String) {
            let fake = FakeLibrary(status: FIBER_FFI_STATUS_INVALID_ARGUMENT, text: text, output: nil)
            let made = make("fiber.list_peers", [:], fake)
            guard case .failure(let error) = made.outcome else {
                Issue.record("it succeeded")
                return
            }
            #expect(error.code == .nodeError)
            #expect(
                error.data == [
                    JSON.Member("status", "INVALID_ARGUMENT"), JSON.Member("status_code", 2),
                    JSON.Member("reason", .string(reason)),
                ])
            #expect(made.nodeDied == nil)
        }

        @Test("an invoice that cannot be read is refused for that, whatever the decoder says; a panic is still one")
        func unreadableInvoice() {
            for (status, text, reason) in [
                (FIBER_FFI_STATUS_INVALID_ARGUMENT, wrapped("Bech32 error: invalid length"), "invoice_invalid"),
                (FIBER_FFI_STATUS_INVALID_ARGUMENT, "incomplete utf-8 byte sequence from index 3", "invoice_invalid"),
                (FIBER_FFI_STATUS_PANIC, "fiber ffi call panicked", "panic"),
            ] {
                let fake = FakeLibrary(status: status, text: text, output: nil)
                guard case .failure(let error) = make("fiber.parse_invoice", ["invoice": "x"], fake).outcome else {
                    Issue.record("it was read")
                    continue
                }
                #expect(error.data.contains(JSON.Member("reason", .string(reason))))
            }
        }

        @Test("of a call about one channel, a closed channel is an unknown one")
        func closedChannelReason() {
            let fake = FakeLibrary(
                status: FIBER_FFI_STATUS_INVALID_ARGUMENT, text: wrapped("Messaging failed because channel is closed"),
                output: nil)
            let made = make("fiber.shutdown_channel", ["channel_id": .string(hash)], fake)
            #expect(made.nodeDied == nil)
            guard case .failure(let error) = made.outcome else {
                Issue.record("it succeeded")
                return
            }
            #expect(error.data.contains(JSON.Member("reason", "channel_unknown")))
        }

        @Test("the README has every reason")
        func reasonsInReadme() throws {
            let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../README.md")
            let readme = try String(contentsOf: root, encoding: .utf8)
            let others = ["panic", "dead_node", "not_ready", "unreadable_result", "other"]
            for word in NativeFailure.reasons.map(\.reason) + others {
                #expect(readme.contains("`\(word)`"), "\(word)")
            }
        }

        @Test("a preimage that does not fit stays out of the error")
        func settlement() {
            let fake = FakeLibrary(
                status: FIBER_FFI_STATUS_INVALID_ARGUMENT,
                text: wrapped("Hash mismatch: \(preimage) for \(hash)"), output: nil)
            let given: JSON = ["payment_hash": .string(hash), "payment_preimage": .string(preimage)]
            guard case .failure(let error) = make("fiber.settle_invoice", given, fake).outcome else { return }
            #expect(error.message == "fiber.settle_invoice failed: Hash mismatch: 0xe9e9e9e9… for \(hash)")
        }

        @Test("an error keeps the message, what the caller sent, and no preimage")
        func noPreimage() {
            let text = wrapped(
                "settling \(hash) with \(preimage): \\\"no\\\"", data: #"{"payment_preimage":"\#(preimage)"}"#)
            let fake = FakeLibrary(status: FIBER_FFI_STATUS_INVALID_ARGUMENT, text: text, output: nil)
            guard case .failure(let known) = make("fiber.get_payment", ["payment_hash": .string(hash)], fake).outcome
            else { return }
            #expect(known.message == "fiber.get_payment failed: settling \(hash) with 0xe9e9e9e9…: \"no\"")
            let given: JSON = ["amount": "1", "payment_preimage": .string(preimage)]
            guard case .failure(let secret) = make("fiber.new_invoice", given, fake).outcome else { return }
            #expect(secret.message == "fiber.new_invoice failed: settling 0xcdcdcdcd… with 0xe9e9e9e9…: \"no\"")
        }

        @Test("a chain that is not ready is its own error, with the readiness at hand")
        func notReady() {
            let readiness =
                #"{"ready":false,"lag":10,"wait_estimate":{"retry_after_seconds":3},"reason":"CKB indexer is behind"}"#
            let fake = FakeLibrary(
                status: FIBER_FFI_STATUS_NOT_READY, text: "CKB backend is not ready: " + readiness, output: nil)
            let made = make("fiber.open_channel", ["pubkey": .string(key), "funding_amount": "1"], fake)
            guard case .failure(let error) = made.outcome else {
                Issue.record("it succeeded")
                return
            }
            #expect(error.code == .notReady)
            #expect(error.isRetryable)
            #expect(error.message.contains("CKB indexer is behind; try again in 3 s"))
            #expect(error.data.first { $0.key == "readiness" }?.value["lag"] == 10)
        }

        @Test(
            "a panic and dead actors show that the node is dead",
            arguments: [
                (FIBER_FFI_STATUS_PANIC, "fiber ffi call panicked", "panic"),
                (
                    FIBER_FFI_STATUS_INVALID_ARGUMENT,
                    "Messaging failed to enqueue the message to the specified actor, the actor is likely terminated",
                    "dead_node"
                ),
                (
                    FIBER_FFI_STATUS_INVALID_ARGUMENT, wrapped("Messaging failed because channel is closed"),
                    "dead_node"
                ),
            ])
        func dead(_ status: FiberFfiStatus, _ text: String, _ reason: String) {
            let made = make("fiber.list_peers", [:], FakeLibrary(status: status, text: text, output: nil))
            guard case .failure(let error) = made.outcome else {
                Issue.record("it succeeded")
                return
            }
            #expect(error.data.contains(JSON.Member("reason", .string(reason))))
            #expect(made.nodeDied?.text == text)
        }

        @Test("of a call about one channel, a closed channel does not show a dead node; a panic does")
        func closedChannel() {
            let closed = NativeFailure(status: 2, text: "Messaging failed because channel is closed")
            #expect(!closed.isNodeDead(onChannel: true))
            #expect(closed.isNodeDead(onChannel: false))
            #expect(NativeFailure(status: 5, text: "").isNodeDead(onChannel: true))
        }
    }
}

/// The debug print of the RPC layer's error object.
private func wrapped(_ message: String, data: String = #"{"payment_preimage":"0x00"}"#) -> String {
    "ErrorObject { code: ServerError(-32000), message: \"\(message)\", data: Some(RawValue(\(data))) }"
}
