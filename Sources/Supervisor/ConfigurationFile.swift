import Glibc
import Linux
import Wire
import YAML

extension Configuration {
    /// Reads and checks a file, and starts or creates nothing. The error names every fault that can be found in one
    /// pass.
    ///
    /// Relative paths in the file are relative to its directory. `programDirectory` is where `library: sim` is looked
    /// for. A client, which only looks for the bus, need not care for the files of the nodes (`withNodes: false`).
    public static func load(
        path: String, programDirectory: String = Program.directory, withNodes: Bool = true
    ) throws(ConfigurationError) -> Configuration {
        let root = try parse(try readFile(path), of: path)
        guard let directory = resolvedDirectory(of: path) else {
            throw .unreadable(path, SystemError.last("realpath"))
        }
        let faults = FaultList(file: path)
        let file = ConfigurationFile(
            directory: directory, programDirectory: programDirectory, withNodes: withNodes, faults: faults)
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let entry = ConfigurationEntry(node: root, path: "", faults: faults)
        let decoded = file.decode(entry, name: absolutePath(name, relativeTo: directory))
        guard var configuration = decoded, faults.faults.isEmpty else {
            throw ConfigurationError(faults: faults.faults)
        }
        configuration.warnings = faults.warnings
        return configuration
    }

    private static func readFile(_ path: String) throws(ConfigurationError) -> [UInt8] {
        do throws(SystemError) {
            // Non-blocking, so that a FIFO under that name does not hold us for ever; it has no effect on files.
            return try Descriptor.open(path, O_RDONLY | O_NONBLOCK).readAll(limit: YAML.sizeLimit + 1)
        } catch {
            throw .unreadable(path, error)
        }
    }

    private static func parse(_ bytes: [UInt8], of path: String) throws(ConfigurationError) -> YAML.Node {
        do throws(YAMLError) { return try YAML.parse(bytes) } catch {
            let place = ConfigurationError.Place(line: error.line, column: error.column)
            throw ConfigurationError(faults: [.init(file: path, place: place, path: "", problem: error.problem)])
        }
    }

