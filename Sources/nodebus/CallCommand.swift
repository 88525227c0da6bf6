import NodeBusClient
import Supervisor
import Wire
import ZeroMQ

private let timeoutOption = Option(
    name: "--timeout", value: "DURATION", summary: "how long to wait for the answer: 250ms, 5s, 2m (default: 60s)")

extension Command {
    /// `nodebus call`
    static let call = Command(
        name: "call", summary: "calls a method of the bus or the node", operands: "METHOD [NAME=VALUE … | JSON]",
        options: [.config, .commands, timeoutOption],
        details: """
            Calls a method and prints its result as JSON: with line breaks on a terminal, else on one line. A refusal
            stands on stderr. bus.methods lists what can be called.

            Parameters are one JSON object, or NAME=VALUE each. A VALUE is JSON where it is an object, an array, a
            string in JSON quotes, true, false, null or a whole number (from 2^53 on it goes as text); everything else
            is text. To send a number or a word like true as text, quote it twice: description='"42"'.

            Examples:
              nodebus call bus.methods
              nodebus call events.read from=oldest limit=10
              nodebus call fiber.connect_peer '{"address": "/ip4/127.0.0.1/tcp/8228/p2p/Qm…"}'
              nodebus call fiber.new_invoice amount='1.5 CKB' description=coffee --timeout 5s
            """,
        exitCodes: [.done, .refused, .noSupervisor, .configurationUnreadable, .configurationFaulty]
    ) { (options: Options) throws(Failure) -> ExitCode in
        guard let method = options.operands.first else { throw options.usage("the method is missing") }
        let parameters = try parameters(Array(options.operands.dropFirst()), options)
        try refuseSecrets(of: method, parameters, options)
        let timeout = try options.duration(timeoutOption) ?? .seconds(60)
        let endpoint = try options.commandEndpoint()
        let result = try withBus { (context: Context) throws(ClientError) -> [UInt8] in
            try CommandClient(endpoint: endpoint, context: context).call(method, parameters, timeout: timeout)
        }
        Output.shared.print(json: result)
        return Output.shared.finish()
    }

    /// A key that stands on a command line has been seen by whoever looked; it is not passed on as if it were fresh.
    private static func refuseSecrets(of method: String, _ given: JSON, _ options: Options) throws(Failure) {
        let secrets = BusMethods.all.first { $0.name == method }?.parameters.filter(\.type.isSecret) ?? []
        guard secrets.contains(where: { given[$0.name] != nil }) else { return }
        throw options.usage(KeyInput.notThere)
    }

    private static func parameters(_ words: [String], _ options: Options) throws(Failure) -> JSON {
        if let first = words.first, first.hasPrefix("{") {
            guard words.count == 1 else { throw options.usage("after a JSON object nothing more is taken") }
            do throws(JSONError) { return try JSON.parse(first) } catch {
                throw options.usage("the parameters are not a JSON object: \(error)")
            }
        }
        var members: [JSON.Member] = []
        for word in words {
            guard let equals = word.firstIndex(of: "="), equals > word.startIndex else {
                throw options.usage("\(quoted(word)) is neither NAME=VALUE nor a JSON object")
            }
            let name = String(word[..<equals])
            guard !members.contains(where: { $0.key == name }) else {
                throw options.usage("the parameter \(quoted(name)) stands twice")
            }
            members.append(JSON.Member(name, try value(String(word[word.index(after: equals)...]), of: name, options)))
        }
        return .object(members)
    }

    private static func value(_ text: String, of name: String, _ options: Options) throws(Failure) -> JSON {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber || ["{", "[", "\""].contains(text.prefix(1)) || ["true", "false", "null"].contains(text) else {
            return .string(text)
        }
        do throws(JSONError) {
            let value = try JSON.parse(text)
            let isExact = value.integer.map { (-(1 << 53)...(1 << 53)).contains($0) } ?? !isNumber
            return isExact ? value : .string(text)
        } catch {
            // A number with leading zeros is no JSON, and text.
            if isNumber { return .string(text) }
            throw options.usage(
                "\(quoted(name)) starts like JSON and is none: \(error); text is quoted like \(name)='\"…\"'")
        }
    }
}
