import Glibc
import Linux
import Supervisor
import Testing
import Wire

@Suite("The command line does what its help says", .timeLimit(.minutes(2)))
struct CommandLineTests {
    let world: World
    init() throws { world = try World() }

    @Test(
        "what is not understood is exit code 2, one sentence, and where help is",
        arguments: [
            ([], "nodebus: a command is missing"),
            (["statsu"], "nodebus: there is no command \"statsu\"; did you mean status?"),
            (["help", "wach"], "nodebus: there is no command \"wach\"; did you mean watch?"),
            (["frobnicate"], "nodebus: there is no command \"frobnicate\""),
            (["status", "--jsn"], "nodebus: status has no option \"--jsn\"; did you mean --json?"),
            (["status", "--since", "1"], "nodebus: status has no option \"--since\""),
            (["status", "--json=yes"], "nodebus: --json takes no value"),
            (["status", "now"], "nodebus: status takes no \"now\""),
            (["status", "--config"], "nodebus: --config needs a value: --config FILE"),
            (["run", "-x"], "nodebus: run has no option \"-x\""),
            (["watch", "--since", "-1"], "nodebus: --since must be a whole number of at least 0, not \"-1\""),
            (["watch", "--count=0"], "nodebus: --count must be a whole number of at least 1, not \"0\""),
            (["watch", "--count", "many"], "nodebus: --count must be a whole number of at least 1, not \"many\""),
            (["call"], "nodebus: the method is missing"),
            (["call", "a.b", "c"], "nodebus: \"c\" is neither NAME=VALUE nor a JSON object"),
            (["call", "a.b", "=c"], "nodebus: \"=c\" is neither NAME=VALUE nor a JSON object"),
            (["call", "a.b", "c=1", "c=2"], "nodebus: the parameter \"c\" stands twice"),
            (["call", "a.b", "{}", "c=2"], "nodebus: after a JSON object nothing more is taken"),
            (
                ["call", "a.b", "{\"a\""],
                "nodebus: the parameters are not a JSON object: the text ends too early (byte 4)"
            ),
            (
                ["call", "a.b", "c=[1"],
                "nodebus: \"c\" starts like JSON and is none: the text ends too early (byte 2); text is quoted like "
                    + "c='\"…\"'"
            ),
            (["switch"], "nodebus: NETWORK/ACCOUNT is missing"),
            (["switch", "dev/demo", "x"], "nodebus: one NETWORK/ACCOUNT is taken"),
            (["switch", "demo"], "nodebus: must be NETWORK/ACCOUNT, not \"demo\"; a name has \(Profile.nameRule)"),
            (
                ["switch", "dev/../x"],
                "nodebus: must be NETWORK/ACCOUNT, not \"dev/../x\"; a name has \(Profile.nameRule)"
            ),
            (["account"], "nodebus: list, create, remove or import-key?"),
            (["account", "crate"], "nodebus: account cannot \"crate\"; did you mean create?"),
            (["account", "create"], "nodebus: NETWORK/ACCOUNT is missing"),
            (["account", "create", "a/b", "c/d"], "nodebus: account create takes one NETWORK/ACCOUNT"),
            (["account", "list", "dev", "x"], "nodebus: account list takes one NETWORK"),
            (["account", "list", "--purge"], "nodebus: account list takes no --purge"),
            (["account", "remove", "a/b", "--replace"], "nodebus: account remove takes no --replace"),
            (["account", "import-key", "a/b", "--file"], "nodebus: --file needs a value: --file FILE"),
            (
                ["call", "a.b", "--timeout", "5"],
                "nodebus: --timeout must be a whole number with a unit: 250ms, 30s, 5m, 1h or 7d, at most 1h, not \"5\""
            ),
        ] as [([String], String)])
    func usage(words: [String], message: String) throws {
        let run = try world.run(words)
        #expect(run.code == ExitCode.usage.rawValue)
        #expect(run.firstError == message)
        #expect(run.err.split(separator: "\n").last?.contains("--help says what is possible") == true)
        #expect(run.out.isEmpty)
    }

