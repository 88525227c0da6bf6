import Glibc
import Supervisor
import Wire

/// One command of the command line.
struct Command: Sendable {
    let name: String
    /// A few words for the overview.
    let summary: String
    /// What stands after the options, such as `METHOD [NAME=VALUE …]`.
    let operands: String
    let options: [Option]
    /// What `--help` says beyond the options: how it behaves, then examples.
    let details: String
    /// How it can end, besides `usage`.
    let exitCodes: [ExitCode]
    let run: @Sendable (Options) throws(Failure) -> ExitCode

    /// In the order of the overview.
    static let all = [Command.run, .status, .watch, .call, .switch, .account, .check, .version]

    static func named(_ name: String) throws(Failure) -> Command {
        if let command = all.first(where: { $0.name == name }) { return command }
        let hint = nearest(name, among: all.map(\.name)).map { "; did you mean \($0)?" } ?? ""
        throw .usage("there is no command \(quoted(name))\(hint)", see: nil)
    }

    /// Reads the words after the command's name and does it.
    func start(_ words: [String]) throws(Failure) -> ExitCode {
        let given = try Options(words, of: self)
        guard !given.asksForHelp else {
            Output.shared.print(help)
            return Output.shared.finish()
        }
        return try run(given)
    }

    private var help: String {
        let usage = ["nodebus", name, options.isEmpty ? "" : "[OPTIONS]", operands].filter { !$0.isEmpty }
        let rows = options.map { ($0.usage, $0.summary) } + [("--help", "this text")]
        let codes = (exitCodes + [.usage]).sorted { $0.rawValue < $1.rawValue }
        return """
            Usage: \(usage.joined(separator: " "))

            \(details)

            Options:
            \(aligned(rows))

            Exit codes:
            \(aligned(codes.map { ("\($0.rawValue)", $0.summary) }))
            """
    }

    /// What `nodebus --help` prints.
    static var overview: String {
        """
        nodebus supervises one embedded native node, publishes everything it says and takes commands for it.

        Usage: nodebus COMMAND [OPTIONS] …

        Commands:
        \(aligned(all.map { ($0.name, $0.summary) }))

        nodebus COMMAND --help says more about one of them, with examples.

        The configuration is the file after --config, or the one that NODEBUS_CONFIG names, or config/nodebus.yml in the
        working directory.

        Exit codes:
        \(aligned(ExitCode.allCases.map { ("\($0.rawValue)", $0.summary) }))
        """
    }
}

/// Why a command ends without having done its work: what stderr says, and the code.
struct Failure: Error {
    let code: ExitCode
    /// The whole text for stderr.
    let text: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        text = "nodebus: \(message)"
    }

    /// A command line that was not understood; `see` is the command whose help says more.
    static func usage(_ message: String, see command: String?) -> Failure {
        Failure(.usage, "\(message)\nnodebus \(command.map { "\($0) " } ?? "")--help says what is possible")
    }

    /// Every fault of a configuration, a line each.
    static func configuration(_ error: ConfigurationError) -> Failure {
        Failure(text: error.description, error.isUnreadable ? .configurationUnreadable : .configurationFaulty)
    }

    private init(text: String, _ code: ExitCode) {
        self.text = text
        self.code = code
    }

    /// Prints it; what was printed before goes out first.
    func report() -> ExitCode {
        _ = Output.shared.finish()
        printError(text)
        return code
    }
}

/// Two columns, the first as wide as its longest entry.
func aligned(_ rows: [(String, String)], indent: String = "  ") -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { "\(indent)\($0.0.padded(to: width))  \($0.1)" }.joined(separator: "\n")
}

extension String {
    /// This text with spaces up to a width.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
