import Glibc

/// How a host program is started: what stands on its command line, and which descriptors it finds. Every host program takes the same.
public struct HostArguments: Sendable, Equatable {
    /// The descriptors a host inherits, in this order from 3 on.
    public enum Inherited {
        /// The call channel.
        public static let link: Int32 = 3
        /// The ring's file.
        public static let ring: Int32 = 4
        /// Woken by the host when it wrote and the supervisor sleeps.
        public static let recordWake: Int32 = 5
        /// Woken by the supervisor when it made room and the host waits.
        public static let spaceWake: Int32 = 6
        /// The account's lock, held for as long as the host lives.
        public static let lock: Int32 = 7
        /// A file that holds the passphrase; empty when there is none.
        public static let secret: Int32 = 8
    }

    /// The native library's path.
    public var library: String
    /// The node's own configuration file.
    public var config: String
    /// The native library's data directory.
    public var dataDirectory: String
    /// Which start of the node under this account this is.
    public var run: Int64
    /// The supervisor's pid: a host that finds another parent ends at once.
    public var supervisorPID: Int32
    /// How long a stop may take, in milliseconds, before the host ends itself.
    public var stopTimeoutMilliseconds: Int64
    /// What the node logs, as its library takes it.
    public var logLevel: String

    /// Arguments of all their parts.
    public init(
        library: String, config: String, dataDirectory: String, run: Int64, supervisorPID: Int32,
        stopTimeoutMilliseconds: Int64, logLevel: String = "info"
    ) {
        self.library = library
        self.config = config
        self.dataDirectory = dataDirectory
        self.run = run
        self.supervisorPID = supervisorPID
        self.stopTimeoutMilliseconds = stopTimeoutMilliseconds
        self.logLevel = logLevel
    }

    /// The command line, without the program.
    public var commandLine: [String] {
        [
            "--library", library, "--config", config, "--data", dataDirectory, "--run", String(run), "--supervisor",
            String(supervisorPID), "--stop-timeout-ms", String(stopTimeoutMilliseconds), "--log-level", logLevel,
        ]
    }

    /// Reads a command line back; nil when it was not made by a supervisor.
    public init?(commandLine: [String]) {
        var values: [String: String] = [:]
        guard commandLine.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: commandLine.count, by: 2) {
            values[commandLine[index]] = commandLine[index + 1]
        }
        guard let library = values["--library"], let config = values["--config"], let data = values["--data"],
            let run = values["--run"].flatMap({ Int64($0) }), run > 0,
            let supervisor = values["--supervisor"].flatMap({ Int32($0) }),
            let stop = values["--stop-timeout-ms"].flatMap({ Int64($0) }), stop > 0,
            let level = values["--log-level"], values.count == 7
        else { return nil }
        self.init(
            library: library, config: config, dataDirectory: data, run: run, supervisorPID: supervisor,
            stopTimeoutMilliseconds: stop, logLevel: level)
    }
}
