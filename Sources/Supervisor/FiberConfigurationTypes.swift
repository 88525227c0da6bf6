import YAML

/// Values as the node's own reader takes them. It reads a generic YAML tree first, so that what YAML takes for a number
/// is no text.
extension ConfigurationEntry {
    /// The value under a key; nil when it is absent or null.
    func member(_ key: String) -> ConfigurationEntry? {
        guard let value = node[key], !value.isNull else { return nil }
        return ConfigurationEntry(node: value, path: join(key), faults: faults)
    }

    /// The value under a key that must be there and not null.
    func required(_ key: String, example: String) -> ConfigurationEntry? {
        if let found = member(key) { return found }
        faults.add(node[key] ?? node, join(key), "is missing; write \(key): \(example)")
        return nil
    }

    /// A mapping that must be there.
    func requiredMapping(_ key: String, example: String) -> ConfigurationEntry? {
        required(key, example: example).flatMap { $0.isMapping() ? $0 : nil }
    }

    /// Whether this is a mapping; a fault when not.
    func isMapping() -> Bool {
        if node.mapping == nil { fault("must be a mapping, not \(found)") }
        return node.mapping != nil
    }

    /// The entries of a list; nil for anything else.
    var items: [ConfigurationEntry]? {
        node.sequence?.enumerated().map { ConfigurationEntry(node: $1, path: "\(path)[\($0)]", faults: faults) }
    }

    /// The entries of the list under a key; none when it is absent, a fault when it is something else.
    func list(under key: String) -> [ConfigurationEntry] {
        guard let list = member(key) else { return [] }
        if list.items == nil { list.fault("must be a list, not \(list.found)") }
        return list.items ?? []
    }

    /// Text. Bare hex answers nil without a fault: there is a warning of it already.
    func string(_ rule: String) -> String? {
        guard !isBareHex else { return nil }
        guard let text = node.text, !node.isNull else {
            fault("must be \(rule), not \(found)")
            return nil
        }
        guard node.bool == nil, !isNumber else {
            fault("must be \(rule), and \(text) without quotes is a \(node.bool == nil ? "number" : "truth value")")
            return nil
        }
        return text
    }

    /// The members of these names, each of its type where it is there.
    func checkMembers(text: [String], flags: [String], numbers: [String]) {
        for entry in text.compactMap(member) { _ = entry.string("text") }
        for entry in flags.compactMap(member) where entry.node.bool == nil {
            entry.fault("must be true or false, not \(entry.found)")
        }
        for entry in numbers.compactMap(member) {
            let isWhole = entry.node.plain.map { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
            if isWhole != true && !entry.isBareHex {
                entry.fault("must be a whole number without quotes, not \(entry.found)")
            }
        }
    }

    /// An entry of `fiber.scripts`.
    func checkContract() {
        guard isMapping() else { return }
        _ = required("name", example: "FundingLock").flatMap { $0.string("a name such as FundingLock") }
        requiredMapping("script", example: "{code_hash: \"0x…\", hash_type: type, args: \"0x\"}")?.checkScript()
        for dependency in checkDependencies() {
            let ways = ["type_id", "cell_dep"].compactMap(dependency.member)
            if ways.count != 1 {
                dependency.fault(
                    "must have exactly one of type_id and cell_dep, not \(ways.count == 2 ? "both" : "none")")
            }
            dependency.member("type_id")?.checkScript()
        }
    }

    /// The entries of `cell_deps`, each a mapping.
    @discardableResult
    func checkDependencies() -> [ConfigurationEntry] {
        list(under: "cell_deps").filter { dependency in
            guard dependency.isMapping() else { return false }
            dependency.member("cell_dep")?.checkCellDependency()
            return true
        }
    }

    private func checkCellDependency() {
        guard isMapping() else { return }
        if let point = requiredMapping("out_point", example: "{tx_hash: \"0x…\", index: \"0x0\"}") {
            point.checkHex("tx_hash", digits: 64)
            point.checkHex("index", digits: nil)
        }
        _ = required("dep_type", example: "code")?.choice(["code", "dep_group"])
    }

    /// A script of the chain.
    private func checkScript() {
        guard isMapping() else { return }
        checkHex("code_hash", digits: 64)
        _ = required("hash_type", example: "type")?.choice(["data", "type", "data1", "data2"])
        checkHex("args", digits: nil)
    }

    private func checkHex(_ key: String, digits: Int?) {
        let rule = digits.map { "0x and \($0) hex digits in quotes" } ?? "0x and hex digits in quotes"
        guard let entry = required(key, example: "\"0x…\""), let text = entry.string(rule) else { return }
        let hex = text.dropFirst(2)
        let isHex = text.hasPrefix("0x") && hex.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
        if !isHex || (digits != nil && hex.utf8.count != digits) { entry.fault("must be \(rule), not \(entry.found)") }
    }

    /// Warns of every bare hex scalar from here down that is not meant as a number.
    func warnOfBareHex() {
        if isBareHex {
            let consequence = "may be a number to the node, which then does not start; write it in quotes"
            warn("\(node.text ?? "") without quotes \(consequence)")
        }
        for pair in node.mapping ?? [] where !FiberKeys.bareHexAllowed.contains(pair.name) {
            ConfigurationEntry(node: pair.value, path: join(pair.name), faults: faults).warnOfBareHex()
        }
        for item in items ?? [] { item.warnOfBareHex() }
    }

    /// A plain `0x…`.
    private var isBareHex: Bool {
        guard let text = node.plain, text.hasPrefix("0x"), text.utf8.count > 2 else { return false }
        return text.utf8.dropFirst(2).allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }

    /// A plain decimal number. Digits after a leading zero are text.
    private var isNumber: Bool {
        guard let text = node.plain, text.utf8.contains(where: { (0x30...0x39).contains($0) }) else { return false }
        let digits = text.drop { $0 == "-" || $0 == "+" }.utf8
        if digits.count > 1, digits.first == 0x30, let second = digits.dropFirst().first, (0x30...0x39).contains(second)
        {
            return false
        }
        return text.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) } && Double(text) != nil
    }
}
