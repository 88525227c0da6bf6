import Glibc
import Linux
import Supervisor

extension Command {
    /// `nodebus run`
    static let run = Command(
        name: "run", summary: "runs the supervisor and its node until it is told to end", operands: "",
        options: [.config],
        details: """
            Runs the supervisor in the foreground: it starts the node host, publishes events, takes commands, and
            starts the node again when it dies. It says where the sockets are on stdout and what happens on stderr.
            SIGTERM, SIGINT (Ctrl-C) and nodebus call bus.shutdown end it in order.

            Example:
              nodebus run --config /etc/nodebus/nodebus.yml
            """,
        exitCodes: [
            .done, .configurationUnreadable, .configurationFaulty, .endpoint, .rootLocked, .storage,
            .host,
        ]
    ) { (options: Options) throws(Failure) -> ExitCode in
        // First of all: a signal that comes while the configuration is read must not be lost.
        let signals: SignalDescriptor
        do throws(SystemError) { signals = try SignalDescriptor(blocking: [SIGTERM, SIGINT, SIGHUP]) } catch {
            throw Failure(.host, error.description)
        }
        return Supervisor.run(try options.configuration(), signals)
    }
}
