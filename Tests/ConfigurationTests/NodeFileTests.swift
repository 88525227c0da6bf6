import Testing

@testable import Supervisor

/// The own configuration of a node with one part changed. The first line is line 1 of the file.
private func node(
    services: String = "[fiber, ckb]", chain: String = "chain: testnet", fiber: String = "", ckb: String = "",
    rest: String = ""
) -> String {
    "services: \(services)\nfiber:\n  \(chain)\n  \(fiber)\nckb:\n  rpc_url: 'http://127.0.0.1:8114/'\n  \(ckb)\n\(rest)"
}

private let hash = "0x" + String(repeating: "ab", count: 32)

/// A contract on one line, with its cell deps.
private func contract(_ name: String, _ dependencies: String = "[]", args: String = "'0x'") -> String {
    "{name: \(name), script: {code_hash: '\(hash)', hash_type: type, args: \(args)}, cell_deps: \(dependencies)}"
}

private let point = "{out_point: {tx_hash: '\(hash)', index: '0x0'}, dep_type: code}"

/// What a real network needs to be without a warning.
private let complete =
    "scripts: [\(contract("FundingLock", "[{cell_dep: \(point)}]")), \(contract("CommitmentLock"))]\n"
    + "  bootnode_addrs: [/ip4/192.0.2.1/tcp/8228/p2p/Qm]"

/// A node's file, and every line that is said of it.
struct NodeFile: Sendable, CustomTestStringConvertible {
    let text: String
    let lines: [String]

    init(_ text: String, _ lines: String...) {
        self.text = text
        self.lines = lines
    }

    var testDescription: String { lines.first ?? "nothing" }
}

private let hexRule = "must be 0x and 64 hex digits in quotes, not"

