import CFiber
import HostLink

/// Why `fiber_start` failed, sorted by its text: there is one status for nearly all of it (reference: table of start
/// failures).
struct StartFailure {
    private let texts: [String]
    private let reason: String
    private let isPermanent: Bool
    private let hint: String

    /// Matches a text that holds all of `texts`.
    private init(_ texts: String..., reason: String, permanent: Bool, _ hint: String) {
        self.texts = texts
        self.reason = reason
        isPermanent = permanent
        self.hint = hint
    }

    /// The fatal to send. Permanent only where the text is known to need a person: a needless retry costs little, a
    /// needless halt costs the node.
    static func fatal(_ failure: NativeFailure) -> Fatal {
        let shown = NativeText.shown(failure.text)
        let told = shown.isEmpty ? "\(failure.statusName), without a reason" : shown
        if let known = all.first(where: { $0.texts.allSatisfy(failure.text.contains) }) {
            return Fatal(
                reason: known.reason, message: "the node did not start: \(told); \(known.hint)",
                isPermanent: known.isPermanent)
        }
        let isPanic = failure.status == FIBER_FFI_STATUS_PANIC.rawValue || failure.text.contains("panicked")
        return Fatal(
            reason: isPanic ? "panic" : "start_failed",
            message: "the node did not start: \(told); the node's own log says more", isPermanent: false)
    }

    private static let all: [StartFailure] = config + keys + store + surroundings

    private static let config: [StartFailure] = [
        .init(
            "failed to read config file", reason: "config_unreadable", permanent: true,
            "check `config` of the network in the supervisor's file"),
        .init(
            "failed to parse config file", reason: "config_invalid", permanent: true,
            "mend the node's config file; every hex value in it must be quoted"),
        .init(
            "must run at least one service in config services", reason: "config_invalid", permanent: true,
            "the node's config file needs services: [fiber, ckb]"),
        .init(
            "fiber config must be set", reason: "config_invalid", permanent: true, "the node's config file needs fiber:"
        ),
        .init(
            "fiber service must be enabled", reason: "config_invalid", permanent: true,
            "the node's config file needs services: [fiber, ckb]"),
        .init(
            "service fiber requires service ckb", reason: "config_invalid", permanent: true,
            "the node's config file needs services: [fiber, ckb]"),
        .init(
            "have set base dir", reason: "config_invalid", permanent: true,
            "the node's config file needs a section ckb:"),
        .init(
            "failed to load chain spec", reason: "chain_invalid", permanent: true,
            "fiber.chain is mainnet, testnet or the path of a chain spec, relative to the data directory"),
        .init(
            "Invalid ScriptCellDep", reason: "config_invalid", permanent: true,
            "each of fiber.scripts' cell_deps needs exactly one of type_id and cell_dep"),
    ]

    private static let keys: [StartFailure] = [
        .init(
            "please set FIBER_SECRET_KEY_PASSWORD", reason: "passphrase_missing", permanent: true,
            "the host was given no passphrase"),
        .init(
            "decryption failed", reason: "passphrase_wrong", permanent: true,
            "the passphrase is wrong or ckb/key is damaged; do not try others, restore key and passphrase together"),
        .init(
            "unsupported 0x prefix", reason: "key_invalid", permanent: true,
            "ckb/key must be 64 hex digits without 0x, or the file the node made of it"),
        .init(
            "invalid secret key data", reason: "key_invalid", permanent: true,
            "ckb/key must be 64 hex digits without 0x, or the file the node made of it"),
        .init(
            "ckb actor", "No such file or directory", reason: "key_missing", permanent: true,
            "ckb/key is missing from the node's data directory; import the account's key"),
    ]

    private static let store: [StartFailure] = [
        .init(
            "is newer than the latest supported version", reason: "store_newer", permanent: true,
            "a newer library wrote this store; use that library again"),
        .init(
            "is too old. Minimum supported version", reason: "store_too_old", permanent: true,
            "migrate the store with the tool of an earlier release first"),
        .init(
            "Migration ", " failed:", reason: "migration_failed", permanent: true,
            "keep the data directory as it is and read the node's log before anything else"),
        .init(
            "While lock file", reason: "store_locked", permanent: false,
            "another process still has this store open; never delete its LOCK file"),
        .init(
            "No space left on device", reason: "disk_full", permanent: false,
            "make room on the disk of the data directory"),
    ]

    private static let surroundings: [StartFailure] = [
        .init(
            "Cannot resolve cell dep", reason: "chain_unreachable", permanent: false,
            "the CKB node at ckb.rpc_url did not answer; check that it runs, and has its indexer"),
        .init(
            "listen tentacle", reason: "port_in_use", permanent: false,
            "fiber.listening_addr is taken or wrong; port 0 takes any free one"),
        .init(
            "Address already in use", reason: "port_in_use", permanent: false,
            "fiber.listening_addr is taken; port 0 takes any free one"),
        .init(
            "Context already initialized", reason: "second_start", permanent: false,
            "the library takes one start in a process"),
        .init(
            "different chain hash", reason: "second_start", permanent: false, "the library takes one start in a process"
        ),
        .init(
            "ActorAlreadyRegistered", reason: "second_start", permanent: false,
            "the library takes one start in a process"),
        .init(
            "runtime thread exited before reporting", reason: "runtime_died", permanent: false,
            "the node's own log says more"),
    ]
}
