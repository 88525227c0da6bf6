import Wire
import YAML

/// Collects what is wrong, so that one run of `nodebus check` names everything.
final class FaultList {
    let file: String
    private var ownFaults: [ConfigurationError.Fault] = []
    private var ownWarnings: [ConfigurationError.Fault] = []
    private var named: [FaultList] = []

    init(file: String) { self.file = file }

    /// A list for a file that this one names.
    func list(of file: String) -> FaultList {
        let list = FaultList(file: file)
        named.append(list)
        return list
    }

    func add(_ node: YAML.Node, _ path: String, _ problem: String) { ownFaults.append(line(node, path, problem)) }

    /// What can run as it is, though perhaps not as it is meant.
    func warn(_ node: YAML.Node, _ path: String, _ problem: String) { ownWarnings.append(line(node, path, problem)) }

    /// All faults in the order of the file, then those of the files it names.
    var faults: [ConfigurationError.Fault] { lines { $0.ownFaults } }

    /// The warnings, in the same order.
    var warnings: [ConfigurationError.Fault] { lines { $0.ownWarnings } }

    private func line(_ node: YAML.Node, _ path: String, _ problem: String) -> ConfigurationError.Fault {
        let place = ConfigurationError.Place(line: node.line, column: node.column)
        return ConfigurationError.Fault(file: file, place: place, path: path, problem: problem)
    }

    private func lines(_ own: (FaultList) -> [ConfigurationError.Fault]) -> [ConfigurationError.Fault] {
        let start = ConfigurationError.Place(line: 0, column: 0)
        var lines = own(self).sorted { ($0.place ?? start) < ($1.place ?? start) }
        // Two networks may name one file.
        for line in named.flatMap({ $0.lines(own) }) where !lines.contains(line) { lines.append(line) }
        return lines
    }
}

/// One value of the file with its key. Each reader answers the value, or adds a fault and answers nil.
struct ConfigurationEntry {
    let node: YAML.Node
    let path: String
    let faults: FaultList

    func fault(_ problem: String) { faults.add(node, path, problem) }

    func warn(_ problem: String) { faults.warn(node, path, problem) }

