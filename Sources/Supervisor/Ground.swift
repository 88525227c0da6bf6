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
    /// How accounts come and go.
    var accounts: AccountLife { AccountLife(root: root, registry: registry) }
    /// What runs first: what was chosen last, or what the configuration names.
    let profile: Profile
    /// A switch that an earlier supervisor left while it was going forward.
    let plan: SwitchPlan?

    /// Takes the root. On a simulated network the account of `start` is made when it is missing.
    init(_ configuration: Configuration) throws(StartError) {
        do throws(AccountsError) {
            let (root, notes) = try Root.make(at: configuration.root)
            for note in notes { Log.write(.warning, "accounts", note) }
            self.root = root
            rootLock = try RootLock.take(root)
            registry = try Registry.open(path: root.database)
            for note in try AccountLife(root: root, registry: registry).finish() {
                Log.write(.warning, "accounts", note)
            }
            (profile, plan) = try Ground.choice(configuration, registry)
            try Ground.settle(profile, plan, configuration, root, registry)
        } catch {
            throw StartError(exitCode: error.code == .locked ? .rootLocked : .storage, message: error.description)
        }
    }

    /// What the last supervisor chose, where its network is still configured, and the switch it left.
    private static func choice(_ configuration: Configuration, _ registry: Registry) throws(AccountsError) -> (
        Profile, SwitchPlan?
    ) {
        if let text = try registry.switchPlan(), let json = try? JSON.parse(text), let plan = SwitchPlan(parsing: json),
            configuration.network(named: plan.resumesWith.network) != nil
        {
            let way = plan.step == .starting ? "going on to" : "going back to"
            Log.write(
                .warning, "supervisor", "a switch was cut short; \(way) \(plan.resumesWith)",
                ["from": plan.from.description, "to": plan.to.description, "step": plan.step.rawValue])
            return (plan.resumesWith, plan.step == .starting ? try goingOn(plan, configuration, registry) : nil)
        }
        guard let last = try registry.activeProfile() else { return (configuration.start, nil) }
        guard configuration.network(named: last.network) != nil else {
            Log.write(
                .warning, "supervisor", "the network of \(last), which was chosen last, is not configured any more",
                ["starting": configuration.start.description])
            return (configuration.start, nil)
        }
        return (last, nil)
    }

    /// The plan as it can be gone on with: where it came from may be gone since, and then it cannot go back.
    private static func goingOn(_ plan: SwitchPlan, _ configuration: Configuration, _ registry: Registry)
        throws(AccountsError) -> SwitchPlan
    {
        let isThere = try registry.account(plan.from)?.step == .there
        guard isThere, configuration.network(named: plan.from.network) != nil else {
            Log.write(.warning, "supervisor", "there is no way back to \(plan.from), which is not there any more")
            return SwitchPlan(from: plan.from, to: plan.to, onFailure: .stay, step: plan.step)
        }
        return plan
    }

    private static func settle(
        _ profile: Profile, _ plan: SwitchPlan?, _ configuration: Configuration, _ root: Root, _ registry: Registry
    ) throws(AccountsError) {
        let isSimulated = configuration.network(named: profile.network)?.isSimulated ?? false
        if try registry.account(profile)?.step != .there {
            try AccountLife(root: root, registry: registry).create(profile, isSimulated: isSimulated, adopting: true)
            Log.info(
                "accounts",
                "made account \(profile)"
                    + (isSimulated ? " with a random key and passphrase, since its network is simulated" : ""),
                ["at": root.prefix(profile).path])
        }
        // What somebody took away from a simulated account since is made anew.
        for note in try root.prefix(profile).make() { Log.write(.warning, "accounts", note) }
        if isSimulated { try Keys(root.prefix(profile)).createDemo() }
        try registry.setActiveProfile(profile, plan: plan?.json.encoded)
    }
}

extension Supervisor {
    /// Runs a supervisor until it is told to end. `signals` was made on the first line of `main`. What stands before the node is said on
    /// stdout: where the sockets are, and whether the node is simulated.
    public static func run(_ configuration: Configuration, _ signals: consuming SignalDescriptor) -> ExitCode {
        Program.turnOffCrashReports()
        Hardening.ignoreBrokenPipes()
        Hardening.keepMemoryPrivate()
        Hardening.keepFilesPrivate()
        for warning in configuration.warnings { Log.write(.warning, "configuration", warning.description) }
        do {
            let supervisor = try Supervisor(configuration, signals, try Ground(configuration))
            supervisor.greet()
            supervisor.finishPurges()
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
        // There, and back when that fails.
        "bus.switch": (stop + start) * 2,
    ]
    return settings
}
