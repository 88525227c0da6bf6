import Glibc
import NodeBusClient
import Supervisor
import Wire
import ZeroMQ

/// An option that a command takes.
struct Option: Sendable {
    /// With its dashes.
    let name: String
    /// What its value is called in help texts; nil: it takes none.
    let value: String?
    let summary: String

    var usage: String { value.map { "\(name) \($0)" } ?? name }

    static let config = Option(
        name: "--config", value: "FILE",
        summary: "the configuration (default: $NODEBUS_CONFIG, else config/nodebus.yml in the working directory)")
    static let commands = Option(
        name: "--commands", value: "ENDPOINT", summary: "where the supervisor takes commands, instead of bus.commands")
    static let events = Option(
        name: "--events", value: "ENDPOINT", summary: "where events are published, instead of bus.events")
    static let json = Option(name: "--json", value: nil, summary: "JSON for programs")
}

/// The words after a command's name, read.
struct Options {
    private var values: [String: String] = [:]
    private let command: String
    /// What is no option.
    private(set) var operands: [String] = []
    private(set) var asksForHelp = false

    /// Options may stand anywhere, as `--name value` or `--name=value`; the last of a name counts; after `--` nothing
    /// is an option.
    init(_ words: [String], of command: Command) throws(Failure) {
        self.command = command.name
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                operands.append(word)
                continue
            }
            if word == "--help" || word == "-h" {
                asksForHelp = true
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = command.options.first(where: { $0.name == parts[0] }) else {
                let known = command.options.map(\.name) + ["--help"]
                let hint = nearest(parts[0], among: known).map { "; did you mean \($0)?" } ?? ""
                throw .usage("\(command.name) has no option \(quoted(parts[0]))\(hint)", see: command.name)
            }
            if let name = option.value {
                guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    throw .usage("\(option.name) needs a value: \(option.name) \(name)", see: command.name)
                }
                values[option.name] = value
            } else {
                guard parts.count == 1 else { throw .usage("\(option.name) takes no value", see: command.name) }
                values[option.name] = ""
            }
        }
        if command.operands.isEmpty, let stranger = operands.first, !asksForHelp {
            throw .usage("\(command.name) takes no \(quoted(stranger))", see: command.name)
        }
    }

    func has(_ option: Option) -> Bool { values[option.name] != nil }

    func value(_ option: Option) -> String? { values[option.name] }

    /// A whole number of at least `least`.
    func integer(_ option: Option, least: Int64) throws(Failure) -> Int64? {
        guard let text = values[option.name] else { return nil }
        guard let value = Int64(text), value >= least, !text.hasPrefix("+") else {
            throw usage("\(option.name) must be a whole number of at least \(least), not \(quoted(text))")
        }
        return value
    }

    /// A duration with a unit, from a millisecond to an hour.
    func duration(_ option: Option) throws(Failure) -> Duration? {
        guard let text = values[option.name] else { return nil }
        guard let value = Quantities.duration(text), (.milliseconds(1)...(.seconds(3600))).contains(value) else {
            throw usage("\(option.name) must be \(Quantities.durationRule), at most 1h, not \(quoted(text))")
        }
        return value
    }

    func usage(_ message: String) -> Failure { .usage(message, see: command) }

    /// The file that `--config`, the environment or the working directory names.
    var configurationPath: String? {
        if let path = values[Option.config.name] { return path }
        if let path = getenv("NODEBUS_CONFIG").map({ String(cString: $0) }), !path.isEmpty { return path }
        let preset = "config/nodebus.yml"
        return access(preset, F_OK) == 0 ? preset : nil
    }

    /// The configuration, read and checked; for a client without the files of the nodes.
    func configuration(withNodes: Bool = true) throws(Failure) -> Configuration {
        guard let path = configurationPath else {
            throw Failure(
                .configurationUnreadable,
                "no configuration: give --config FILE, set NODEBUS_CONFIG, or stand where config/nodebus.yml is")
        }
        do throws(ConfigurationError) { return try Configuration.load(path: path, withNodes: withNodes) } catch {
            throw .configuration(error)
        }
    }

    /// An endpoint given as an option. Whether anybody is there shows later.
    private func endpoint(_ option: Option) throws(Failure) -> String? {
        guard let text = values[option.name] else { return nil }
        guard ["ipc://", "tcp://"].contains(where: { text.hasPrefix($0) && text.count > $0.count }) else {
            throw usage("\(option.name) must be like ipc:///run/nodebus/commands.sock, not \(quoted(text))")
        }
        return text
    }

    /// Where the supervisor takes commands.
    func commandEndpoint() throws(Failure) -> String {
        if let endpoint = try endpoint(.commands) { return endpoint }
        return try configuration(withNodes: false).bus.commands[0].description
    }

    /// Where the supervisor publishes.
    func eventEndpoint() throws(Failure) -> String {
        if let endpoint = try endpoint(.events) { return endpoint }
        return try configuration(withNodes: false).bus.events[0].description
    }
}

/// Runs `body` against the bus, with its errors as failures of the command.
func withBus<Result>(_ body: (Context) throws(ClientError) -> Result) throws(Failure) -> Result {
    let context: Context
    do throws(ZeroMQError) { context = try Context() } catch { throw Failure(.refused, error.description) }
    do throws(ClientError) { return try body(context) } catch {
        switch error {
        case .noSupervisor:
            throw Failure(.noSupervisor, "\(error); nodebus run starts one")
        case .lost: throw Failure(.noSupervisor, error.description)
        case .refused(let refusal): throw Failure(.refused, explained(refusal))
        case .unanswered, .tooLarge, .unreadable, .transport: throw Failure(.refused, error.description)
        }
    }
}

/// A refusal as a sentence and what else is known of it.
private func explained(_ refusal: BusError) -> String {
    var rows = [
        ("error", "\(refusal.code.name) (\(refusal.code.rawValue))"),
        ("retryable", refusal.isRetryable ? "yes" : "no"),
    ]
    rows += refusal.data.map { ($0.key, visible($0.value.text ?? $0.value.encoded)) }
    return "\(visible(refusal.message))\n\(aligned(rows))"
}