private let faultyFiles: [NodeFile] = [
    NodeFile("", "1:1: there is nothing in it"),
    NodeFile("- fiber", "1:1: must be a mapping with the keys fiber, ckb, services, not a list"),
    NodeFile(
        "rpc: {}", "1:1: services: is missing; write services: [fiber, ckb]",
        "1:1: fiber: is missing; write fiber: {chain: testnet}",
        "1:1: ckb: is missing; write ckb: {rpc_url: \"http://127.0.0.1:8114/\"}"),
    NodeFile(
        "services: []\nfiber: ~\nckb: no\n", "1:11: services: must hold fiber and ckb; write [fiber, ckb]",
        "2:8: fiber: is missing; write fiber: {chain: testnet}", "3:6: ckb: must be a mapping, not \"no\""),
    NodeFile("fiber: {\n", "2:1: while parsing a flow node: did not find expected node content"),
    NodeFile("fiber: {}\nfiber: {}\n", "2:1: the key \"fiber\" stands here a second time; the first is on line 1"),
    NodeFile(node(services: "fiber"), "1:11: services: must be a list such as [fiber, ckb], not \"fiber\""),
    NodeFile(node(services: "[fiber]"), "1:11: services: must hold ckb; write [fiber, ckb]"),
    NodeFile(node(services: "[rpc, CKB]"), "1:11: services: must hold fiber; write [fiber, ckb]"),
    NodeFile(
        node(services: "[fiber, ckb, watchtower, 7]"),
        "1:24: services[2]: must be fiber, ckb, rpc or cch, not \"watchtower\"",
        "1:36: services[3]: must be fiber, ckb, rpc or cch, not \"7\""),
    NodeFile(
        node(chain: "base_dir: x"),
        "3:3: fiber.chain: is missing; write chain: testnet, mainnet or the path of a chain's specification"),
    NodeFile(
        node(chain: "chain: 7"),
        "3:10: fiber.chain: must be testnet, mainnet or the path of a chain's specification, and 7 without quotes is a "
            + "number"),
    NodeFile(node(chain: "chain: ''"), "3:10: fiber.chain: must be testnet, mainnet or a path, not \"\""),
    NodeFile(
        node(chain: "chain: /no/such/spec.toml"),
        "3:10: fiber.chain: \"/no/such/spec.toml\" cannot be read: No such file or directory"),
    NodeFile(
        node(fiber: "announced_node_name: true"),
        "4:24: fiber.announced_node_name: must be text, and true without quotes is a truth value"),
    NodeFile(
        node(fiber: "announced_node_name: 1.5"),
        "4:24: fiber.announced_node_name: must be text, and 1.5 without quotes is a number"),
    NodeFile(node(fiber: "bootnode_addrs: x"), "4:19: fiber.bootnode_addrs: must be a list, not \"x\""),
    NodeFile(
        node(fiber: "bootnode_addrs: [[]]"),
        "4:20: fiber.bootnode_addrs[0]: must be an address such as /ip4/192.0.2.1/tcp/8228/p2p/Qm…, not a list"),
    NodeFile(
        node(fiber: "sync_network_graph: 'true'"),
        "4:23: fiber.sync_network_graph: must be true or false, not \"true\""),
    NodeFile(
        node(fiber: "tlc_min_value: '5'"),
        "4:18: fiber.tlc_min_value: must be a whole number without quotes, not \"5\""),
    NodeFile(
        node(fiber: "max_inbound_peers: -1"),
        "4:22: fiber.max_inbound_peers: must be a whole number without quotes, not \"-1\""),
    NodeFile(node(fiber: "scripts: {}"), "4:12: fiber.scripts: must be a list, not a mapping"),
    NodeFile(
        node(fiber: "scripts: [\(contract("A", "[{type_id: ~}]")), \(contract("B", "[x]"))]"),
        "4:155: fiber.scripts[0].cell_deps[0]: must have exactly one of type_id and cell_dep, not none",
        "4:313: fiber.scripts[1].cell_deps[0]: must be a mapping, not \"x\""),
    NodeFile(
        node(fiber: "scripts: [{script: {code_hash: '0x…', hash_type: types, args: ''}}]"),
        "4:13: fiber.scripts[0].name: is missing; write name: FundingLock",
        "4:34: fiber.scripts[0].script.code_hash: \(hexRule) \"0x…\"",
        "4:52: fiber.scripts[0].script.hash_type: must be data or type or data1 or data2, not \"types\"",
        "4:65: fiber.scripts[0].script.args: must be 0x and hex digits in quotes, not \"\""),
    NodeFile(
        node(ckb: "udt_whitelist: [{name: 1, script: x, auto_accept_amount: '1'}]"),
        "7:26: ckb.udt_whitelist[0].name: must be a name, and 1 without quotes is a number",
        "7:37: ckb.udt_whitelist[0].script: must be a mapping, not \"x\"",
        "7:60: ckb.udt_whitelist[0].auto_accept_amount: must be a whole number without quotes, not \"1\""),
    NodeFile(
        node(ckb: "tx_tracing_polling_interval_ms: 4s"),
        "7:35: ckb.tx_tracing_polling_interval_ms: must be a whole number without quotes, not \"4s\""),
]

private let bareHex = "without quotes may be a number to the node, which then does not start; write it in quotes"

private let notableFiles: [NodeFile] = [
    NodeFile(node(fiber: complete)),
    // All the accepted spellings, and null for what may be absent.
    NodeFile(node(services: "[Fiber, CkbChain]", fiber: "announced_node_name: ~\n  \(complete)")),
    NodeFile(node(services: "[FIBER, CKB]", fiber: "announced_node_name: 007\n  \(complete)")),
    NodeFile(
        node(services: "[fiber, ckb, rpc, CCH]", fiber: complete),
        "1:24: services[2]: has no effect in an embedded node: no port is opened for it",
        "1:29: services[3]: has no effect in an embedded node: no port is opened for it"),
    NodeFile(
        node(), "3:3: fiber: the chain's FundingLock and CommitmentLock are not both there; channels need them",
        "3:3: fiber: bootnode_addrs holds no address: the node finds peers only through those it is told"),
    NodeFile(
        node(fiber: "base_dir: x\n  \(complete)", ckb: "base_dir: y"),
        "4:13: fiber.base_dir: has no effect: the node's data stands in its account's directory",
        "9:13: ckb.base_dir: has no effect: the node's data stands in its account's directory"),
    NodeFile(
        node(chain: "chain: Testnet", fiber: complete),
        "3:10: fiber.chain: \"Testnet\" is the path of a chain's specification, which each account of the network needs "
            + "under its own node/ directory; did you mean testnet?"),
    // Where a number is meant bare hex is one, and 0x alone is text.
    NodeFile(node(fiber: "tlc_min_value: 0x10\n  x: [0x, 0xg, '0x1']\n  \(complete)", rest: "cch: {y: 0x1}\n")),
    NodeFile(
        node(
            fiber:
                "x: [{y: 0x0}]\n  scripts: [\(contract("FundingLock", args: "0x12")), \(contract("CommitmentLock"))]\n"
                + "  bootnode_addrs: [a]",
            rest: "ckb_light_client: {history_start_block: 0xABCDEF}\n"),
        "4:11: fiber.x[0].y: 0x0 \(bareHex)", "5:146: fiber.scripts[0].script.args: 0x12 \(bareHex)",
        "10:41: ckb_light_client.history_start_block: 0xABCDEF \(bareHex)"),
]

