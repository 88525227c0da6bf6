import Glibc
import Linux
import Testing
import Wire

@testable import Supervisor

/// A scratch directory with a node configuration, `fiber/dev.yml`, and whatever `nodebus.yml` is asked for.
final class ConfigurationWorld {
    let directory: String

    init() throws {
        var template = Array("/tmp/nodebus-config-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw SystemError.last("mkdtemp") }
        directory = String(cString: made)
        mkdir("\(directory)/fiber", 0o700)
        try write("fiber/dev.yml", "fiber: {chain: dev}\nckb: {rpc_url: x}\nservices: [fiber, ckb]\n")
    }

    deinit {
        for name in ["fiber/dev.yml", "fiber/other.yml", "nodebus.yml"] { unlink("\(directory)/\(name)") }
        for name in ["fiber", ""] { rmdir("\(directory)/\(name)") }
    }

    func write(_ name: String, _ text: String) throws {
        try Descriptor.open("\(directory)/\(name)", O_WRONLY | O_CREAT | O_TRUNC).write(Array(text.utf8))
    }

    func load(_ text: String) throws -> Configuration {
        try write("nodebus.yml", text)
        return try Configuration.load(path: "\(directory)/nodebus.yml", programDirectory: "/opt/nodebus")
    }

    /// The fault lines without the directory.
    func faults(_ text: String) throws -> [String] {
        let error = #expect(throws: ConfigurationError.self) { try load(text) }
        return error?.faults.map { shorten($0.description) } ?? []
    }

    func shorten(_ text: String) -> String {
        text.split(separator: directory, omittingEmptySubsequences: false).joined(separator: "@")
    }
}

/// The smallest file that is taken.
private let smallest = """
    root: data
    bus: {events: [ipc://e.sock], commands: [ipc://run/../c.sock]}
    networks: {dev: {host: fiber, library: sim, config: fiber/dev.yml}}
    start: dev/demo

    """

@Suite("A configuration is taken whole or refused with every fault")
struct ConfigurationTests {
    let world: ConfigurationWorld
    init() throws { world = try ConfigurationWorld() }

    @Test("what is left out has the documented default, and paths are absolute")
    func defaults() throws {
        let configuration = try world.load(smallest)
        #expect(configuration.file == "\(world.directory)/nodebus.yml")
        #expect(configuration.root == "\(world.directory)/data")
        #expect(configuration.bus.events.map(\.path) == ["\(world.directory)/e.sock"])
        #expect(configuration.bus.commands.map(\.description) == ["ipc://\(world.directory)/c.sock"])
        #expect(configuration.bus.heartbeat == .seconds(1))
        #expect(configuration.start.description == "dev/demo")
        let network = try #require(configuration.network(named: "dev"))
        #expect(network.host == .fiber)
        #expect(network.isSimulated)
        #expect(network.library == "/opt/nodebus/libfiber_sim.so")
        #expect(network.config == "\(world.directory)/fiber/dev.yml")
        #expect(network.chain == "dev")
        #expect(configuration.warnings.isEmpty)
        let supervision = configuration.supervision
        #expect(supervision.startTimeout == .seconds(120))
        #expect(supervision.stopTimeout == .seconds(30))
        #expect(supervision.callTimeout == .seconds(60))
        #expect(supervision.hangTimeout == .seconds(300))
        let restart = supervision.restart
        #expect([restart.first, restart.max] == [.milliseconds(250), .seconds(30)])
        #expect([restart.factor, restart.jitter] == [2, 0.2])
        #expect(restart.limit == 10)
        #expect([restart.window, restart.stable, restart.thenEvery] == [.seconds(600), .seconds(60), .seconds(300)])
    }

