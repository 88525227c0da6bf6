import Supervisor

extension Command {
    /// `nodebus check`
    static let check = Command(
        name: "check", summary: "reads the configuration and names everything that is wrong", operands: "",
        options: [.config],
        details: """
            Reads the configuration and the nodes' own files that it names, and starts and changes nothing. Every fault
            is one line on stderr: FILE:LINE:COLUMN: KEY: what is wrong, and what would be right. What can run, though
            perhaps not as it is meant, is a line that starts with "warning: " and changes no exit code.

            Example:
              nodebus check --config /etc/nodebus/nodebus.yml
            """,
        exitCodes: [.done, .configurationUnreadable, .configurationFaulty]
    ) { (options: Options) throws(Failure) -> ExitCode in
        let configuration = try options.configuration()
        for warning in configuration.warnings { printError("warning: \(warning)") }
        let networks = configuration.networks.map { $0.isSimulated ? "\($0.name) (simulated)" : $0.name }
        Output.shared.print(
            "\(configuration.file) is good: starts \(configuration.start) of \(networks.joined(separator: ", "))")
        return Output.shared.finish()
    }
}
