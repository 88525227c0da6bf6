import NodeBusClient
import Supervisor
import Wire
import ZeroMQ

private let fileOption = Option(name: "--file", value: "FILE", summary: "import-key: read the key from a file")
private let replaceOption = Option(
    name: "--replace", value: nil, summary: "import-key: put it in the place of the key that is there")
private let purgeOption = Option(
    name: "--purge", value: nil, summary: "remove: delete the files, key and channels included, for good")

extension Command {
    /// `nodebus account`
    static let account = Command(
        name: "account", summary: "lists, makes and removes accounts, and gives them their key",
        operands: "list [NETWORK] | ACTION NETWORK/ACCOUNT",
        options: [.config, .commands, .json, fileOption, replaceOption, purgeOption],
        details: """
            list         one line an account: its name, what its key file is, when it was made
            create       makes an account; on a simulated network with a random key and passphrase
            remove       takes an account away that is not active; its files are kept below .removed in the root
            import-key   gives an account its key: 32 bytes in hex. It is asked for, without being shown, on a
                         terminal; else it is read from standard input, or from --file. Never from an argument. No
                         node may run on the account. The node encrypts the key when it first starts.

            Examples:
              nodebus account list --json
              nodebus account create testnet/alice
              nodebus account import-key testnet/alice
              pass show wallets/alice | nodebus account import-key testnet/alice
              nodebus account remove testnet/alice
            """,
        exitCodes: [.done, .refused, .noSupervisor, .configurationUnreadable, .configurationFaulty]
    ) { (options: Options) throws(Failure) -> ExitCode in
        guard !options.operands.contains(where: KeyInput.looksLikeKey) else { throw options.usage(KeyInput.notThere) }
        guard let action = options.operands.first else { throw options.usage("list, create, remove or import-key?") }
        switch action {
        case "list": return try list(options)
        case "create": return try create(options)
        case "remove": return try remove(options)
        case "import-key": return try importKey(options)
        default:
            let hint = nearest(action, among: ["list", "create", "remove", "import-key"])
            throw options.usage(
                "account cannot \(quoted(action))\(hint.map { "; did you mean \($0)?" } ?? "")")
        }
    }

    private static func list(_ options: Options) throws(Failure) -> ExitCode {
        try options.allow([], for: "list")
        guard options.operands.count <= 2 else { throw options.usage("account list takes one NETWORK") }
        let network = options.operands.dropFirst().first
        let result = try ask(options, "account.list", network.map { ["network": .string($0)] } ?? [:])
        if options.has(.json) {
            Output.shared.print(json: result)
        } else {
            let accounts = (try? JSON.parse(result))?["accounts"]?.elements ?? []
            let rows = accounts.map { account in
                func text(_ name: String) -> String { visible(account[name]?.text ?? "-") }
                let marks = ["active", "simulated"].filter { account[$0] == true }
                return ["\(text("network"))/\(text("account"))", text("key_state"), text("created")]
                    + [marks.joined(separator: ", ")]
            }
            for row in table(rows) { Output.shared.print(row) }
        }
        return Output.shared.finish()
    }

    private static func table(_ rows: [[String]]) -> [String] {
        rows.map { row in
            row.enumerated().map { column, text in
                column == row.count - 1 ? text : text.padded(to: rows.map { $0[column].count }.max() ?? 0)
            }.joined(separator: "  ")
        }
    }

    private static func create(_ options: Options) throws(Failure) -> ExitCode {
        try options.allow([], for: "create")
        let profile = try onlyProfile(options)
        let result = try ask(options, "account.create", names(profile))
        guard !options.has(.json) else { return show(result) }
        let isSimulated = (try? JSON.parse(result))?["simulated"] == true
        let next = isSimulated ? "" : "; its key comes next: nodebus account import-key \(profile)"
        Output.shared.print("made \(profile)\(next)")
        return Output.shared.finish()
    }

    private static func remove(_ options: Options) throws(Failure) -> ExitCode {
        try options.allow([purgeOption], for: "remove")
        let profile = try onlyProfile(options)
        let purges = options.has(purgeOption)
        let result = try ask(options, "account.remove", names(profile).with("purge", .bool(purges)))
        guard !options.has(.json) else { return show(result) }
        let place = (try? JSON.parse(result))?["moved_to"]?.text
        let fate = place.map { "its files are kept at \(visible($0))" } ?? "its files are deleted"
        Output.shared.print("removed \(profile); \(fate)")
        return Output.shared.finish()
    }

    private static func importKey(_ options: Options) throws(Failure) -> ExitCode {
        try options.allow([fileOption, replaceOption], for: "import-key")
        let profile = try onlyProfile(options)
        // Where no supervisor can be found, nobody is asked for a key.
        _ = try options.commandEndpoint()
        let key = try KeyInput.read(file: options.value(fileOption), for: profile)
        let parameters = names(profile).with("key", .string(key)).with("replace", .bool(options.has(replaceOption)))
        let result = try ask(options, "account.import_key", parameters)
        guard !options.has(.json) else { return show(result) }
        let kept = (try? JSON.parse(result))?["kept"]?.text.map { "; the one before is kept at \(visible($0))" } ?? ""
        Output.shared.print("\(profile) has its key\(kept)")
        return Output.shared.finish()
    }

    private static func onlyProfile(_ options: Options) throws(Failure) -> Profile {
        let profile = try options.profile(at: 1)
        guard options.operands.count == 2 else {
            throw options.usage("account \(options.operands[0]) takes one NETWORK/ACCOUNT")
        }
        return profile
    }

    private static func names(_ profile: Profile) -> JSON {
        ["network": .string(profile.network), "account": .string(profile.account)]
    }

    private static func ask(_ options: Options, _ method: String, _ parameters: JSON) throws(Failure) -> [UInt8] {
        let endpoint = try options.commandEndpoint()
        return try withBus { (context: Context) throws(ClientError) -> [UInt8] in
            try CommandClient(endpoint: endpoint, context: context).call(method, parameters)
        }
    }

    private static func show(_ result: [UInt8]) -> ExitCode {
        Output.shared.print(json: result)
        return Output.shared.finish()
    }
}

extension Options {
    /// Refuses options that belong to another action.
    fileprivate func allow(_ own: [Option], for action: String) throws(Failure) {
        for option in [fileOption, replaceOption, purgeOption] where has(option) {
            guard own.contains(where: { $0.name == option.name }) else {
                throw usage("account \(action) takes no \(option.name)")
            }
        }
    }

    /// The operand at a place, which names an account.
    func profile(at place: Int) throws(Failure) -> Profile {
        guard operands.count > place else { throw usage("NETWORK/ACCOUNT is missing") }
        guard !KeyInput.looksLikeKey(operands[place]) else { throw usage(KeyInput.notThere) }
        guard let profile = Profile(operands[place]) else {
            throw usage("must be NETWORK/ACCOUNT, not \(quoted(operands[place])); a name has \(Profile.nameRule)")
        }
        return profile
    }
}
