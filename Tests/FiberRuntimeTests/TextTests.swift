import Testing

@testable import FiberRuntime

private let secret = String(repeating: "5a", count: 32)

@Test(
    "of an error object only the message is kept, unescaped",
    arguments: [
        (#"ErrorObject { code: ServerError(-32000), message: "a \"b\" \\ c", data: None }"#, #"a "b" \ c"#),
        (
            #"call: ErrorObject { code: InvalidParams, message: "x\n\ty\u{e9}\'", data: Some(RawValue("s")) }"#,
            "x \tyé'"
        ),
        (#"ErrorObject { code: ServerError(-32000), message: "cut \"#, "cut "),
        (#"ErrorObject { code: ServerError(-32000), message: "cut \u{"#, "cut \u{fffd}"),
        (#"ErrorObject { code: ServerError(-32000), data: Some(RawValue("s")) }"#, ""),
        (#"Other { message: "x", data: Some(RawValue("s")) }"#, #"Other { message: "x", "#),
        ("plain text", "plain text"), ("", ""),
    ])
func messageOnly(_ native: String, _ shown: String) {
    #expect(NativeText.shown(native) == shown)
}

@Test("long hex is cut unless it is known, in either case and wherever it stands")
func longHex() {
    #expect(NativeText.shown("key \(secret) end") == "key 5a5a5a5a… end")
    #expect(NativeText.shown("0x\(secret.uppercased())") == "0x5A5A5A5A…")
    #expect(NativeText.shown("0x\(secret.uppercased())", known: [secret]) == "0x\(secret.uppercased())")
    #expect(NativeText.shown(String(secret.dropLast())) == String(secret.dropLast()))
    // A longer run that only contains the known one is not the known one.
    #expect(NativeText.shown(secret + "00", known: [secret]) == "5a5a5a5a…")
}

@Test("a message is one line of bounded length")
func bounded() {
    let shown = NativeText.shown("a\nb\r\nc" + String(repeating: "ü", count: 5000))
    #expect(shown.hasPrefix("a b c"))
    #expect(shown.utf8.count < NativeText.limit + 8)
}

@Test(
    "a start's failure is sorted by its text",
    arguments: [
        ("failed to read config file /x.yml: No such file or directory (os error 2)", "config_unreadable", true),
        ("failed to parse config file /x.yml: invalid type: integer", "config_invalid", true),
        ("must run at least one service in config services", "config_invalid", true),
        ("fiber config must be set", "config_invalid", true),
        ("fiber service must be enabled in config services", "config_invalid", true),
        ("service fiber requires service ckb to be enabled", "config_invalid", true),
        ("runtime thread panicked during startup: have set base dir", "config_invalid", true),
        ("failed to load chain spec: No such file or directory", "chain_invalid", true),
        ("runtime thread panicked during startup: Invalid ScriptCellDep", "config_invalid", true),
        (
            "failed to init contracts context: Cannot resolve cell dep for type id Script(…)", "chain_unreachable",
            false
        ),
        (
            "failed to start ckb actor: Actor panicked during startup 'No such file or directory (os error 2)'",
            "key_missing", true
        ),
        (
            "failed to start ckb actor: Secret key file error: please set FIBER_SECRET_KEY_PASSWORD",
            "passphrase_missing", true
        ),
        ("failed to start ckb actor: Secret key file error: decryption failed: aead::Error", "passphrase_wrong", true),
        ("key file appears to be plaintext but has an unsupported 0x prefix, please remove it", "key_invalid", true),
        ("invalid secret key data, error: x", "key_invalid", true),
        (
            "Database version 9 is newer than the latest supported version 8. Please upgrade the fiber binary.",
            "store_newer", true
        ),
        ("Database version 1 is too old. Minimum supported version is 20260302100001. x", "store_too_old", true),
        ("Migration 20260302100002 failed: x", "migration_failed", true),
        ("IO error: While lock file: /s/LOCK: Resource temporarily unavailable", "store_locked", false),
        ("runtime thread panicked during startup: listen tentacle: Address already in use", "port_in_use", false),
        ("failed to init contracts context: Context already initialized", "second_start", false),
        ("cannot restart fiber with a different chain hash in the same process", "second_start", false),
        ("runtime thread exited before reporting startup status: x", "runtime_died", false),
        ("runtime thread panicked during startup: index out of bounds", "panic", false),
        ("never seen before", "start_failed", false),
    ])
func startFailures(_ text: String, _ reason: String, _ isPermanent: Bool) {
    let fatal = StartFailure.fatal(NativeFailure(status: 3, text: text))
    #expect(fatal.reason == reason)
    #expect(fatal.isPermanent == isPermanent)
    #expect(fatal.message.hasPrefix("the node did not start: " + text))
    #expect(fatal.message.split(separator: ";").count > 1, "it says what to do")
}

@Test("a start that fails without a text, or with a key in it")
func startFailureEdges() {
    #expect(StartFailure.fatal(NativeFailure(status: 5, text: "")).reason == "panic")
    #expect(StartFailure.fatal(NativeFailure(status: 99, text: "")).message.contains("UNKNOWN, without a reason"))
    #expect(!StartFailure.fatal(NativeFailure(status: 3, text: "bad key \(secret)")).message.contains(secret))
}
