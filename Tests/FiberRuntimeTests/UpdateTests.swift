import CFiber
import Testing
import Wire

@testable import FiberRuntime

private let otherHash = "0x" + String(repeating: "ef", count: 32)

extension NativeSuites {
    @Suite struct Updates {
        private static let channels = """
            {"channels":[{"channel_id":"\(otherHash)","enabled":true},{"channel_id":"\(hash)","enabled":false}]}
            """

        private func update(_ id: String, _ given: JSON, _ fake: FakeLibrary) -> NativeCall.Made {
            make("fiber.update_channel", given.with("channel_id", .string(id)), fake)
        }

        @Test("new terms leave a channel enabled or disabled as it is", arguments: [(otherHash, "1"), (hash, nil)])
        func keepsEnabled(_ id: String, _ enabled: String?) {
            let fake = FakeLibrary(output: Array(Self.channels.utf8))
            #expect(update(id, ["tlc_expiry_delta": 5], fake).outcome == .result(Array("{}".utf8)))
            let sent = fake.state.withLock { $0.arguments }
            #expect(sent["has_enabled"] == "1")
            #expect(sent["enabled"] == enabled)
            #expect(sent["tlc_expiry_delta"] == "5")
            #expect(fake.freedAll)
        }

        @Test("told to enable or disable, it does not ask what it is now", arguments: [true, false])
        func explicit(_ enabled: Bool) {
            let fake = FakeLibrary(output: nil)
            #expect(update(hash, ["enabled": .bool(enabled)], fake).outcome == .result(Array("{}".utf8)))
            let sent = fake.state.withLock { $0.arguments }
            #expect(sent["has_enabled"] == "1")
            #expect(sent["enabled"] == (enabled ? "1" : nil))
        }

        @Test(
            "where it cannot be told what it is now, nothing is changed",
            arguments: [
                (#"{"channels":[]}"#, "channel_id"), ("{}", "channel_id"), ("nonsense", "channel_id"),
                (#"{"channels":[{"channel_id":"\#(hash)"}]}"#, "enabled"),
                (#"{"channels":[{"channel_id":"\#(hash)","enabled":"yes"}]}"#, "enabled"),
            ])
        func unknown(_ channels: String, _ parameter: String) {
            let fake = FakeLibrary(output: Array(channels.utf8))
            guard case .failure(let error) = update(hash, ["tlc_expiry_delta": 5], fake).outcome else {
                Issue.record("it was changed")
                return
            }
            #expect(error.code == .invalidParams)
            #expect(error.data == [JSON.Member("path", .string(parameter))])
            #expect(fake.state.withLock { $0.arguments["channel_id"] } == nil, "only the list was asked for")
            #expect(fake.freedAll)
        }

        @Test("a list that fails is the call's failure, and nothing is changed")
        func listFails() {
            let fake = FakeLibrary(status: FIBER_FFI_STATUS_INVALID_ARGUMENT, text: "no reply", output: nil)
            guard case .failure(let error) = update(hash, ["tlc_expiry_delta": 5], fake).outcome else {
                Issue.record("it was changed")
                return
            }
            #expect(error.code == .nodeError)
            #expect(error.message == "fiber.update_channel failed: no reply")
            #expect(fake.state.withLock { $0.arguments["channel_id"] } == nil)
        }
    }
}
