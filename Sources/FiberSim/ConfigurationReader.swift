import YAML

/// A node of the configuration and the path that leads to it, so that a fault can say where it is.
struct ConfigurationReader {
    let node: YAML.Node
    let path: String

    /// A wrong type or a missing member.
    struct Fault: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    /// The member, unless it is absent or null.
    func optional(_ key: String) -> ConfigurationReader? {
        guard let value = node[key], !value.isNull else { return nil }
        return ConfigurationReader(node: value, path: path.isEmpty ? key : "\(path).\(key)")
    }

    /// The member.
    func required(_ key: String) throws -> ConfigurationReader {
        guard let value = optional(key) else { throw fault("missing field `\(key)`") }
        return value
    }

    /// A member that is a mapping.
    func section(_ key: String) -> ConfigurationReader? { optional(key).flatMap { $0.node.mapping == nil ? nil : $0 } }

    /// The elements of a member that is a list; none when it is absent.
    func list(_ key: String) throws -> [ConfigurationReader] {
        guard let member = optional(key) else { return [] }
        guard let elements = member.node.sequence else { throw member.fault("invalid type, expected a sequence") }
        return elements.enumerated().map { ConfigurationReader(node: $1, path: "\(member.path)[\($0)]") }
    }

    /// Text. What YAML takes for a number or a truth value must be quoted.
    func text() throws -> String {
        guard let text = node.text else { throw fault("invalid type, expected a string") }
        guard node.bool == nil, node.integer == nil, !isBareHex else {
            throw fault("invalid type: \(node.bool == nil ? "integer" : "boolean") `\(text)`, expected a string")
        }
        return text
    }

    /// A truth value.
    func bool() throws -> Bool {
        guard let value = node.bool else { throw fault("invalid type, expected a boolean") }
        return value
    }

    /// A number that is not negative.
    func number() throws -> Int {
        guard let value = node.integer, value >= 0 else { throw fault("invalid type, expected u64") }
        return Int(value)
    }

    /// The whole tree below, for what is passed through.
    func json() throws -> JSON {
        if let pairs = node.mapping {
            return .object(
                Dictionary(
                    uniqueKeysWithValues: try pairs.map { pair in
                        (pair.name, try ConfigurationReader(node: pair.value, path: "\(path).\(pair.name)").json())
                    }))
        }
        if let elements = node.sequence {
            return .array(try elements.map { try ConfigurationReader(node: $0, path: path).json() })
        }
        if node.isNull { return .null }
        if let bool = node.bool { return .bool(bool) }
        if let integer = node.integer { return .integer(integer) }
        return .string(try text())
    }

    /// Refuses every hex number without quotes: the real library reads the file as a generic tree first, where it
    /// becomes an integer.
    func refuseBareHex() throws {
        if isBareHex { throw fault("invalid type: integer `\(node.text ?? "")`, expected a string; quote it") }
        for pair in node.mapping ?? [] {
            try ConfigurationReader(node: pair.value, path: "\(path).\(pair.name)").refuseBareHex()
        }
        for (index, element) in (node.sequence ?? []).enumerated() {
            try ConfigurationReader(node: element, path: "\(path)[\(index)]").refuseBareHex()
        }
    }

    /// Refuses members with other names: only where the file is ours.
    func refuseUnknown(besides known: [String]) throws {
        for pair in node.mapping ?? [] where !known.contains(pair.name) {
            throw ConfigurationReader(node: pair.key, path: path)
                .fault("unknown field `\(pair.name)`, expected one of \(known.joined(separator: ", "))")
        }
    }

    /// A fault at this place.
    func fault(_ problem: String) -> Fault {
        Fault("\(path.isEmpty ? "" : "\(path): ")\(problem) at line \(node.line) column \(node.column)")
    }

    private var isBareHex: Bool {
        guard let text = node.plain?.lowercased(), text.hasPrefix("0x"), text.count > 2 else { return false }
        return text.dropFirst(2).allSatisfy(\.isHexDigit)
    }
}

/// The `sim:` section: who lives inside the library, and what is to go wrong.
struct SimulationSection: Sendable {
    var peers: [SimulatedPeer] = []
    /// How long the simulated chain takes to confirm a transaction.
    var confirmation = Duration.milliseconds(200)
    var faults: [FaultDescription] = []
    var chain = ChainSection()
    /// Nil for a library with an external node.
    var prepare: PrepareSection?

    init() {}

    init(_ section: ConfigurationReader) throws {
        try section.refuseUnknown(besides: ["peers", "confirm", "faults", "chain", "prepare"])
        for entry in try section.list("peers") {
            let peer = try SimulatedPeer(entry)
            guard !peers.contains(where: { $0.name == peer.name }) else {
                throw entry.fault("a second peer named \(peer.name)")
            }
            peers.append(peer)
        }
        if let confirm = section.optional("confirm") {
            guard let duration = Duration(parsing: try confirm.text()) else {
                throw confirm.fault("no duration; write 200ms, 2s or 1m")
            }
            confirmation = duration
        }
        if let section = section.optional("chain") { chain = try ChainSection(section) }
        prepare = try section.optional("prepare").map(PrepareSection.init)
        faults = try section.list("faults").map { entry in
            try entry.refuseUnknown(besides: ["call", "nth", "do", "when"])
            var fault = FaultDescription(
                call: try entry.required("call").text(), action: try entry.required("do").text())
            if let nth = entry.optional("nth") {
                fault.nth = try nth.number()
                guard fault.nth > 0 else { throw nth.fault("it counts from 1") }
            }
            if let when = entry.optional("when") {
                guard let moment = Faults.Moment(rawValue: try when.text()) else {
                    throw when.fault("expected before or after")
                }
                fault.moment = moment
            }
            return fault
        }
    }
}

/// A node that lives inside the library.
struct SimulatedPeer: Sendable {
    let name: String
    /// Whether it connects when the node starts.
    let connects: Bool
    /// What the channel holds that is opened to it once, if any.
    let channel: Amount?

    init(_ entry: ConfigurationReader) throws {
        try entry.refuseUnknown(besides: ["name", "connect", "channel"])
        let name = try entry.required("name")
        self.name = try name.text()
        guard !self.name.isEmpty else { throw name.fault("a peer needs a name") }
        connects = try entry.optional("connect")?.bool() ?? false
        channel = try entry.optional("channel").map { member in
            guard let amount = Amount(ckb: try member.text()), amount.value >= Channel.minimumFunding else {
                throw member.fault("no funding; write \"500 CKB\", at least 99 CKB")
            }
            return amount
        }
        if channel != nil && !connects { throw entry.fault("a channel needs connect: true") }
    }

    /// Its key, the same on every machine.
    var pubkey: Pubkey { .simulated(from: Array("peer \(name)".utf8)) }

    /// Its address: on this machine's loopback, at a port that nobody listens on.
    var address: String {
        let digest = SimulatedDigest.of([Array(name.utf8)])
        return "/ip4/127.0.0.1/tcp/\(1024 + (Int(digest[0]) << 8 | Int(digest[1])) % 64000)/p2p/\(pubkey.peerID)"
    }
}