    @Test("what is written counts")
    func written() throws {
        let configuration = try world.load(
            """
            root: /srv/nodebus//x/./y
            bus: {events: [ipc:///run/e, ipc:///run/f], commands: [ipc:///run/c], heartbeat: 500ms}
            networks:
              dev: {host: fiber, library: ./lib.so, config: fiber/dev.yml}
              test-net_2: {host: fiber, library: /usr/lib/libfiber_ffi.so, config: fiber/dev.yml}
            start: test-net_2/alice
            supervision:
              start_timeout: 2m
              stop_timeout: 1s
              call_timeout: 1s
              hang_timeout: 1s
              restart:
                {first: 1ms, factor: 1.5, max: 1h, jitter: 0, limit: 100000, window: 7d, stable: 100ms, then_every: 0}
            journal: {durability: full}
            """)
        #expect(configuration.root == "/srv/nodebus/x/y")
        #expect(configuration.bus.events.map(\.path) == ["/run/e", "/run/f"])
        #expect(configuration.bus.heartbeat == .milliseconds(500))
        #expect(configuration.networks.map(\.name) == ["dev", "test-net_2"])
        #expect(configuration.networks.map(\.isSimulated) == [false, false])
        #expect(configuration.networks.map(\.library) == ["\(world.directory)/lib.so", "/usr/lib/libfiber_ffi.so"])
        #expect(configuration.supervision.startTimeout == .seconds(120))
        let restart = configuration.supervision.restart
        #expect(restart.factor == 1.5)
        #expect(restart.limit == 100_000)
        #expect(restart.window == .seconds(7 * 86400))
        #expect(restart.thenEvery == .zero)
    }

    @Test(
        "where passphrases come from",
        arguments: [
            ("{file: '../{network}/{account}.txt'}", "file(\"@^/{network}/{account}.txt\")"),
            ("{credential: 'nodebus-{account}'}", "credential(\"nodebus-{account}\")"),
            ("{command: [/bin/echo, '{account}', x]}", #"command(["/bin/echo", "{account}", "x"])"#),
        ])
    func passphrases(text: String, source: String) throws {
        let configuration = try world.load(
            """
            root: x
            bus: {events: [ipc:///run/e], commands: [ipc:///run/c]}
            networks:
              dev: {host: fiber, library: sim, config: fiber/dev.yml, passphrase: \(text)}
              test: {host: fiber, library: sim, config: fiber/dev.yml}
            start: dev/demo
            """)
        let parent = world.directory.split(separator: "/").dropLast().joined(separator: "/")
        #expect("\(configuration.networks[0].passphrase)" == source.replacing("@^", with: "/\(parent)"))
        #expect(configuration.networks[1].passphrase == .account)
    }

    @Test("a source is that of one account once its names are filled in")
    func filledPassphrase() throws {
        let profile = try #require(Profile("dev/alice"))
        #expect(
            PassphraseSource.command(["/{account}", "{network}{network}", "x"]).filled(for: profile)
                == .command(["/alice", "devdev", "x"]))
        #expect(PassphraseSource.file("/{network}/{account}").filled(for: profile) == .file("/dev/alice"))
        #expect(PassphraseSource.account.filled(for: profile) == .account)
        // An error names the program, and none of its arguments.
        #expect(PassphraseSource.command(["/bin/x", "secret"]).name == "the command /bin/x")
    }

    @Test("the file that comes with the software is taken, and says the defaults that it claims")
    func shipped() throws {
        let repository = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let shipped = try Configuration.load(path: "/\(repository)/config/nodebus.yml")
        #expect(shipped.start.description == "dev/demo")
        #expect(shipped.root == "/\(repository)/var/nodebus")
        #expect(shipped.networks.map(\.isSimulated) == [true])
        #expect(shipped.warnings.isEmpty)
        #expect(shipped.supervision == (try world.load(smallest)).supervision)
        #expect(shipped.bus.heartbeat == (try world.load(smallest)).bus.heartbeat)
    }