    /// With symbolic links followed, so that `..` means the same to us, who cut it out of paths, and to the kernel.
    private static func resolvedDirectory(of path: String) -> String? {
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard let resolved = realpath(directory, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

/// The keys of the file, their defaults and their ranges.
struct ConfigurationFile {
    let directory: String
    let programDirectory: String
    let withNodes: Bool
    let faults: FaultList

    /// The whole file, or nil with at least one fault.
    func decode(_ root: ConfigurationEntry, name: String) -> Configuration? {
        guard let file = root.section(["root", "bus", "networks", "start", "supervision", "journal"]) else {
            return nil
        }
        let data = file.required("root", example: "../var/nodebus")?.filePath(relativeTo: directory)
        let bus = file.required("bus", example: "{events: […], commands: […]}").flatMap(readBus)
        let networks = file.required("networks", example: "{dev: {host: fiber, library: sim, config: fiber/dev.yml}}")
            .flatMap(readNetworks)
        let start = file.required("start", example: "dev/demo").flatMap { readStart($0, networks) }
        let supervision = readSupervision(file.optional("supervision"))
        checkJournal(file.optional("journal"))
        guard let data, let bus, let networks, let start, let supervision else { return nil }
        return Configuration(
            file: name, root: data, bus: bus, networks: networks, start: start, supervision: supervision)
    }

    private func readBus(_ entry: ConfigurationEntry) -> Configuration.BusSettings? {
        let refused: KeyValuePairs = [
            "curve": "is not offered by this version: only ipc:// endpoints are, which file permissions protect",
            "clients": "is not offered by this version: whoever can open the sockets is the owner",
        ]
        guard let bus = entry.section(["events", "commands", "heartbeat"], refused: refused) else { return nil }
        var seen: [Configuration.Endpoint: String] = [:]
        let events = bus.required("events", example: "[ipc://../var/run/events.sock]").flatMap {
            readEndpoints($0, &seen)
        }
        let commands = bus.required("commands", example: "[ipc://../var/run/commands.sock]")
            .flatMap { readEndpoints($0, &seen) }
        let heartbeat = duration(bus, "heartbeat", .seconds(1), .milliseconds(100)...(.seconds(60)))
        guard let events, let commands, let heartbeat else { return nil }
        return .init(events: events, commands: commands, heartbeat: heartbeat)
    }

    private func readEndpoints(
        _ entry: ConfigurationEntry, _ seen: inout [Configuration.Endpoint: String]
    ) -> [Configuration.Endpoint]? {
        guard let list = entry.list("ipc://../var/run/events.sock") else { return nil }
        var endpoints: [Configuration.Endpoint] = []
        for item in list {
            guard let endpoint = readEndpoint(item) else { continue }
            if let first = seen.updateValue(item.path, forKey: endpoint) {
                item.fault("is the same socket as \(first): \(endpoint.path)")
            }
            endpoints.append(endpoint)
        }
        return endpoints.count == list.count ? endpoints : nil
    }

    private func readEndpoint(_ entry: ConfigurationEntry) -> Configuration.Endpoint? {
        let example = "ipc://../var/run/events.sock"
        guard let text = entry.text("an endpoint such as \(example)") else { return nil }
        guard text.hasPrefix("ipc://") else {
            let reason =
                text.hasPrefix("tcp://")
                ? "tcp:// endpoints need CURVE, which this version does not offer; use ipc://"
                : "must start with ipc://, such as \(example), not \(quoted(text))"
            entry.fault(reason)
            return nil
        }
        let path = String(text.dropFirst(6))
        // libzmq gives these two a meaning of their own: the abstract namespace, which has no permissions, and a name
        // of its choice.
        guard !path.isEmpty, !path.hasPrefix("@"), path != "*", !path.hasSuffix("/") else {
            entry.fault("must name a file, such as \(example), not \(quoted(text))")
            return nil
        }
        let absolute = absolutePath(path, relativeTo: directory)
        guard absolute.utf8.count <= 107 else {
            entry.fault("\(absolute) has \(absolute.utf8.count) bytes; the path of a socket has at most 107")
            return nil
        }
        return .init(path: absolute)
    }

    private func readNetworks(_ entry: ConfigurationEntry) -> [Configuration.NetworkSettings]? {
        let example = "{dev: {host: fiber, library: sim, config: fiber/dev.yml}}"
        guard let entries = entry.entries(example) else { return nil }
        guard !entries.isEmpty else {
            entry.fault("must name at least one network, such as \(example)")
            return nil
        }
        var networks: [Configuration.NetworkSettings] = []
        var ports = FixedPorts()
        for (key, value) in entries {
            let name = key.text ?? ""
            let isName = Profile.isName(name)
            if !isName { faults.add(key, value.path, "is no name for a network: \(Profile.nameRule)") }
            if let network = readNetwork(value, name: name, &ports), isName { networks.append(network) }
        }
        return networks.count == entries.count ? networks : nil
    }

    private func readNetwork(
        _ entry: ConfigurationEntry, name: String, _ ports: inout FixedPorts
    ) -> Configuration.NetworkSettings? {
        let refused: KeyValuePairs = ["prepare": "is not offered by this version"]
        guard let network = entry.section(["host", "library", "config", "passphrase"], refused: refused) else {
            return nil
        }
        let host = network.required("host", example: "fiber")?.choice(
            Configuration.Host.allCases.map(\.rawValue),
            refused: [
                "any": "the host any is not offered by this version; fiber is",
                "connect": "the host connect is not offered by this version; fiber is",
            ]
        ).flatMap(Configuration.Host.init)
        let library = network.required("library", example: "sim").flatMap(readLibrary)
        let config = network.required("config", example: "fiber/dev.yml").flatMap(readNodeConfig)
        let passphrase = value(network, "passphrase", .account) { $0.passphraseSource(relativeTo: directory) }
        guard let host, let library, let config, let passphrase else { return nil }
        var chain: String?
        if withNodes {
            let node = FiberConfigurationFile(
                config.text, isSimulated: library.isSimulated, faults: faults.list(of: config.path))
            chain = node?.chain
            if let address = node?.address { ports.add(address, of: name) }
        }
        return .init(
            name: name, host: host, library: library.path, isSimulated: library.isSimulated, config: config.path,
            passphrase: passphrase, chain: chain)
    }

    private func readLibrary(_ entry: ConfigurationEntry) -> (path: String, isSimulated: Bool)? {
        guard let text = entry.text("sim or the path of a library") else { return nil }
        if text == "sim" { return ("\(programDirectory)/libfiber_sim.so", true) }
        guard text.contains("/") else {
            entry.fault("must be sim or the path of a library with a / in it, such as ./\(text), not \(quoted(text))")
            return nil
        }
        return entry.filePath(relativeTo: directory).map { ($0, false) }
    }

    private func readNodeConfig(_ entry: ConfigurationEntry) -> (path: String, text: [UInt8])? {
        guard let path = entry.filePath(relativeTo: directory) else { return nil }
        do throws(SystemError) {
            let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
            var status = stat()
            guard fstat(file.raw, &status) == 0 else { throw .last("stat", path) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                entry.fault("\(path) is not a file")
                return nil
            }
            return (path, try file.readAll(limit: YAML.sizeLimit + 1))
        } catch {
            entry.fault("\(path) cannot be read: \(error.reason)")
            return nil
        }
    }

    private func readStart(_ entry: ConfigurationEntry, _ networks: [Configuration.NetworkSettings]?) -> Profile? {
        guard let text = entry.text("network/account, such as dev/demo") else { return nil }
        guard let profile = Profile(text) else {
            entry.fault(
                "must be network/account, such as dev/demo, not \(quoted(text)); a name has \(Profile.nameRule)")
            return nil
        }
        // Without a sound list of networks its own faults are enough.
        guard let names = networks?.map(\.name), !names.contains(profile.network) else { return profile }
        let offer =
            nearest(profile.network, among: names).map { "; did you mean \($0)?" }
            ?? ", which has \(names.joined(separator: ", "))"
        entry.fault("the network \(profile.network) is not under networks\(offer)")
        return nil
    }

    private func readSupervision(_ entry: ConfigurationEntry?) -> Configuration.SupervisionSettings? {
        let keys = ["start_timeout", "stop_timeout", "call_timeout", "hang_timeout", "restart"]
        let section = entry?.section(keys)
        if entry != nil && section == nil { return nil }
        let start = duration(section, "start_timeout", .seconds(120), .seconds(1)...(.seconds(3600)))
        let stop = duration(section, "stop_timeout", .seconds(30), .milliseconds(100)...(.seconds(3600)))
        let call = duration(section, "call_timeout", .seconds(60), .milliseconds(100)...(.seconds(3600)))
        let hang = duration(section, "hang_timeout", .seconds(300), .milliseconds(100)...(.seconds(86400)))
        let restart = readRestart(section?.optional("restart"))
        guard let start, let stop, let call, let hang, let restart else { return nil }
        if hang < call {
            let place = section?.optional("hang_timeout") ?? section?.optional("call_timeout")
            place?.fault(
                "the host would be killed (hang_timeout \(Quantities.text(of: hang))) before the caller is answered "
                    + "(call_timeout \(Quantities.text(of: call))); hang_timeout must be at least call_timeout")
        }
        return .init(startTimeout: start, stopTimeout: stop, callTimeout: call, hangTimeout: hang, restart: restart)
    }

    private func readRestart(_ entry: ConfigurationEntry?) -> Configuration.RestartSettings? {
        let keys = ["first", "factor", "max", "jitter", "limit", "window", "stable", "then_every"]
        let section = entry?.section(keys)
        if entry != nil && section == nil { return nil }
        let delays: ClosedRange<Duration> = .milliseconds(1)...(.seconds(3600))
        let days: ClosedRange<Duration> = .seconds(1)...(.seconds(7 * 86400))
        let first = duration(section, "first", .milliseconds(250), delays)
        let longest = duration(section, "max", .seconds(30), delays)
        let window = duration(section, "window", .seconds(600), days)
        let stable = duration(section, "stable", .seconds(60), .milliseconds(100)...days.upperBound)
        let thenEvery = duration(
            section, "then_every", .seconds(300), .milliseconds(100)...days.upperBound, zeroMeans: "never")
        let factor = value(section, "factor", 2) { $0.number(1...100) }
        let jitter = value(section, "jitter", 0.2) { $0.number(0...1) }
        let limit = value(section, "limit", 10) { $0.integer(0...1_000_000) }
        guard let first, let longest, let window, let stable, let thenEvery, let factor, let jitter, let limit else {
            return nil
        }
        if longest < first {
            let place = section?.optional("max") ?? section?.optional("first")
            place?.fault(
                "max (\(Quantities.text(of: longest))) must be at least first (\(Quantities.text(of: first)))")
        }
        return .init(
            first: first, factor: factor, max: longest, jitter: jitter, limit: Int(limit), window: window,
            stable: stable, thenEvery: thenEvery)
    }

    private func checkJournal(_ entry: ConfigurationEntry?) {
        let refused: KeyValuePairs = ["keep": "retention is not offered by this version: every event is kept"]
        _ = entry?.section(["durability"], refused: refused)?.optional("durability")?.choice(
            ["full"], refused: ["relaxed": "relaxed is not offered by this version; full is"])
    }

    /// The duration under a key, or its default when the key is left out.
    private func duration(
        _ section: ConfigurationSection?, _ key: String, _ preset: Duration, _ range: ClosedRange<Duration>,
        zeroMeans: String? = nil
    ) -> Duration? {
        value(section, key, preset) { $0.duration(range, zeroMeans: zeroMeans) }
    }

    private func value<Value>(
        _ section: ConfigurationSection?, _ key: String, _ preset: Value, _ read: (ConfigurationEntry) -> Value?
    ) -> Value? {
        guard let entry = section?.optional(key) else { return preset }
        return read(entry)
    }
}
