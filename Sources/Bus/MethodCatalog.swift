import Linux
import Wire

/// The methods that can be called now: always the bus's own, and those that a host has described while its node is up.
final class MethodCatalog: Sendable {
    private struct State {
        var methods = MethodCatalog.own
        /// By source; empty: known, but not up.
        var hosted: [String: [MethodDescription]] = [:]
        var listing = MethodCatalog.listing([])
        var discovery: [UInt8]
        var refusal: BusError?
        var absence: BusError?
    }

    private static let own = Dictionary(uniqueKeysWithValues: BusMethods.all.map { ($0.name, $0) })
    private static let ownNamespaces = Set(BusMethods.all.map { namespace($0.name) } + ["consumers"])
    private let version: String
    private let state: Lock<State>

    /// `version` is the supervisor's, for the OpenRPC document.
    init(version: String) {
        self.version = version
        state = Lock(State(discovery: MethodCatalog.discovery([], version)))
    }

    /// Sets what can be called of a source; empty: its node is not up. Other names than `source.…` are left out: a host
    /// cannot take ours over.
    func describe(source: String, _ methods: [MethodDescription]) {
        guard Topic.isSource(source), !MethodCatalog.ownNamespaces.contains(source) else { return }
        let usable = methods.filter { MethodCatalog.namespace($0.name) == source }
        state.withLock { state in
            state.hosted[source] = usable
            let all = state.hosted.sorted { $0.key < $1.key }.flatMap(\.value)
            state.methods = MethodCatalog.own.merging(all.map { ($0.name, $0) }) { ours, _ in ours }
            state.listing = MethodCatalog.listing(all)
            state.discovery = MethodCatalog.discovery(all, version)
        }
    }

    /// From now on everything but ping, version and status is refused with this; nil: no longer.
    func refuse(with error: BusError?) { state.withLock { $0.refusal = error } }

    /// What calls of a node that is not up are answered; nil: `node_not_running`.
    func explainAbsence(_ error: BusError?) { state.withLock { $0.absence = error } }

    /// The result of `bus.methods`, as JSON text.
    var listing: [UInt8] { state.withLock { $0.listing } }

    /// The result of `rpc.discover`, as JSON text.
    var discovery: [UInt8] { state.withLock { $0.discovery } }

    /// The method of that name, if it can be called now.
    func find(_ name: String) throws(BusError) -> MethodDescription {
        let state = state.withLock { $0 }
        if let refusal = state.refusal, !["bus.ping", "bus.version", "bus.status"].contains(name) { throw refusal }
        if let found = state.methods[name] { return found }
        let source = MethodCatalog.namespace(name)
        if let methods = state.hosted[source], methods.isEmpty {
            if let absence = state.absence { throw absence }
            throw BusError(
                .nodeNotRunning, "no \(source) node is running; start it with node.start",
                ["method": .string(name)])
        }
        throw MethodCatalog.unknown(name, state.methods.keys)
    }

    private static func unknown(_ name: String, _ known: some Sequence<String>) -> BusError {
        guard name.utf8.count <= 100, let close = nearest(to: name, in: known) else {
            return BusError(.methodNotFound, "unknown method \(quoted(name)); bus.methods lists all")
        }
        return BusError(
            .methodNotFound, "unknown method \(quoted(name)); did you mean \(close)?", ["suggestion": .string(close)])
    }

    private static func nearest(to name: String, in known: some Sequence<String>) -> String? {
        let letters = Array(name.utf8)
        let limit = max(2, letters.count / 4)
        let distances = known.map { (distance(letters, Array($0.utf8)), $0) }.filter { $0.0 <= limit }
        return distances.min { $0 < $1 }?.1
    }

    /// How many letters have to be put in, taken out or changed (Levenshtein), row by row.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for other in 0..<right.count {
                let changed = diagonal + (letter == right[other] ? 0 : 1)
                diagonal = row[other + 1]
                row[other + 1] = min(changed, diagonal + 1, row[other] + 1)
            }
        }
        return row[right.count]
    }

    private static func namespace(_ name: String) -> String { String(name.prefix { $0 != "." }) }

    private static func listing(_ hosted: [MethodDescription]) -> [UInt8] {
        (["methods": .array((BusMethods.all + hosted).map(\.json))] as JSON).bytes
    }

    private static func discovery(_ hosted: [MethodDescription], _ version: String) -> [UInt8] {
        OpenRPC.document(version: version, BusMethods.all + hosted).bytes
    }
}