/// What our reader refuses and another may take.
private let otherYAML: [NodeFile] = [
    NodeFile(node(fiber: "x: &a 1"), "4:6: an anchor (&name) stands here; anchors and aliases are not read"),
    NodeFile(node(fiber: "<<: *a"), "4:7: an alias (*name) stands here; write the value out instead"),
    NodeFile(node(fiber: "x: !!str 1"), "4:6: a tag (!name) stands here; tags are not read"),
    NodeFile(node(fiber: "? [a]\n  : b"), "4:5: a key must be a word, not a list or a mapping"),
    NodeFile(
        node(fiber: "x: " + String(repeating: "[", count: 70) + String(repeating: "]", count: 70)),
        "4:68: nested more than 64 levels deep"),
    NodeFile(
        node(rest: String(repeating: "#", count: 1 << 20)), "1:1: 1048577 bytes are too many; the limit is 1048576"),
]

@Suite("The node's own file is checked before the node is")
struct NodeFileTests {
    let world: ConfigurationWorld
    init() throws { world = try ConfigurationWorld() }

    private func load(
        _ text: String, library: String = "./lib.so", more: String = "", withNodes: Bool = true
    ) throws -> Configuration {
        try world.write("fiber/dev.yml", text)
        try world.write(
            "nodebus.yml",
            """
            root: data
            bus: {events: [ipc://e], commands: [ipc://c]}
            networks: {dev: {host: fiber, library: \(library), config: fiber/dev.yml}\(more)}
            start: dev/demo
            """)
        return try Configuration.load(path: "\(world.directory)/nodebus.yml", withNodes: withNodes)
    }

    private func lines(_ file: NodeFile, _ suffix: String = "") -> [String] {
        file.lines.map { "@/fiber/dev.yml:\($0)\(suffix)" }
    }

    @Test("a file with which the node would not start, whole", arguments: faultyFiles)
    func faults(_ file: NodeFile) throws {
        let error = #expect(throws: ConfigurationError.self) { try load(file.text) }
        #expect(error?.faults.map { world.shorten($0.description) } == lines(file))
        #expect(error?.isUnreadable == false)
        // Whoever only looks for the bus finds it.
        #expect(try load(file.text, withNodes: false).networks.map(\.chain) == [nil])
    }

    @Test("a file with which it would start, and what is worth knowing", arguments: notableFiles)
    func warnings(_ file: NodeFile) throws {
        let configuration = try load(file.text)
        #expect(configuration.warnings.map { world.shorten($0.description) } == lines(file))
        #expect(configuration.networks[0].chain?.lowercased() == "testnet")
    }

    @Test(
        "YAML that is not read here is not called wrong, except for a node that reads it as we do", arguments: otherYAML
    )
    func uncheckable(_ file: NodeFile) throws {
        let configuration = try load(file.text)
        let consequence = "; the node may take this; the file is not checked, and the chain not known"
        #expect(configuration.warnings.map { world.shorten($0.description) } == lines(file, consequence))
        #expect(configuration.networks[0].chain == nil)
        #expect(configuration.networks[0].currency == nil)
        let error = #expect(throws: ConfigurationError.self) { try load(file.text, library: "sim") }
        #expect(error?.faults.map { world.shorten($0.description) } == lines(file))
    }