    @Test(
        "every command has a help with an example and its exit codes",
        arguments: ["run", "status", "watch", "call", "switch", "account", "check"])
    func help(command: String) throws {
        let run = try world.run([command, "--help", "--config", "/nonexistent"])
        #expect(run.code == 0)
        #expect(run.out.hasPrefix("Usage: nodebus \(command)"))
        #expect(run.out.contains("Example"))
        #expect(run.out.contains("  nodebus \(command)"))
        #expect(run.out.contains("Exit codes:\n  0   done\n") || run.out.contains("Exit codes:\n  0  done\n"))
        #expect(run.out.split(separator: "\n").allSatisfy { $0.count <= 120 })
        #expect(try world.run(["help", command]).out == run.out)
    }

    @Test("the overview lists every command and every exit code")
    func overview() throws {
        let run = try world.run(["--help"])
        #expect(run.code == 0)
        for code in ExitCode.allCases {
            #expect(run.out.contains("\(code.rawValue)") && run.out.contains(code.summary))
        }
        for name in ["run", "status", "watch", "call", "switch", "account", "check", "version"] {
            #expect(run.out.contains("\n  \(name) "))
        }
    }

    @Test("the version is told")
    func version() throws {
        for words in [["version"], ["--version"]] {
            let run = try world.run(words)
            #expect(run.code == 0)
            #expect(run.out == "nodebus \(Version.supervisor), wire \(Version.wire)\n")
        }
    }

