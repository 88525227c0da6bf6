import NodeBusClient
import Supervisor
import Wire
import ZeroMQ

extension Command {
    /// `nodebus status`
    static let status = Command(
        name: "status", summary: "says what runs", operands: "", options: [.config, .commands, .json],
        details: """
            Says what the supervisor and its node are doing, whatever they are busy with: one aligned line for each
            member of what bus.status answers.

            Examples:
              nodebus status
              nodebus status --json | jq .state
              nodebus status --commands ipc:///run/nodebus/commands.sock
            """,
        exitCodes: [.done, .refused, .noSupervisor, .configurationUnreadable, .configurationFaulty]
    ) { (options: Options) throws(Failure) -> ExitCode in
        let endpoint = try options.commandEndpoint()
        let result = try withBus { (context: Context) throws(ClientError) -> [UInt8] in
            try CommandClient(endpoint: endpoint, context: context).call("bus.status", timeout: .seconds(5))
        }
        if !options.has(.json), let status = try? JSON.parse(result) {
            Output.shared.print(aligned(rows(status), indent: ""))
        } else {
            Output.shared.print(json: result)
        }
        return Output.shared.finish()
    }

    /// A row for each value, members of objects as `host.driver`.
    private static func rows(_ json: JSON, under path: String = "") -> [(String, String)] {
        guard let members = json.members, path.isEmpty || !members.isEmpty else {
            return [(visible(path), json.isNull ? "-" : painted(path, visible(json.text ?? json.encoded)))]
        }
        return members.flatMap { rows($0.value, under: path.isEmpty ? $0.key : "\(path).\($0.key)") }
    }

    private static func painted(_ path: String, _ value: String) -> String {
        guard path == "state" || path == "journal", Output.shared.colours else { return value }
        switch value {
        case "ready", "ok": return Colour.green.paint(value)
        case "failed", "stalled": return Colour.red.paint(value)
        default: return Colour.yellow.paint(value)
        }
    }
}