    @Test("all faults are told at once, in the order of the file")
    func all() throws {
        let faults = try world.faults(
            """
            rot: data
            bus: {events: [tcp://*:5555], commands: [], hartbeat: 1s, curve: {}}
            networks:
              dev: {host: any, library: sim, config: fiber/none.yml}
              Bad: {host: fiber, library: libx.so, config: fiber, prepare: true}
            start: dev
            supervision: {start_timeout: 5, restart: {factor: two}}
            journal: {durability: relaxed, keep: {days: 30}}
            """)
        #expect(
            faults == [
                "@/nodebus.yml:1:1: rot: unknown key; did you mean root?",
                "@/nodebus.yml:1:1: root: is missing; write root: ../var/nodebus",
                "@/nodebus.yml:2:16: bus.events[0]: tcp:// endpoints need CURVE, which this version does not offer; "
                    + "use ipc://",
                "@/nodebus.yml:2:41: bus.commands: must be a list of at least one, such as "
                    + "[ipc://../var/run/events.sock], not []",
                "@/nodebus.yml:2:45: bus.hartbeat: unknown key; did you mean heartbeat?",
                "@/nodebus.yml:2:59: bus.curve: is not offered by this version: only ipc:// endpoints are, which file "
                    + "permissions protect",
                "@/nodebus.yml:4:15: networks.dev.host: the host any is not offered by this version; fiber is",
                "@/nodebus.yml:4:42: networks.dev.config: @/fiber/none.yml cannot be read: No such file or directory",
                "@/nodebus.yml:5:3: networks.Bad: is no name for a network: 1 to 63 of a-z 0-9 _ -, starting with a "
                    + "letter or digit, and not bus or supervisor",
                "@/nodebus.yml:5:31: networks.Bad.library: must be sim or the path of a library with a / in it, such "
                    + "as ./libx.so, not \"libx.so\"",
                "@/nodebus.yml:5:48: networks.Bad.config: @/fiber is not a file",
                "@/nodebus.yml:5:55: networks.Bad.prepare: is not offered by this version",
                "@/nodebus.yml:6:8: start: must be network/account, such as dev/demo, not \"dev\"; a name has 1 to 63 "
                    + "of a-z 0-9 _ -, starting with a letter or digit, and not bus or supervisor",
                "@/nodebus.yml:7:30: supervision.start_timeout: must be a whole number with a unit: 250ms, 30s, 5m, "
                    + "1h or 7d, not \"5\"",
                "@/nodebus.yml:7:51: supervision.restart.factor: must be a number from 1.0 to 100.0, not \"two\"",
                "@/nodebus.yml:8:23: journal.durability: relaxed is not offered by this version; full is",
                "@/nodebus.yml:8:32: journal.keep: retention is not offered by this version: every event is kept",
            ])
    }

    @Test("a file that cannot be read is one fault without a place")
    func unreadable() throws {
        for (name, reason) in [("none.yml", "No such file or directory"), ("fiber", "Is a directory")] {
            let path = "\(world.directory)/\(name)"
            let error = #expect(throws: ConfigurationError.self) { try Configuration.load(path: path) }
            #expect(error?.description == "\(path): cannot be read: \(reason)")
            #expect(error?.isUnreadable == true)
        }
    }

    @Test("a FIFO, an endless file and one too large hold nobody up")
    func endless() throws {
        let fifo = "\(world.directory)/nodebus.yml"
        #expect(mkfifo(fifo, 0o600) == 0)
        for path in [fifo, "/dev/zero"] {
            #expect(throws: ConfigurationError.self) { try Configuration.load(path: path) }
        }
        unlink(fifo)
        let large = try world.faults(smallest + String(repeating: "#", count: 1 << 20))
        #expect(large == ["@/nodebus.yml:1:1: 1048577 bytes are too many; the limit is 1048576"])
    }

    @Test("a path is relative to the directory that the file really stands in")
    func symbolicLink() throws {
        try world.write("nodebus.yml", smallest)
        let link = "\(world.directory)/fiber/link"
        #expect(symlink("..", link) == 0)
        defer { unlink(link) }
        let configuration = try Configuration.load(path: "\(link)/nodebus.yml")
        #expect(configuration.root == "\(world.directory)/data")
        #expect(configuration.file == "\(world.directory)/nodebus.yml")
    }
}