    private func writeConfiguration(_ more: String = "") throws -> String {
        let node = "fiber: {chain: dev}\nckb: {rpc_url: x}\nservices: [fiber, ckb, rpc]\n"
        try Descriptor.open("\(world.directory)/dev.yml", O_WRONLY | O_CREAT).write(Array(node.utf8))
        let path = "\(world.directory)/nodebus.yml"
        let text = """
            root: data
            bus: {events: [ipc://events.sock], commands: [ipc://commands.sock]}
            networks: {dev: {host: fiber, library: sim, config: dev.yml}}
            start: dev/demo
            \(more)
            """
        try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC).write(Array(text.utf8))
        return path
    }

    @Test("check tells all faults at once, or that it is good")
    func check() throws {
        let path = try writeConfiguration()
        let good = try world.run(["check", "--config", path])
        #expect(good.code == 0)
        #expect(good.out == "\(path) is good: starts dev/demo of dev (simulated)\n")
        let warned = "\(world.directory)/dev.yml:3:24: services[2]: has no effect in an embedded node"
        #expect(good.err == "warning: \(warned): no port is opened for it\n")
        _ = try writeConfiguration("journal: {keep: 1}\nwrong: 1")
        for command in ["check", "run", "status", "watch"] {
            let bad = try world.run([command, "--config", path])
            #expect(bad.code == ExitCode.configurationFaulty.rawValue)
            #expect(
                bad.err == """
                    \(path):5:11: journal.keep: retention is not offered by this version: every event is kept
                    \(path):6:1: wrong: unknown key; the file takes root, bus, networks, start, supervision, journal

                    """)
        }
        let missing = try world.run(["check"], environment: ["NODEBUS_CONFIG=\(world.directory)/none.yml"])
        #expect(missing.code == ExitCode.configurationUnreadable.rawValue)
        #expect(missing.err == "\(world.directory)/none.yml: cannot be read: No such file or directory\n")
    }

    @Test(
        "no supervisor there is said within two seconds, naming the endpoint",
        arguments: [["status"], ["watch"], ["call", "bus.ping"]])
    func nobody(words: [String]) throws {
        let start = Instant.now
        let run = try world.run(world.bus(words))
        #expect(Instant.now - start < .seconds(2))
        #expect(run.code == ExitCode.noSupervisor.rawValue)
        let endpoint = words == ["watch"] ? world.events : world.commands
        #expect(run.err == "nodebus: no supervisor answers at \(endpoint); nodebus run starts one\n")
    }

    @Test("status is one aligned line a member, or the JSON that came")
    func status() throws {
        let bus = try FakeBus(world)
        let path = try writeConfiguration()
        let run = try world.run(["status"], environment: ["NODEBUS_CONFIG=\(path)"])
        #expect(run.code == 0)
        #expect(
            run.out == """
                state         ready
                network       dev
                account       demo
                run           7
                pid           -
                host.driver   fiber
                host.library  libfiber_sim.so
                simulated     true

                """)
        let json = try world.run(world.bus(["status", "--json"]))
        #expect(json.lines.count == 1)
        #expect(try JSON.parse(json.lines[0])["run"] == 7)
        try bus.stop()
    }

    @Test(
        "a parameter is JSON where it looks like it, and text otherwise",
        arguments: [
            (["a=1", "b=-1", "c=x y", "d="], #"{"a":1,"b":-1,"c":"x y","d":""}"#),
            (["a=true", "b=null", "c=True", "d=1.5", "e=1e5"], #"{"a":true,"b":null,"c":"True","d":"1.5","e":"1e5"}"#),
            (["a={\"x\":[1]}", "b=[]", "c=\"42\""], #"{"a":{"x":[1]},"b":[],"c":"42"}"#),
            (["a=9007199254740992", "b=9007199254740993"], #"{"a":9007199254740992,"b":"9007199254740993"}"#),
            (
                ["a=99999999999999999999999999", "b=007", "c=0x1f"],
                #"{"a":"99999999999999999999999999","b":"007","c":"0x1f"}"#
            ),
            (["a=b=c", "--", "--x=y"], #"{"a":"b=c","--x":"y"}"#),
            ([#"{"z": {"y": 1}}"#], #"{"z":{"y":1}}"#),
            ([], "{}"),
        ] as [([String], String)])
    func parameters(words: [String], json: String) throws {
        let bus = try FakeBus(world)
        let run = try world.run(["call", "--commands", world.commands, "test.echo"] + words)
        #expect(run.code == 0)
        #expect(run.out == json + "\n")
        try bus.stop()
    }

    @Test("a refusal is a sentence on stderr with everything that is known of it, and exit code 1")
    func refusal() throws {
        let bus = try FakeBus(world)
        bus.answer("fiber.pay") { _ in
            let data: KeyValuePairs<String, JSON> = ["path": "amount", "hint": "1.5 CKB\u{1b}[2J", "seen": [1]]
            return .failure(BusError(.invalidParams, "parameter amount is wrong\u{9b}", data))
        }
        let run = try world.run(world.bus(["call", "fiber.pay", "--timeout=5s"]))
        #expect(run.code == ExitCode.refused.rawValue)
        #expect(run.out.isEmpty)
        #expect(
            run.err == """
                nodebus: parameter amount is wrong\\u009b
                  error      invalid_params (-32602)
                  retryable  no
                  path       amount
                  hint       1.5 CKB\\u001b[2J
                  seen       [1]

                """)
        bus.answer("bus.quit") { _ in
            bus.state.withLock { $0.isStopping = true }
            return nil
        }
        let lost = try world.run(world.bus(["call", "bus.quit"]))
        #expect(lost.code == ExitCode.noSupervisor.rawValue)
        #expect(lost.err.contains("went away before it answered bus.quit; whether it was done is not known"))
        try bus.stop()
    }

    private static let key = String(repeating: "5EED", count: 16)

    @Test(
        "a key on the command line is refused, and not said again",
        arguments: [
            ["account", key], ["account", "import-key", "dev/alice", "0x" + key], ["account", "import-key", key],
            ["switch", key], ["call", "account.import_key", "network=dev", "account=alice", "key=" + key],
            ["call", "account.import_key", "{\"key\":\"\(key)\"}"],
        ])
    func keyAsArgument(words: [String]) throws {
        let bus = try FakeBus(world)
        let run = try world.run(world.bus(words))
        #expect(run.code == ExitCode.usage.rawValue)
        #expect(run.err.hasPrefix("nodebus: a key does not belong on a command line: "))
        #expect(!run.err.contains(CommandLineTests.key))
        #expect(bus.state.withLock { $0.calls.isEmpty })
        try bus.stop()
    }

    @Test("a key goes to the supervisor as it was given, and what it answers is said in words")
    func importKey() throws {
        let bus = try FakeBus(world)
        bus.answer("account.import_key") { parameters in
            let given: JSON = ["network": "dev", "account": "alice", "key": "0xabc\n", "replace": true]
            guard parameters == given else { return .failure(BusError(.invalidParams, "not what was given")) }
            return .result(["kept": "/kept\u{1b}[2J"])
        }
        let path = "\(world.directory)/nodebus.yml"
        try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC).write(Array("0xabc\n".utf8))
        let run = try world.run(world.bus(["account", "import-key", "dev/alice", "--replace", "--file", path]))
        #expect(run.code == 0, "\(run.err)")
        #expect(run.out == "dev/alice has its key; the one before is kept at /kept\\u001b[2J\n")
        let none = try world.run(
            world.bus(["account", "import-key", "dev/alice", "--file", "\(world.directory)/none"]))
        #expect(none.code == ExitCode.refused.rawValue)
        #expect(none.firstError == "nodebus: \(world.directory)/none cannot be read: No such file or directory")
        // Standard input of a test is empty.
        let empty = try world.run(world.bus(["account", "import-key", "dev/alice"]))
        #expect(empty.code == ExitCode.refused.rawValue)
        #expect(empty.err == "nodebus: no key was given\n")
        try bus.stop()
    }

    @Test("a switch says where it came to, or why it did not")
    func switching() throws {
        let bus = try FakeBus(world)
        bus.answer("bus.switch") { parameters in
            parameters["on_failure"] == "stay"
                ? .failure(BusError(.switchFailed, "it did not come up", ["reason": "key_missing"]))
                : .result(["state": "ready", "run": 3, "changed": true])
        }
        let run = try world.run(world.bus(["switch", "dev/alice"]))
        #expect(run.code == 0)
        #expect(run.out == "dev/alice is ready, run 3\n")
        #expect(run.err.isEmpty, "progress is for terminals")
        let failed = try world.run(world.bus(["switch", "dev/alice", "--stay"]))
        #expect(failed.code == ExitCode.refused.rawValue)
        #expect(failed.err.contains("switch_failed (-32016)") && failed.err.contains("key_missing"))
        try bus.stop()
    }

    @Test("accounts are one aligned line each")
    func accountList() throws {
        let bus = try FakeBus(world)
        bus.answer("account.list") { _ in
            func account(_ name: String, _ key: String, active: Bool) -> JSON {
                [
                    "network": "dev", "account": .string(name), "key_state": .string(key), "created": "now",
                    "active": .bool(active), "simulated": true,
                ]
            }
            return .result([
                "accounts": [account("a", "plaintext", active: true), account("bobby", "missing", active: false)]
            ])
        }
        let run = try world.run(world.bus(["account", "list"]))
        #expect(run.out == "dev/a      plaintext  now  active, simulated\ndev/bobby  missing    now  simulated\n")
        try bus.stop()
    }

    @Test("run does not start on a faulty configuration, and says why")
    func runRefuses() throws {
        let run = try world.run(["run", "--config", "\(world.directory)/none.yml"])
        #expect(run.code == ExitCode.configurationUnreadable.rawValue)
        #expect(run.err == "\(world.directory)/none.yml: cannot be read: No such file or directory\n")
    }
}