    /// What stands there, in words.
    var found: String {
        switch node.content {
        case .scalar(let text, _): node.isNull ? "nothing" : quoted(text)
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }

    /// Text. `rule` says what would be right.
    func text(_ rule: String) -> String? {
        guard let text = node.text, !node.isNull, !text.isEmpty else {
            fault("must be \(rule), not \(found)")
            return nil
        }
        guard !text.utf8.contains(0) else {
            fault("must not contain a NUL character")
            return nil
        }
        return text
    }

    /// A duration within a range.
    func duration(_ range: ClosedRange<Duration>, zeroMeans: String? = nil) -> Duration? {
        if zeroMeans != nil, node.text == "0" { return .zero }
        let value = node.text.flatMap(Quantities.duration)
        if let value, range.contains(value) || (zeroMeans != nil && value == .zero) { return value }
        let bounds = "from \(Quantities.text(of: range.lowerBound)) to \(Quantities.text(of: range.upperBound))"
        let rule = value == nil ? "must be \(Quantities.durationRule)" : "must be \(bounds)"
        fault("\(rule)\(zeroMeans.map { ", or 0 (\($0))" } ?? ""), not \(found)")
        return nil
    }

    /// A whole number within a range.
    func integer(_ range: ClosedRange<Int64>) -> Int64? {
        if let value = node.integer, range.contains(value) { return value }
        fault("must be a whole number from \(range.lowerBound) to \(range.upperBound), not \(found)")
        return nil
    }

    /// A decimal number within a range.
    func number(_ range: ClosedRange<Double>) -> Double? {
        // Double alone would take "nan", "inf" and hex.
        if let plain = node.plain, plain.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2e }),
            let value = Double(plain), range.contains(value)
        {
            return value
        }
        fault("must be a number from \(range.lowerBound) to \(range.upperBound), not \(found)")
        return nil
    }

    /// One of `offered`; what is `refused` has its reason.
    func choice(_ offered: [String], refused: KeyValuePairs<String, String> = [:]) -> String? {
        if let text = node.text, offered.contains(text) { return text }
        if let reason = refused.first(where: { $0.key == node.text })?.value {
            fault(reason)
        } else {
            fault("must be \(offered.joined(separator: " or ")), not \(found)")
        }
        return nil
    }

    /// A path made absolute against `directory`.
    func filePath(relativeTo directory: String) -> String? {
        guard let text = text("a path") else { return nil }
        guard !text.hasPrefix("~") else {
            fault("\(quoted(text)) would be a directory called ~; write the path out")
            return nil
        }
        return absolutePath(text, relativeTo: directory)
    }

    /// The entries of a list that holds at least one.
    func list(_ example: String) -> [ConfigurationEntry]? {
        guard let nodes = node.sequence, !nodes.isEmpty else {
            fault("must be a list of at least one, such as [\(example)], not \(node.sequence == nil ? found : "[]")")
            return nil
        }
        return nodes.enumerated().map { ConfigurationEntry(node: $1, path: "\(path)[\($0)]", faults: faults) }
    }

    /// A mapping with any keys.
    func entries(_ example: String) -> [(key: YAML.Node, value: ConfigurationEntry)]? {
        guard let pairs = node.mapping else {
            fault("must be a mapping such as \(example), not \(found)")
            return nil
        }
        return pairs.map { ($0.key, ConfigurationEntry(node: $0.value, path: join($0.name), faults: faults)) }
    }

    /// A mapping with known keys. Every other key is a fault: with its reason when it is `refused`, else with the key
    /// that was meant.
    func section(_ known: [String], refused: KeyValuePairs<String, String> = [:]) -> ConfigurationSection? {
        guard let pairs = node.mapping else {
            let sentence = "must be a mapping with the keys \(known.joined(separator: ", ")), not \(found)"
            fault(sentence)
            return nil
        }
        for pair in pairs where !known.contains(pair.name) {
            let reason =
                refused.first { $0.key == pair.name }?.value
                ?? nearest(pair.name, among: known).map { "unknown key; did you mean \($0)?" }
                ?? "unknown key; \(path.isEmpty ? "the file" : path) takes \(known.joined(separator: ", "))"
            faults.add(pair.key, join(pair.name), reason)
        }
        return ConfigurationSection(entry: self)
    }

    func join(_ key: String) -> String {
        let shown = key.utf8.allSatisfy { 0x21 < $0 && $0 < 0x7f } && !key.isEmpty ? key : quoted(key)
        return path.isEmpty ? shown : "\(path).\(shown)"
    }
}

/// A mapping whose keys were checked.
struct ConfigurationSection {
    let entry: ConfigurationEntry

    /// The value of a key that may be left out.
    func optional(_ key: String) -> ConfigurationEntry? {
        entry.node[key].map { ConfigurationEntry(node: $0, path: entry.join(key), faults: entry.faults) }
    }

    /// The value of a key that must be there.
    func required(_ key: String, example: String) -> ConfigurationEntry? {
        if let found = optional(key) { return found }
        entry.faults.add(entry.node, entry.join(key), "is missing; write \(key): \(example)")
        return nil
    }
}

/// `path` made absolute against an absolute directory, without `.`, `..` and double slashes, so that what is compared,
/// measured and shown is one text.
func absolutePath(_ path: String, relativeTo directory: String) -> String {
    var parts: [Substring] = []
    for part in (path.hasPrefix("/") ? path : "\(directory)/\(path)").split(separator: "/") {
        switch part {
        case ".": break
        case "..": _ = parts.popLast()
        default: parts.append(part)
        }
    }
    return "/" + parts.joined(separator: "/")
}
