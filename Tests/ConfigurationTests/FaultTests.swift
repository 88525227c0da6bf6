import Testing

@testable import Supervisor

/// A sound file with one value changed.
private func file(
    root: String = "data", events: String = "[ipc://e.sock]", commands: String = "[ipc://c.sock]",
    networks: String = "{dev: {host: fiber, library: sim, config: fiber/dev.yml}}", start: String = "dev/demo",
    rest: String = ""
) -> String {
    "root: \(root)\nbus:\n  events: \(events)\n  commands: \(commands)\nnetworks: \(networks)\nstart: \(start)\n\(rest)"
}

/// A file with one fault, and the line that tells it.
private struct Wrong: Sendable {
    let text: String
    let fault: String

    init(_ text: String, _ fault: String) {
        self.text = text
        self.fault = fault
    }
}

/// A sound file whose one network has this `passphrase`.
private func file(passphrase: String) -> String {
    file(
        networks:
            "\n  dev:\n    host: fiber\n    library: sim\n    config: fiber/dev.yml\n    passphrase: \(passphrase)")
}

private let passphraseSources =
    "{file: /etc/nodebus/passphrase}, {credential: NAME} or {command: [/usr/bin/PROGRAM, …]}"

private let wrongPassphrases: [Wrong] = [
    Wrong(
        file(passphrase: "secret"),
        """
        10:17: networks.dev.passphrase: must be a mapping with the keys file, credential, command, not "secret"
        """),
    Wrong(file(passphrase: "{}"), "10:17: networks.dev.passphrase: must be exactly one of \(passphraseSources)"),
    Wrong(
        file(passphrase: "{file: a, credential: b}"),
        "10:17: networks.dev.passphrase: must be exactly one of \(passphraseSources)"),
    Wrong(
        file(passphrase: "{fil: a}"), "10:18: networks.dev.passphrase.fil: unknown key; did you mean file?"),
    Wrong(
        file(passphrase: "{file: '{name}'}"),
        """
        10:24: networks.dev.passphrase.file: "{name}" has a brace; {network} and {account} are known
        """),
    Wrong(file(passphrase: "{file: [a]}"), "10:24: networks.dev.passphrase.file: must be a path, not a list"),
    Wrong(
        file(passphrase: "{credential: ../x}"),
        """
        10:30: networks.dev.passphrase.credential: must be the name of a credential, without a /, not "../x"
        """),
    Wrong(
        file(passphrase: "{command: /bin/echo}"),
        """
        10:27: networks.dev.passphrase.command: must be a list of at least one, such as [/usr/bin/systemd-creds], \
        not "/bin/echo"
        """),
    Wrong(
        file(passphrase: "{command: [pass, show]}"),
        """
        10:28: networks.dev.passphrase.command[0]: must be the path of a program with a / in it, not "pass"; no PATH \
        is searched
        """),
    Wrong(
        file(passphrase: "{command: [./none]}"),
        "10:28: networks.dev.passphrase.command[0]: @/none cannot be run: No such file or directory"),
    Wrong(
        file(passphrase: "{command: [/bin/echo, 'a{b']}"),
        """
        10:39: networks.dev.passphrase.command[1]: "a{b" has a brace; {network} and {account} are known
        """),
]

