import Glibc
import Wire
import YAML

/// The own configuration file of a Fiber node: what can be told from it alone. A fault is what `fiber_start` would fail over; a
/// warning, what it would start with, though perhaps not as it is meant.
///
/// What the reference of the node does not tell to be wrong passes: unknown keys, null.
struct FiberConfigurationFile {
    /// `fiber.chain`; nil when it is at fault.
    private(set) var chain: String?
    /// Where the node listens, if that is written down.
    private(set) var address: ListeningAddress?

    /// Reads what `text` holds; nil when nothing can be said of it.
    init?(_ text: [UInt8], isSimulated: Bool, faults: FaultList) {
        let root: YAML.Node
        do throws(YAMLError) { root = try YAML.parse(text) } catch {
            let place = YAML.Node(.scalar("", .plain), line: error.line, column: error.column)
            // The simulated node takes what we take.
            guard error.isOurLimit, !isSimulated else {
                faults.add(place, "", error.problem)
                return nil
            }
            let consequence = "the node may take this; the file is not checked, and the chain not known"
            faults.warn(place, "", "\(error.problem); \(consequence)")
            return nil
        }
        let file = ConfigurationEntry(node: root, path: "", faults: faults)
        guard root.mapping != nil else {
            file.fault("must be a mapping with the keys fiber, ckb, services, not \(file.found)")
            return nil
        }
        for key in ["fiber", "ckb", "ckb_light_client"] { file.member(key)?.warnOfBareHex() }
        FiberConfigurationFile.checkServices(file)
        if let fiber = file.requiredMapping("fiber", example: "{chain: testnet}") {
            checkFiber(fiber, isSimulated: isSimulated)
        }
        if let ckb = file.requiredMapping("ckb", example: "{rpc_url: \"http://127.0.0.1:8114/\"}") {
            FiberConfigurationFile.checkCKB(ckb)
        }
    }

    private static func checkServices(_ file: ConfigurationEntry) {
        guard let services = file.required("services", example: "[fiber, ckb]") else { return }
        guard let entries = services.items else {
            return services.fault("must be a list such as [fiber, ckb], not \(services.found)")
        }
        let spellings: KeyValuePairs = [
            "fiber": ["fiber", "FIBER", "Fiber"], "ckb": ["ckb", "CKB", "CkbChain"], "rpc": ["rpc", "RPC"],
            "cch": ["cch", "CCH"],
        ]
        var found: Set<String> = []
        for entry in entries {
            guard let service = spellings.first(where: { $0.value.contains(entry.node.text ?? "") })?.key else {
                entry.fault("must be fiber, ckb, rpc or cch, not \(entry.found)")
                continue
            }
            found.insert(service)
            guard service == "rpc" || service == "cch" else { continue }
            entry.warn("has no effect in an embedded node: no port is opened for it")
        }
        let missing = ["fiber", "ckb"].filter { !found.contains($0) }
        if !missing.isEmpty { services.fault("must hold \(missing.joined(separator: " and ")); write [fiber, ckb]") }
    }

    private mutating func checkFiber(_ fiber: ConfigurationEntry, isSimulated: Bool) {
        fiber.checkMembers(text: ["announced_node_name"], flags: FiberKeys.flags, numbers: FiberKeys.numbers)
        if let entry = fiber.member("base_dir") {
            entry.warn("has no effect: the node's data stands in its account's directory")
        }
        let example = "testnet, mainnet or the path of a chain's specification"
        if let entry = fiber.required("chain", example: example), let text = entry.string(example) {
            chain = text
            FiberConfigurationFile.checkChain(entry, text, isSimulated: isSimulated)
        }
        if let entry = fiber.member("listening_addr"), let text = entry.string(ListeningAddress.rule) {
            address = ListeningAddress(text, entry)
            if address == nil { entry.fault("must be \(ListeningAddress.rule), not \(entry.found)") }
        }
        for key in ["bootnode_addrs", "announced_addrs"] {
            for entry in fiber.list(under: key) {
                _ = entry.string("an address such as /ip4/192.0.2.1/tcp/8228/p2p/Qm…")
            }
        }
        let scripts = fiber.list(under: "scripts")
        for script in scripts { script.checkContract() }
        guard !isSimulated, let chain else { return }
        let names = Set(scripts.compactMap { $0.node["name"]?.text })
        if !names.isSuperset(of: ["FundingLock", "CommitmentLock"]) {
            let place = fiber.member("scripts") ?? fiber
            place.warn("the chain's FundingLock and CommitmentLock are not both there; channels need them")
        }
        if ["mainnet", "testnet"].contains(chain), fiber.member("bootnode_addrs")?.items?.isEmpty ?? true {
            (fiber.member("bootnode_addrs") ?? fiber)
                .warn("bootnode_addrs holds no address: the node finds peers only through those it is told")
        }
    }

