import Glibc
import Linux
import Supervisor
import Testing
import Wire

@Suite("nodebus watch prints every event once", .timeLimit(.minutes(2)))
struct WatchTests {
    let world: World
    init() throws { world = try World() }

    @Test("history and live events join, one aligned line each")
    func joins() throws {
        let bus = try FakeBus(world)
        bus.say("NodeReady", #"{"n":1}"#, source: "supervisor", lost: true)
        bus.say("PeerConnected", #"{"n":2}"#, lost: true)
        let program = try RunningProgram(world, world.bus(["watch", "--since", "0", "--count", "4"]))
        try eventually { program.out.contains("PeerConnected") }
        bus.say("ChannelReady", #"{"n":3}"#)
        bus.say("Odd\u{1b}[2J", "{\n\"n\":\"\u{9b}\u{202e}\"}")
        let run = try program.end()
        #expect(run.code == 0)
        #expect(run.err.isEmpty)
        let time = "2026-09-21T14:13:20.000"
        #expect(run.lines[0] == "\(time)        1  dev/demo/supervisor/NodeReady             {\"n\":1}")
        #expect(run.lines[1] == "\(time)        2  dev/demo/fiber/PeerConnected              {\"n\":2}")
        #expect(run.lines[2] == "\(time)        3  dev/demo/fiber/ChannelReady               {\"n\":3}")
        #expect(
            run.lines[3] == "\(time)        4  dev/demo/fiber/Odd%1B%5B2J                { \"n\":\"\\u009b\\u202e\"}")
        try bus.stop()
    }

    @Test("--json prints what was published, a line each, and prefixes choose")
    func json() throws {
        let bus = try FakeBus(world)
        for number in 0..<6 { bus.say(number % 2 == 0 ? "A" : "B", "{\"n\": \(number)}", lost: true) }
        let run = try world.run(
            world.bus(["watch", "--json", "--since=1", "--count", "2", "dev/demo/fiber/A", "dev/demo/supervisor/"]))
        #expect(run.lines == [2, 4].map { bus.journal.events[$0].line })
        try bus.stop()
    }

    @Test("what is lost on the way is printed all the same, and a lost supervisor is one line")
    func loss() throws {
        let bus = try FakeBus(world)
        bus.say("First", lost: true)
        let program = try RunningProgram(world, world.bus(["watch", "--json", "--since", "0", "--count", "5"]))
        try eventually { program.out.contains("First") }
        bus.say("A", lost: true)
        bus.say("A")
        try eventually { program.out.split(separator: "\n").count == 3 }
        try bus.stop()
        try eventually { program.err == "nodebus: lost the supervisor at \(world.events); waiting for it\n" }
        bus.say("A", lost: true)
        let second = try FakeBus(world, journal: bus.journal)
        try eventually { program.err.hasSuffix("nodebus: the supervisor is back\n") }
        second.say("A")
        let run = try program.end()
        #expect(run.code == 0)
        #expect(run.lines == second.journal.events.map(\.line))
        #expect(run.err.split(separator: "\n").count == 2)
        try second.stop()
    }

    @Test("a position that the journal does not have is refused")
    func refused() throws {
        let bus = try FakeBus(world)
        let run = try world.run(world.bus(["watch", "--since", "7"]))
        #expect(run.code == ExitCode.refused.rawValue)
        #expect(run.err.contains("history_changed (-32014)"))
        try bus.stop()
    }

    @Test("Ctrl-C ends it with 130")
    func signals() throws {
        let bus = try FakeBus(world)
        let program = try RunningProgram(world, world.bus(["watch"]))
        try eventually {
            bus.say("A")
            return !program.out.isEmpty
        }
        program.signal(SIGINT)
        #expect(try program.end().code == 130)
        try bus.stop()
    }

    @Test("a reader that goes away ends it quietly, events or none", arguments: [true, false])
    func brokenPipe(events: Bool) throws {
        let bus = try FakeBus(world)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let program = try RunningProgram(world, world.bus(["watch"]), standardOutput: ends[1])
        close(ends[1])
        do {
            let reader = Descriptor(taking: ends[0])
            try reader.setNonBlocking()
            try eventually {
                bus.say("A")
                return (try? reader.readAll(limit: 1))?.isEmpty == false
            }
        }
        if events { bus.say("A") }
        let run = try program.end()
        #expect(run.code == 0)
        #expect(run.err.isEmpty)
        try bus.stop()
    }

    @Test("colours and line breaks are for terminals, and NO_COLOR is respected")
    func terminal() throws {
        let bus = try FakeBus(world)
        bus.say("NodeFailed", "{\"text\":\"\(String(repeating: "x", count: 200))\"}", source: "supervisor", lost: true)
        let watch = world.bus(["watch", "--since", "0", "--count", "1"])
        let plain = try onTerminal(watch, ["TERM=xterm", "NO_COLOR=1"])
        #expect(!plain.contains("\u{1b}"))
        #expect(plain.hasSuffix("…\r\n"))
        #expect(plain.count == 100 + 1)
        let coloured = try onTerminal(watch, ["TERM=xterm"])
        #expect(coloured.contains("\u{1b}[31mdev/demo/supervisor/NodeFailed"))
        #expect(try !onTerminal(watch, ["TERM=dumb"]).contains("\u{1b}"))
        #expect(
            try onTerminal(world.bus(["call", "test.echo", "a=[1,{}]", "b=x"]), [])
                == "{\r\n  \"a\": [\r\n    1,\r\n    {}\r\n  ],\r\n  \"b\": \"x\"\r\n}\r\n")
        try bus.stop()
    }

    /// What the program prints on a terminal of 100 columns.
    private func onTerminal(_ arguments: [String], _ environment: [String]) throws -> String {
        // Swift's Glibc lacks posix_openpt and its relatives; these are the two requests behind them
        // (asm-generic/ioctls.h).
        let master = try Descriptor.open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (unlocked, number): (Int32, Int32) = (0, 0)
        #expect(ioctl(master.raw, UInt(0x4004_5431), &unlocked) == 0)
        #expect(ioctl(master.raw, UInt(0x8004_5430), &number) == 0)
        let slave = try Descriptor.open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        var size = winsize(ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
        #expect(ioctl(slave.raw, UInt(TIOCSWINSZ), &size) == 0)
        let program = try RunningProgram(world, arguments, environment: environment, standardOutput: slave.raw)
        #expect(try program.end().code == 0)
        try master.setNonBlocking()
        var buffer = [UInt8](repeating: 0, count: 8192)
        let count = read(master.raw, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
