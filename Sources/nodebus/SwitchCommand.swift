import NodeBusClient
import Supervisor
import Wire
import ZeroMQ

private let stayOption = Option(
    name: "--stay", value: nil, summary: "when the new node does not come up: stay there and keep trying")
private let timeoutOption = Option(
    name: "--timeout", value: "DURATION", summary: "how long to wait for the answer (default: 10m)")

extension Command {
    /// `nodebus switch`
    static let `switch` = Command(
        name: "switch", summary: "stops the node and starts that of another account", operands: "NETWORK/ACCOUNT",
        options: [.config, .commands, stayOption, timeoutOption],
        details: """
            Stops the node and starts that of another account, and ends when that is ready. Subscribers stay connected.
            When the new node does not come up the old one is brought back, and the exit code is 1. Giving up the wait
            (Ctrl-C, --timeout) does not stop the switch.

            On a terminal stderr says meanwhile what is going on.

            Examples:
              nodebus switch testnet/alice
              nodebus switch testnet/alice --stay --timeout 1h
            """,
        exitCodes: [.done, .refused, .noSupervisor, .configurationUnreadable, .configurationFaulty]
    ) { (options: Options) throws(Failure) -> ExitCode in
        let profile = try options.profile(at: 0)
        guard options.operands.count == 1 else { throw options.usage("one NETWORK/ACCOUNT is taken") }
        let timeout = try options.duration(timeoutOption) ?? .seconds(600)
        let endpoint = try options.commandEndpoint()
        let parameters: JSON = [
            "network": .string(profile.network), "account": .string(profile.account),
            "on_failure": .string(options.has(stayOption) ? "stay" : "rollback"),
        ]
        let progress = Progress(endpoint)
        defer { progress.end() }
        let result = try withBus { (context: Context) throws(ClientError) -> JSON in
            try CommandClient(endpoint: endpoint, context: context).callJSON("bus.switch", parameters, timeout: timeout)
        }
        progress.end()
        let run = result["run"]?.integer.map { ", run \($0)" } ?? ""
        let how = result["changed"] == false ? "was ready already" : "is ready"
        Output.shared.print("\(profile) \(how)\(run)")
        return Output.shared.finish()
    }
}
