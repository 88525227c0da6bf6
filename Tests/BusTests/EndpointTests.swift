import Bus
import Glibc
import Linux
import Testing
import Wire
import ZeroMQ

@Suite("The bus listens on sockets of its own, or says why it cannot")
struct EndpointTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func make(
        events: [String], commands: [String]? = nil, _ change: (inout BusSettings) -> Void = { _ in }
    ) throws -> Bus {
        var settings = BusSettings(
            eventEndpoints: events, commandEndpoints: commands ?? [scratch.endpoint("commands")])
        change(&settings)
        return try Bus(settings: settings, status: { [:] }, version: [:]) { $0.answer(.result([:])) }
    }

    private func refusal(events: [String], _ change: (inout BusSettings) -> Void = { _ in }) throws -> BusSetupError {
        try #require(throws: BusSetupError.self) { _ = try make(events: events, change) }
    }

    @Test("sockets have mode 0600 whatever the umask, in a directory made with 0700, and go with the bus")
    func modes() throws {
        let path = "\(scratch.path)/new/deep/events"
        let bus = try make(events: ["ipc://\(path)"])
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        #expect(stat("\(scratch.path)/new/deep", &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(stat("\(scratch.path)/new", &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(bus.shutDown(within: .seconds(5)))
        #expect(!scratch.exists("new/deep/events"))
        #expect(!scratch.exists("commands"))
    }

    @Test("several endpoints of each kind are all served")
    func several() throws {
        let bus = try make(
            events: [scratch.endpoint("events"), scratch.endpoint("other")])
        defer { bus.shutDown(within: .seconds(5)) }
        let context = try Context()
        var sockets: [Socket] = []
        for name in ["events", "other"] {
            let socket = try Socket(context, .sub)
            try socket.set(.subscribe, Array("bus/".utf8))
            try socket.connect(scratch.endpoint(name))
            #expect(try socket.next() == [Array("bus/Welcome".utf8)])
            sockets.append(socket)
        }
        try eventually { bus.subscribers == sockets.count }
    }

    @Test("a live endpoint is not taken: the error names it and who listens, and it goes on working")
    func inUse() throws {
        let world = try World()
        let error = try refusal(events: [world.directory.endpoint("events")])
        #expect(error.code == .inUse(pid: getpid()))
        #expect(error.endpoint == world.directory.endpoint("events"))
        #expect(error.description.contains(error.endpoint) && error.description.contains("this process"))
        let subscriber = try world.subscriber(["bus/Heartbeat"])
        _ = try subscriber.next(on: "bus/Heartbeat")
        // What was bound before the refusal is gone.
        #expect(!scratch.exists("commands"))
    }

    @Test("a listener whose backlog is full is in use too")
    func fullBacklog() throws {
        let path = "\(scratch.path)/events"
        let listener = try UnixSocket.listen(path, backlog: 0)
        var waiting: [RawHolder] = []
        while let peer = try? UnixSocket.connect(path) { waiting.append(RawHolder(peer.release())) }
        #expect(!waiting.isEmpty)
        #expect(try refusal(events: [scratch.endpoint("events")]).code == .inUse(pid: nil))
        #expect(scratch.exists("events"))
        #expect(listener.raw >= 0)
    }

    @Test("a socket that nobody listens on any more is replaced")
    func stale() throws {
        do { _ = try UnixSocket.listen("\(scratch.path)/events", backlog: 1) }
        #expect(scratch.exists("events"))
        let bus = try make(events: [scratch.endpoint("events")])
        #expect(bus.shutDown(within: .seconds(5)))
        #expect(!scratch.exists("events"))
    }

    @Test("a file or a symbolic link in the place of a socket is refused and left alone", arguments: [true, false])
    func foreign(isLink: Bool) throws {
        let path = "\(scratch.path)/events"
        if isLink {
            #expect(symlink("\(scratch.path)/other", path) == 0)
            _ = try Descriptor.open("\(scratch.path)/other", O_CREAT | O_WRONLY)
        } else {
            try Descriptor.open(path, O_CREAT | O_WRONLY).write([1, 2, 3])
        }
        let error = try refusal(events: [scratch.endpoint("events")])
        #expect(error.code == .foreignFile)
        #expect(error.reason.contains(isLink ? "symbolic link" : "no socket"))
        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_mode & S_IFMT == (isLink ? S_IFLNK : S_IFREG))
    }

    @Test("a socket file that another one has replaced is not taken away")
    func replaced() throws {
        let bus = try make(events: [scratch.endpoint("events")])
        #expect(unlink("\(scratch.path)/events") == 0)
        let other = try UnixSocket.listen("\(scratch.path)/events", backlog: 1)
        #expect(bus.shutDown(within: .seconds(5)))
        #expect(scratch.exists("events"))
        #expect(other.raw >= 0)
    }

    @Test("an endpoint that is none is refused by name")
    func badEndpoints() throws {
        let long = "ipc:///tmp/" + String(repeating: "x", count: 103)
        for endpoint in [
            "", "tcp://127.0.0.1:5555", "ipc://relative", "ipc://@abstract", "ipc:///", "ipc:///tmp/", "ipc:///tmp/..",
            "ipc:///tmp/a\u{0}b", long,
        ] {
            let error = try refusal(events: [endpoint])
            #expect(error.code == .badEndpoint)
            #expect(error.endpoint == endpoint)
            #expect(!error.hint.isEmpty)
        }
        #expect(try refusal(events: [scratch.endpoint("commands")]).reason == "stands twice")
        #expect(!scratch.exists("commands"))
    }

    @Test("a path of exactly 107 bytes is taken")
    func longestPath() throws {
        let name = String(repeating: "x", count: 107 - scratch.path.utf8.count - 1)
        let bus = try make(events: [scratch.endpoint(name)])
        #expect(scratch.exists(name))
        #expect(bus.shutDown(within: .seconds(5)))
    }

    @Test("a directory that others may write to, or that is none, is refused")
    func directories() throws {
        #expect(mkdir("\(scratch.path)/open", 0o700) == 0 && chmod("\(scratch.path)/open", 0o777) == 0)
        #expect(try refusal(events: [scratch.endpoint("open/events")]).code == .directory)
        #expect(!scratch.exists("open/events"))
        _ = try Descriptor.open("\(scratch.path)/other", O_CREAT | O_WRONLY)
        #expect(try refusal(events: [scratch.endpoint("other/events")]).code == .directory)
    }

    @Test("too few descriptors are refused before anything is bound, and the limit is raised as far as it goes")
    func descriptors() throws {
        let error = try refusal(events: [scratch.endpoint("events")]) { $0.minDescriptors = 1 << 40 }
        #expect(error.code == .descriptors)
        #expect(error.hint.contains("ulimit"))
        #expect(!scratch.exists("events"))
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        #expect(getrlimit(resource, &limit) == 0)
        var lower = limit
        lower.rlim_cur = limit.rlim_max - 1
        #expect(setrlimit(resource, &lower) == 0)
        #expect(DescriptorLimit.raise() >= UInt(lower.rlim_cur))
        #expect(getrlimit(resource, &limit) == 0)
        #expect(limit.rlim_cur == limit.rlim_max || limit.rlim_cur == 1 << 20)
    }
}

/// A descriptor in an array.
private final class RawHolder {
    private let raw: Int32
    init(_ raw: Int32) { self.raw = raw }
    deinit { close(raw) }
}
