import CFiber
import Glibc
import Linux
import YAML

/// The node's own configuration file, as far as the simulation needs it, and its `sim:` section.
struct Configuration: Sendable {
    var chain: Chain
    var listeningAddress = "/ip4/0.0.0.0/tcp/0"
    var announcedAddresses: [String] = []
    var nodeName: String?
    var openChannelAutoAcceptMinimum = 10_000_000_000
    var autoAcceptFunding = 9_900_000_000
    var tlcExpiryDelta = 14_400_000
    var tlcMinimumValue = 0
    var tlcFeeProportionalMillionths = 1000
    var externalFundingTimeout = Duration.seconds(300)
    var udtWhitelist: [JSON] = []
    var simulation = SimulationSection()

    /// Reads the file. Failures have the texts of the real library; nothing was touched by then.
    init(path: String, prefix: String) throws {
        let bytes: [UInt8]
        do { bytes = try Descriptor.open(path, O_RDONLY).readAll(limit: YAML.sizeLimit + 1) } catch {
            throw Refusal.startup("failed to read config file \(path): \(error.reason) (os error \(error.code))")
        }
        do {
            try self.init(root: ConfigurationReader(node: YAML.parse(bytes), path: ""), prefix: prefix)
        } catch let fault as ConfigurationReader.Fault {
            throw Refusal.startup("failed to parse config file \(path): \(fault.text)")
        } catch let fault as YAMLError {
            throw Refusal.startup(
                "failed to parse config file \(path): \(fault.problem) at line \(fault.line) column \(fault.column)")
        }
    }

    private init(root: ConfigurationReader, prefix: String) throws {
        let services = try root.list("services").map { try $0.text().lowercased() }
        for service in services where !["fiber", "ckb", "ckbchain", "rpc", "cch"].contains(service) {
            throw ConfigurationReader.Fault("services: unknown variant `\(service)`")
        }
        let fiber = root.section("fiber")
        let ckb = root.section("ckb")
        // Types are checked before meaning, as a deserializer does.
        try fiber?.refuseBareHex()
        try ckb?.refuseBareHex()
        simulation = try root.section("sim").map(SimulationSection.init) ?? SimulationSection()
        let chainName = try fiber?.required("chain").text() ?? ""
        chain = .mainnet
        if let fiber { try readFiber(fiber) }
        if let list = try ckb?.list("udt_whitelist") { udtWhitelist = try list.map(Self.readUDT) }

        guard !services.isEmpty else { throw Refusal.startup("must run at least one service in config services") }
        guard fiber != nil else { throw Refusal.startup("fiber config must be set") }
        guard services.contains("fiber") else {
            throw Refusal.startup("fiber service must be enabled in config services")
        }
        guard services.contains("ckb") || services.contains("ckbchain") else {
            throw Refusal.startup("service fiber requires service ckb to be enabled")
        }
        guard ckb != nil else {
            throw Refusal.startup("runtime thread panicked during startup: have set base dir")
        }
        chain = try Chain(named: chainName, prefix: prefix)
    }

    private mutating func readFiber(_ fiber: ConfigurationReader) throws {
        listeningAddress = try fiber.optional("listening_addr")?.text() ?? listeningAddress
        announcedAddresses = try fiber.list("announced_addrs").map { try $0.text() }
        for key in ["bootnode_addrs"] { _ = try fiber.list(key).map { try $0.text() } }
        nodeName = try fiber.optional("announced_node_name")?.text()
        func number(_ key: String, _ fallback: Int) throws -> Int { try fiber.optional(key)?.number() ?? fallback }
        openChannelAutoAcceptMinimum = try number(
            "open_channel_auto_accept_min_ckb_funding_amount", openChannelAutoAcceptMinimum)
        autoAcceptFunding = try number("auto_accept_channel_ckb_funding_amount", autoAcceptFunding)
        tlcExpiryDelta = try number("tlc_expiry_delta", tlcExpiryDelta)
        tlcMinimumValue = try number("tlc_min_value", tlcMinimumValue)
        tlcFeeProportionalMillionths = try number(
            "tlc_fee_proportional_millionths", tlcFeeProportionalMillionths)
        let seconds = try number("external_funding_timeout_seconds", 300)
        externalFundingTimeout = .seconds(min(seconds, 31_536_000))
        for entry in try fiber.list("scripts") {
            _ = try entry.required("name").text()
            for dependency in try entry.list("cell_deps") {
                // The real node panics here, before it resolves anything.
                guard (dependency.optional("type_id") != nil) != (dependency.optional("cell_dep") != nil) else {
                    throw Refusal.startup("runtime thread panicked during startup: Invalid ScriptCellDep")
                }
            }
        }
    }

    private static func readUDT(_ entry: ConfigurationReader) throws -> JSON {
        let dependencies = try entry.list("cell_deps").map { dependency -> JSON in
            [
                "cell_dep": try dependency.optional("cell_dep")?.json() ?? .null,
                "type_id": try dependency.optional("type_id")?.json() ?? .null,
            ]
        }
        return [
            "name": .string(try entry.required("name").text()), "script": try entry.required("script").json(),
            "auto_accept_amount": try entry.optional("auto_accept_amount").map { JSON(try $0.number()) } ?? .null,
            "cell_deps": .array(dependencies),
        ]
    }
}

/// The chain that the node is for: what its currency, its addresses and its chain hash follow from.
enum Chain: Sendable, Equatable {
    case mainnet, testnet
    /// A development chain, by the digest of its specification.
    case development(digest: [UInt8])

    /// `mainnet`, `testnet`, or the path of a chain specification relative to the prefix. `dev` is such a path too, but
    /// the simulated node brings a specification of that name with it, the one thing it takes that the real one does
    /// not: a fresh machine needs a network whose name and invoices nobody takes for a real chain's. A real library
    /// refuses the same file with a clear text.
    init(named name: String, prefix: String) throws {
        switch name {
        case "mainnet": self = .mainnet
        case "testnet": self = .testnet
        default:
            let path = name.hasPrefix("/") ? name : "\(prefix)/\(name)"
            do {
                self = .development(
                    digest: SimulatedDigest.of([try Descriptor.open(path, O_RDONLY).readAll()]))
            } catch let error where name == "dev" && error.code == ENOENT {
                self = .development(digest: SimulatedDigest.of([Array("the simulated development chain".utf8)]))
            } catch {
                throw Refusal.startup("failed to load chain spec: \(path): \(error.reason) (os error \(error.code))")
            }
        }
    }

    /// The hash of its first block; of a development chain a number that follows from the specification.
    var hash: String {
        switch self {
        case .mainnet: "0x92b197aa1fba0f63633922c61c92375c9c074a93e85963554f5499fe1450d0e5"
        case .testnet: "0x10639e0895502b5688a6be8cf69460d76541bfa4821629d86d62ba0aae3f9606"
        case .development(let digest): "0x" + digest.hex
        }
    }

    /// The name that an invoice's currency must have here.
    var currency: String {
        switch self {
        case .mainnet: "Fibb"
        case .testnet: "Fibt"
        case .development: "Fibd"
        }
    }
}

extension Refusal {
    /// Status 3.
    static func startup(_ text: String) -> Refusal { Refusal(FIBER_FFI_STATUS_STARTUP_FAILED, text) }
}
