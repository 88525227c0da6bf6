/// How the programs end. A family per ten, so that a script can act on `code / 10`; `nodebus --help` lists them.
public enum ExitCode: Int32, Sendable, CaseIterable {
    /// It was done.
    case done = 0
    /// The supervisor answered with an error, which stands on stderr.
    case refused = 1
    /// The command line was not understood.
    case usage = 2
    /// No supervisor answers at the endpoint.
    case noSupervisor = 3
    /// The configuration file cannot be read.
    case configurationUnreadable = 10
    /// The configuration has faults.
    case configurationFaulty = 11
    /// An endpoint of the configuration cannot be listened on.
    case endpoint = 12
    /// Another supervisor holds the root.
    case rootLocked = 20
    /// The disk does not take it, or what is on it cannot be read.
    case storage = 30
    /// The node host cannot be started.
    case host = 40

    /// A few words for help texts.
    public var summary: String {
        switch self {
        case .done: "done"
        case .refused: "refused: the supervisor answered with an error"
        case .usage: "usage: the command line was not understood"
        case .noSupervisor: "no supervisor answers at the endpoint"
        case .configurationUnreadable: "configuration: the file cannot be read"
        case .configurationFaulty: "configuration: the file has faults"
        case .endpoint: "configuration: an endpoint cannot be listened on"
        case .rootLocked: "locks: another supervisor holds the root"
        case .storage: "storage: the disk does not take it, or what it holds cannot be read"
        case .host: "host: the node host cannot be started"
        }
    }
}