private let wrongFiles: [Wrong] = [
    Wrong(file(root: "[a]"), "1:7: root: must be a path, not a list"),
    Wrong(file(root: ""), "1:6: root: must be a path, not nothing"),
    Wrong(file(root: "~/x"), "1:7: root: \"~/x\" would be a directory called ~; write the path out"),
    Wrong(file(root: "\"a\\0b\""), "1:7: root: must not contain a NUL character"),
    Wrong(
        file(events: "ipc://e.sock"),
        """
        3:11: bus.events: must be a list of at least one, such as [ipc://../var/run/events.sock], not \
        "ipc://e.sock"
        """),
    Wrong(
        file(events: "[ipc://]"),
        """
        3:12: bus.events[0]: must name a file, such as ipc://../var/run/events.sock, not "ipc://"
        """),
    Wrong(
        file(events: "[ipc://@x]"),
        """
        3:12: bus.events[0]: must name a file, such as ipc://../var/run/events.sock, not "ipc://@x"
        """),
    Wrong(
        file(events: "['ipc://*']"),
        """
        3:12: bus.events[0]: must name a file, such as ipc://../var/run/events.sock, not "ipc://*"
        """),
    Wrong(
        file(events: "[inproc://x]"),
        """
        3:12: bus.events[0]: must start with ipc://, such as ipc://../var/run/events.sock, not \
        "inproc://x"
        """),
    Wrong(file(events: "[ipc://a, ipc://./a]"), "3:21: bus.events[1]: is the same socket as bus.events[0]: @/a"),
    Wrong(
        file(commands: "[ipc://x/../e.sock]"),
        """
        4:14: bus.commands[0]: is the same socket as bus.events[0]: @/e.sock
        """),
    Wrong(
        file(networks: "{}"),
        """
        5:11: networks: must name at least one network, such as {dev: {host: fiber, library: sim, config: \
        fiber/dev.yml}}
        """),
    Wrong(
        file(networks: "dev"),
        """
        5:11: networks: must be a mapping such as {dev: {host: fiber, library: sim, config: \
        fiber/dev.yml}}, not "dev"
        """),
    Wrong(
        file(networks: "{dev: sim}"),
        """
        5:17: networks.dev: must be a mapping with the keys host, library, config, passphrase, not "sim"
        """),
    Wrong(
        file(networks: "{dev: {host: fibre, library: sim, config: fiber/dev.yml}}"),
        """
        5:24: networks.dev.host: must be fiber, not "fibre"
        """),
    Wrong(
        file(networks: "{dev: {host: connect, library: sim, config: fiber/dev.yml}}"),
        """
        5:24: networks.dev.host: the host connect is not offered by this version; fiber is
        """),
    Wrong(
        file(networks: "{dev: {host: fiber, library: sim}}"),
        """
        5:17: networks.dev.config: is missing; write config: fiber/dev.yml
        """),
    Wrong(
        file(networks: "{bus: {host: fiber, library: sim, config: fiber/dev.yml}}"),
        """
        5:12: networks.bus: is no name for a network: 1 to 63 of a-z 0-9 _ -, starting with a letter or \
        digit, and not bus or supervisor
        """),
    Wrong(file(start: "dve/demo"), "6:8: start: the network dve is not under networks; did you mean dev?"),
    Wrong(file(start: "mainnet/demo"), "6:8: start: the network mainnet is not under networks, which has dev"),
    Wrong(
        file(start: "dev/../../etc"),
        """
        6:8: start: must be network/account, such as dev/demo, not "dev/../../etc"; a name has 1 to 63 \
        of a-z 0-9 _ -, starting with a letter or digit, and not bus or supervisor
        """),
    Wrong(
        file(rest: "supervision:"),
        """
        7:13: supervision: must be a mapping with the keys start_timeout, stop_timeout, call_timeout, \
        hang_timeout, restart, not nothing
        """),
    Wrong(
        file(rest: "supervision: {stop_timeout: 2h}"),
        """
        7:29: supervision.stop_timeout: must be from 100ms to 1h, not "2h"
        """),
    Wrong(
        file(rest: "supervision: {stop_timeout: 0s}"),
        """
        7:29: supervision.stop_timeout: must be from 100ms to 1h, not "0s"
        """),
    Wrong(
        file(rest: "supervision: {call_timeout: 10m}"),
        """
        7:29: supervision.call_timeout: the host would be killed (hang_timeout 5m) before the caller is \
        answered (call_timeout 10m); hang_timeout must be at least call_timeout
        """),
    Wrong(
        file(rest: "supervision: {restart: {then_every: 10d}}"),
        """
        7:37: supervision.restart.then_every: must be from 100ms to 7d, or 0 (never), not "10d"
        """),
    Wrong(
        file(rest: "supervision: {restart: {limit: -1}}"),
        """
        7:32: supervision.restart.limit: must be a whole number from 0 to 1000000, not "-1"
        """),
    Wrong(
        file(rest: "supervision: {restart: {limit: 1.5}}"),
        """
        7:32: supervision.restart.limit: must be a whole number from 0 to 1000000, not "1.5"
        """),
    Wrong(
        file(rest: "supervision: {restart: {jitter: 2}}"),
        """
        7:33: supervision.restart.jitter: must be a number from 0.0 to 1.0, not "2"
        """),
    Wrong(
        file(rest: "supervision: {restart: {factor: nan}}"),
        """
        7:33: supervision.restart.factor: must be a number from 1.0 to 100.0, not "nan"
        """),
    Wrong(
        file(rest: "supervision: {restart: {first: 5s, max: 1s}}"),
        """
        7:41: supervision.restart.max: max (1s) must be at least first (5s)
        """),
    Wrong(
        file(rest: "supervision: {restart: {delay: 1s}}"),
        """
        7:25: supervision.restart.delay: unknown key; supervision.restart takes first, factor, max, \
        jitter, limit, window, stable, then_every
        """),
    Wrong(file(rest: "journal: {durability: none}"), "7:23: journal.durability: must be full, not \"none\""),
    Wrong(
        file(rest: "metrics: 1"),
        """
        7:1: metrics: unknown key; the file takes root, bus, networks, start, supervision, journal
        """),
    Wrong(
        file(rest: "\"a b\\n\": 1"),
        """
        7:1: "a b\\n": unknown key; the file takes root, bus, networks, start, supervision, journal
        """),
    Wrong(file(rest: "root: x"), "7:1: the key \"root\" stands here a second time; the first is on line 1"),
    Wrong("", "1:1: there is nothing in it"),
    Wrong("- a", "1:1: must be a mapping with the keys root, bus, networks, start, supervision, journal, not a list"),
]