    @Test("faults of nodebus.yml come first, and one file that two networks share is told once")
    func order() throws {
        let more =
            ", two: {host: fiber, library: sim, config: fiber/dev.yml}, b: {host: fiber, library: sim, config: x}"
        let error = #expect(throws: ConfigurationError.self) { try load(node(services: "[]"), more: more) }
        #expect(
            error?.faults.map { world.shorten($0.description) } == [
                "@/nodebus.yml:3:170: networks.b.config: @/x cannot be read: No such file or directory",
                "@/fiber/dev.yml:1:11: services: must hold fiber and ckb; write [fiber, ckb]",
            ])
    }

    @Test(
        "an invoice's currency follows from the chain",
        arguments: [("mainnet", "Fibb"), ("testnet", "Fibt"), ("dev", "Fibd"), ("/dev/null", "Fibd")])
    func currency(chain: String, currency: String) throws {
        let configuration = try load(node(chain: "chain: \(chain)"), library: "sim")
        #expect(configuration.networks[0].chain == chain)
        #expect(configuration.networks[0].currency == currency)
        #expect(configuration.warnings.isEmpty)
    }

    @Test(
        "an address to listen on is looked at",
        arguments: [
            "127.0.0.1:8228", "/ip4/127.0.0.1", "/ip4/localhost/tcp/0", "/ip4/127.0.0.1/tcp/65536", "/ip4/::1/tcp/1",
            "/ip6/127.0.0.1/tcp/1", "/ip4/127.0.0.1/udp/1", "//x/tcp/1", "",
        ])
    func wrongAddress(_ address: String) throws {
        let error = #expect(throws: ConfigurationError.self) {
            try load(node(fiber: "listening_addr: '\(address)'"), library: "sim")
        }
        let line = "fiber.listening_addr: must be an address such as /ip4/127.0.0.1/tcp/0, not \"\(address)\""
        #expect(error?.faults.map { world.shorten($0.description) } == ["@/fiber/dev.yml:4:19: \(line)"])
    }

    @Test(
        "two networks that would listen at one place are told so",
        arguments: [
            ("/ip4/127.0.0.1/tcp/8228", "/ip4/127.0.0.1/tcp/8228", true),
            ("/ip4/0.0.0.0/tcp/8228", "/ip4/192.0.2.1/tcp/8228/ws", true),
            ("/dns4/example.org/tcp/8228", "/ip6/::/tcp/8228", true),
            ("/ip4/127.0.0.1/tcp/8228", "/ip4/127.0.0.1/tcp/8229", false),
            ("/ip4/127.0.0.1/tcp/8228", "/ip4/127.0.0.2/tcp/8228", false),
            ("/ip4/0.0.0.0/tcp/0", "/ip4/0.0.0.0/tcp/0", false),
        ])
    func sharedPort(first: String, second: String, collide: Bool) throws {
        try world.write("fiber/other.yml", node(fiber: "listening_addr: '\(second)'"))
        let configuration = try load(
            node(fiber: "listening_addr: '\(first)'"), library: "sim",
            more: ", other: {host: fiber, library: sim, config: fiber/other.yml}")
        let line =
            "@/fiber/other.yml:4:19: fiber.listening_addr: port 8228 of the network other is also that of dev: a node "
            + "still stopping there keeps this one from starting"
        #expect(configuration.warnings.map { world.shorten($0.description) } == (collide ? [line] : []))
    }

    @Test("the files that come with the software fit, on their own ports, and say what is left to fill in")
    func shipped() throws {
        let repository = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        func load(_ library: String) throws -> Configuration {
            let networks = ["dev", "testnet", "mainnet"].map {
                "\($0): {host: fiber, library: \(library), config: \(repository)/config/fiber/\($0).yml}"
            }
            return try world.load(
                """
                root: data
                bus: {events: [ipc://e], commands: [ipc://c]}
                networks: {\(networks.joined(separator: ", "))}
                start: dev/demo
                """)
        }
        let simulated = try load("sim")
        #expect(simulated.networks.map(\.chain) == ["dev", "testnet", "mainnet"])
        #expect(simulated.networks.map(\.currency) == ["Fibd", "Fibt", "Fibb"])
        #expect(simulated.warnings.isEmpty)
        let left = try load("/lib.so").warnings.map { "\($0.file.split(separator: "/").last ?? ""): \($0.path)" }
        #expect(
            left == [
                "dev.yml: fiber.chain", "dev.yml: fiber.scripts", "testnet.yml: fiber.bootnode_addrs",
                "testnet.yml: fiber.scripts", "mainnet.yml: fiber.bootnode_addrs", "mainnet.yml: fiber.scripts",
            ])
    }
}
