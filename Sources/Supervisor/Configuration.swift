import Linux
import Wire

/// What `nodebus.yml` says, checked: every path absolute, every value possible. `load` is the only way to one.
///
/// ConfigurationFile.swift holds the keys, their defaults and their ranges; ConfigurationEntry.swift how one value is
/// read.
public struct Configuration: Sendable, Equatable {
    /// The file it was read from, absolute.
    public let file: String
    /// Where all data stands.
    public let root: String
    /// The sockets.
    public let bus: BusSettings
    /// The networks in the order of the file, at least one.
    public let networks: [NetworkSettings]
    /// What runs first; its network is one of `networks`.
    public let start: Profile
    /// Deadlines and restarts.
    public let supervision: SupervisionSettings
    /// What can run as it is, though perhaps not as it is meant; most of it stands in the files of the nodes.
    public internal(set) var warnings: [ConfigurationError.Fault] = []

    /// The network of that name.
    public func network(named name: String) -> NetworkSettings? { networks.first { $0.name == name } }

    /// `bus`: where clients find us.
    public struct BusSettings: Sendable, Equatable {
        /// Where events are published, at least one.
        public let events: [Endpoint]
        /// Where commands are taken, at least one.
        public let commands: [Endpoint]
        /// How often a heartbeat is published.
        public let heartbeat: Duration
    }

    /// A Unix socket to listen on.
    public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
        /// The socket's path: absolute, at most 107 bytes (what `sockaddr_un` holds).
        public let path: String
        /// What clients connect to: `ipc://` and the path.
        public var description: String { "ipc://\(path)" }
    }

    /// One entry of `networks`.
    public struct NetworkSettings: Sendable, Equatable {
        /// Its name: the first part of topics and of data paths.
        public let name: String
        /// The program that holds the node.
        public let host: Host
        /// The native library, absolute.
        public let library: String
        /// Whether that is the simulated node.
        public let isSimulated: Bool
        /// The node's own configuration file, absolute; it was readable when this was read.
        public let config: String
        /// Where the passphrases of its accounts come from.
        public let passphrase: PassphraseSource
        /// The chain that file named when this was read: `mainnet`, `testnet`, or the path of a chain's specification.
        /// Nil when the file is YAML that this program does not read, or was not looked at.
        public let chain: String?

        /// The currency of an invoice on that chain.
        public var currency: String? {
            switch chain {
            case nil: nil
            case "mainnet": "Fibb"
            case "testnet": "Fibt"
            default: "Fibd"
            }
        }
    }

    /// The kinds of node host that this build has.
    public enum Host: String, Sendable, CaseIterable {
        /// `nodebus-fiber`.
        case fiber
    }

    /// `supervision`: how long things may take, and what happens after a crash.
    public struct SupervisionSettings: Sendable, Equatable {
        /// From the start of a host to a ready node.
        public let startTimeout: Duration
        /// From the order to stop to the end of the host; then it is killed.
        public let stopTimeout: Duration
        /// After so long a caller is answered `timeout`, unless the request says otherwise.
        public let callTimeout: Duration
        /// After so long in one native call the host is killed. Not below `callTimeout`.
        public let hangTimeout: Duration
        /// What happens after a crash.
        public let restart: RestartSettings
    }

    /// `supervision.restart`: delays grow from `first` by `factor` up to `max`, each off by up to `jitter` of itself.
    public struct RestartSettings: Sendable, Equatable {
        /// The first delay.
        public let first: Duration
        /// What the delay is multiplied by each time; at least 1.
        public let factor: Double
        /// The longest delay; not below `first`.
        public let max: Duration
        /// The part of a delay that is random, 0 to 1.
        public let jitter: Double
        /// So many restarts within `window` are tried before the node is `failed`.
        public let limit: Int
        /// The time in which restarts are counted.
        public let window: Duration
        /// A node ready for so long resets delay and count.
        public let stable: Duration
        /// How often a failed node is tried again; zero: never.
        public let thenEvery: Duration
    }
}

/// Everything that is wrong with a configuration, in the order of the file.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One thing that is wrong.
    public struct Fault: Sendable, Equatable, CustomStringConvertible {
        /// The file, as it was named to us.
        public let file: String
        /// Line and column, from 1; nil when the file as a whole is at fault.
        public let place: Place?
        /// The key, such as `supervision.restart.first`; empty when no key is at fault.
        public let path: String
        /// What is wrong, and what would be right.
        public let problem: String

        /// `config/nodebus.yml:9:14: bus.heartbeat: must be …`
        public var description: String {
            let position = place.map { ":\($0.line):\($0.column)" } ?? ""
            return "\(file)\(position): " + (path.isEmpty ? "" : "\(path): ") + problem
        }
    }

    /// A place in a file.
    public struct Place: Sendable, Equatable, Comparable {
        /// From 1.
        public let line: Int
        /// In characters, from 1.
        public let column: Int
        /// Earlier in the file.
        public static func < (left: Place, right: Place) -> Bool {
            (left.line, left.column) < (right.line, right.column)
        }
    }

    /// All faults, at least one.
    public let faults: [Fault]
    /// Whether the file could not be read at all.
    public let isUnreadable: Bool

    init(faults: [Fault], isUnreadable: Bool = false) {
        precondition(!faults.isEmpty, "a configuration is refused for a reason")
        self.faults = faults
        self.isUnreadable = isUnreadable
    }

    static func unreadable(_ file: String, _ error: SystemError) -> ConfigurationError {
        let fault = Fault(file: file, place: nil, path: "", problem: "cannot be read: \(error.reason)")
        return ConfigurationError(faults: [fault], isUnreadable: true)
    }

    /// One fault a line.
    public var description: String { faults.map(\.description).joined(separator: "\n") }
}
