import Accounts
import Bus
import Glibc
import Linux
import Supervision
import Wire

/// Why the supervisor did not start: the sentence for stderr and the code to exit with.
public struct StartError: Error, Sendable {
    /// The exit code.
    public let exitCode: ExitCode
    /// What, where, and what to do.
    public let message: String
}

/// What must stand before anything runs: the root and its lock, the registry, the account that is to start.
final class Ground {
    let root: Root
    let rootLock: RootLock
    let registry: Registry
    let network: Configuration.NetworkSettings

    /// Takes the root. On a simulated network the account of `start` is made when it is missing.
    init(_ configuration: Configuration) throws(StartError) {
        guard let network = configuration.network(named: configuration.start.network) else {
            preconditionFailure("a configuration's start names one of its networks")
        }
        self.network = network
        do throws(AccountsError) {
            let (root, notes) = try Root.make(at: configuration.root)
            for note in notes { Log.write(.warning, "accounts", note) }
            self.root = root
            rootLock = try RootLock.take(root)
            registry = try Registry.open(path: root.database)
            try Ground.settle(configuration.start, on: network, root, registry)
        } catch {
            throw StartError(exitCode: error.code == .locked ? .rootLocked : .storage, message: error.description)
        }
    }

    private static func settle(
        _ profile: Profile, on network: Configuration.NetworkSettings, _ root: Root, _ registry: Registry
    ) throws(AccountsError) {
        let prefix = root.prefix(profile)
        for note in try prefix.make() { Log.write(.warning, "accounts", note) }
        // A simulated node's key is worth nothing, so it is made here; a real one is only ever brought by its owner.
        if network.isSimulated, try Keys(prefix).createDemo() {
            Log.info(
                "accounts", "made account \(profile) with a random key and passphrase, since its network is simulated",
                ["at": prefix.path])
        }
        if try registry.account(profile) == nil { try registry.add(profile, isSimulated: network.isSimulated) }
        try registry.setActiveProfile(profile)
    }
}

extension Supervisor {
    /// Runs a supervisor until it is told to end. `signals` was made on the first line of `main`. What stands before the node is said on
    /// stdout: where the sockets are, and whether the node is simulated.
    public static func run(_ configuration: Configuration, _ signals: consuming SignalDescriptor) -> ExitCode {
        Program.turnOffCrashReports()
        Hardening.ignoreBrokenPipes()
        Hardening.keepMemoryPrivate()
        do {
            let supervisor = try Supervisor(configuration, signals, try Ground(configuration))
            supervisor.greet()
            return supervisor.run()
        } catch let error as StartError {
            Log.write(.error, "supervisor", error.message)
            return error.exitCode
        } catch let error as BusSetupError {
            Log.write(.error, "bus", error.description)
            return .endpoint
        } catch {
            Log.write(.error, "supervisor", "\(error)")
            return .storage
        }
    }

    private func greet() {
        var lines = ["nodebus \(Version.supervisor), root \(root.path)"]
        lines += configuration.bus.events.map { "events    \($0)" }
        lines += configuration.bus.commands.map { "commands  \($0)" }
        lines.append(
            "node      \(profile) (\(network.host.rawValue)\(network.isSimulated ? ", SIMULATED: no real money" : ""))")
        say(lines.joined(separator: "\n"))
    }

    /// Lines for whoever watches stdout; a reader that is slow or went away is no reason to wait or to end.
    func say(_ text: String) {
        for line in text.split(separator: "\n") {
            _ = StandardStream.output.offer(Array("\(line)\n".utf8.suffix(StandardStream.lineLimit)))
        }
    }
}

extension Configuration {
    /// The machine's part.
    var machineSettings: Machine.Settings {
        let restart = supervision.restart
        return Machine.Settings(
            startTimeout: supervision.startTimeout, stopTimeout: supervision.stopTimeout,
            restart: RestartPolicy(
                first: restart.first, factor: restart.factor, max: restart.max, jitter: restart.jitter,
                limit: restart.limit, window: restart.window, stable: restart.stable, thenEvery: restart.thenEvery))
    }
}

/// The bus's part of a configuration. What waits for the node waits as long as the node may take, and a little more, so that the machine
/// answers first.
func busSettings(_ configuration: Configuration) -> BusSettings {
    var settings = BusSettings(
        eventEndpoints: configuration.bus.events.map(\.description),
        commandEndpoints: configuration.bus.commands.map(\.description), heartbeat: configuration.bus.heartbeat)
    let stop = configuration.supervision.stopTimeout + .seconds(2)
    let start = stop + configuration.supervision.startTimeout
    settings.callTimeout = configuration.supervision.callTimeout
    settings.methodTimeouts = [
        "node.start": start, "node.stop": stop, "node.restart": stop + start, "events.read": .seconds(70),
    ]
    return settings
}