@Suite("One fault is one line that says what would be right")
struct FaultTests {
    let world: ConfigurationWorld
    init() throws { world = try ConfigurationWorld() }

    @Test("the file that is changed below is sound")
    func sound() throws { _ = try world.load(file()) }

    @Test("a wrong value", arguments: wrongFiles + wrongPassphrases)
    fileprivate func wrong(_ wrong: Wrong) throws {
        #expect(try world.faults(wrong.text) == ["@/nodebus.yml:\(wrong.fault)"])
    }

    @Test("a socket path may have 107 bytes and not one more")
    func socketPath() throws {
        let fits = String(repeating: "s", count: 107 - world.directory.utf8.count - 1)
        let configuration = try world.load(file(events: "[ipc://\(fits)]"))
        #expect(configuration.bus.events.map(\.path.utf8.count) == [107])
        #expect(
            try world.faults(file(events: "[ipc://\(fits)s]")) == [
                "@/nodebus.yml:3:12: bus.events[0]: @/\(fits)s has 108 bytes; the path of a socket has at most 107"
            ])
    }
}

@Suite("Durations and near misses")
struct QuantitiesTests {
    @Test(
        "a duration is a whole number with a unit",
        arguments: [
            ("250ms", Duration.milliseconds(250)), ("30s", .seconds(30)), ("5m", .seconds(300)), ("1h", .seconds(3600)),
            ("7d", .seconds(604_800)), ("0s", .zero), ("90s", .seconds(90)),
        ])
    func durations(text: String, duration: Duration) { #expect(Quantities.duration(text) == duration) }

    @Test(
        "anything else is none",
        arguments: [
            "", "5", "s", "-5s", "+5s", "1.5s", "5 s", "5S", "5sec", "1m30s", "99999999999999999999s",
            "9223372036854775807s", "٣s",
        ])
    func noDurations(text: String) { #expect(Quantities.duration(text) == nil) }

    @Test(
        "durations read back as they are written", arguments: ["250ms", "30s", "5m", "1h", "7d", "0s", "90s", "1001ms"])
    func written(text: String) throws {
        #expect(Quantities.text(of: try #require(Quantities.duration(text))) == text)
    }

    @Test("a slip is recognised, another word is not")
    func nearMisses() {
        let words = ["run", "status", "watch", "call", "check", "version"]
        #expect(nearest("statsu", among: words) == "status")
        #expect(nearest("wach", among: words) == "watch")
        #expect(nearest("chekc", among: words) == "check")
        #expect(nearest("rnu", among: words) == "run")
        #expect(nearest("delete", among: words) == nil)
        #expect(nearest("", among: words) == nil)
        #expect(nearest(String(repeating: "x", count: 100_000), among: words) == nil)
    }

    @Test("exit codes keep to their families, and each says what it means")
    func exitCodes() {
        #expect(ExitCode.allCases.map(\.rawValue) == ExitCode.allCases.map(\.rawValue).sorted())
        for code in ExitCode.allCases {
            #expect(!code.summary.isEmpty)
            let families = [1: "configuration: ", 2: "locks: ", 3: "storage: ", 4: "host: "]
            if let family = families[Int(code.rawValue / 10)] { #expect(code.summary.hasPrefix(family)) }
        }
    }
}