    private static func checkChain(_ entry: ConfigurationEntry, _ chain: String, isSimulated: Bool) {
        guard !chain.isEmpty else { return entry.fault("must be testnet, mainnet or a path, not \(entry.found)") }
        // The simulated node brings a chain of this name with it.
        if ["mainnet", "testnet"].contains(chain) || (isSimulated && chain == "dev") { return }
        if chain.hasPrefix("/") {
            guard access(chain, R_OK) != 0 else { return }
            return entry.fault("\(quoted(chain)) cannot be read: \(String(cString: strerror(errno)))")
        }
        let meant = nearest(chain.lowercased(), among: ["mainnet", "testnet"]).map { "; did you mean \($0)?" } ?? ""
        entry.warn(
            "\(quoted(chain)) is the path of a chain's specification, which each account of the network needs under "
                + "its own node/ directory\(meant)")
    }

    private static func checkCKB(_ ckb: ConfigurationEntry) {
        ckb.checkMembers(text: ["rpc_url"], flags: [], numbers: ["tx_tracing_polling_interval_ms"])
        if let entry = ckb.member("base_dir") {
            entry.warn("has no effect: the node's data stands in its account's directory")
        }
        for token in ckb.list(under: "udt_whitelist") {
            guard token.isMapping() else { continue }
            _ = token.required("name", example: "RUSD").flatMap { $0.string("a name") }
            _ = token.requiredMapping("script", example: "{code_hash: \"0x…\", hash_type: type, args: \"0x…\"}")
            token.checkMembers(text: [], flags: [], numbers: ["auto_accept_amount"])
            token.checkDependencies()
        }
    }
}

/// Keys whose values are neither text nor lists.
enum FiberKeys {
    static let flags = [
        "announce_listening_addr", "announce_private_addr", "sync_network_graph", "reuse_port_for_websocket",
        "disable_built_in_watchtower",
    ]
    static let numbers = [
        "open_channel_auto_accept_min_ckb_funding_amount", "auto_accept_channel_ckb_funding_amount", "tlc_expiry_delta",
        "tlc_min_value", "tlc_fee_proportional_millionths", "max_inbound_peers", "min_outbound_peers",
        "funding_timeout_seconds", "external_funding_timeout_seconds", "watchtower_check_interval_seconds",
    ]
    /// Those whose bare hex is taken for the number it is.
    static let bareHexAllowed = Set(numbers + ["tx_tracing_polling_interval_ms", "auto_accept_amount"])
}

/// An address to listen on, such as `/ip4/0.0.0.0/tcp/8228`.
struct ListeningAddress {
    static let rule = "an address such as /ip4/127.0.0.1/tcp/0"
    let entry: ConfigurationEntry
    let host: String
    /// Zero: whatever port is free.
    let port: UInt16

    /// Nil when it cannot be one. Of what stands for a host only IP addresses are looked at.
    init?(_ text: String, _ entry: ConfigurationEntry) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 5, parts[0].isEmpty, parts[3] == "tcp", let port = UInt16(parts[4]) else { return nil }
        var room = in6_addr()
        switch parts[1] {
        case "ip4": guard inet_pton(AF_INET, parts[2], &room) == 1 else { return nil }
        case "ip6": guard inet_pton(AF_INET6, parts[2], &room) == 1 else { return nil }
        default: guard !parts[1].isEmpty, !parts[2].isEmpty else { return nil }
        }
        self.entry = entry
        host = parts[2]
        self.port = port
    }

    /// Whether one process that listens here keeps another from listening there.
    func collides(with other: ListeningAddress) -> Bool {
        let all: Set = ["0.0.0.0", "::"]
        return port != 0 && port == other.port && (host == other.host || all.contains(host) || all.contains(other.host))
    }
}

/// The ports that the networks write down, to find one that two of them share.
struct FixedPorts {
    private var seen: [(network: String, address: ListeningAddress)] = []

    mutating func add(_ address: ListeningAddress, of network: String) {
        if let first = seen.first(where: { $0.address.collides(with: address) }) {
            let problem = "port \(address.port) of the network \(network) is also that of \(first.network)"
            address.entry.warn("\(problem): a node still stopping there keeps this one from starting")
        }
        seen.append((network, address))
    }
}
