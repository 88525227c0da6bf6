import Foundation
import Glibc
import HostLink
import Linux
import Testing
import Wire

/// A host process on a scratch directory, and the supervisor's end of both channels. Gone afterwards, whatever
/// happened.
///
/// Used from one synchronous test: the host is told to end when the *thread* that spawned it does.
final class HostWorld {
    let directory: String
    let link: SupervisorEnd
    let ring: RingReader
    private let child: ChildProcess
    private var ended: ChildProcess.End?
    private var linkEnded = false
    private var inbox: [HostMessage] = []
    private var nextID: UInt64 = 1

    /// How long anything in these tests may take that is not meant to hang.
    static let patience = Duration.seconds(60)

    /// Where the programs and libraries of this build are: beside the test bundle.
    static let products: String = {
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path
    }()

    static var simulator: String { products + "/libfiber_sim.so" }

    init(
        library: String = HostWorld.simulator, config: String = HostWorld.config(),
        stopTimeout: Duration = .seconds(10),
        secret: String = "correct horse", supervisorPID: pid_t = getpid(), key: String? = nil, behindShell: Bool = false
    ) throws {
        var template = Array("/tmp/nodebus-host-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw SystemError.last("mkdtemp") }
        directory = String(cString: made)
        try FileManager.default.createDirectory(atPath: directory + "/node/ckb", withIntermediateDirectories: true)
        try config.write(toFile: directory + "/node.yml", atomically: false, encoding: .utf8)
        try (key ?? HostWorld.key).write(toFile: directory + "/node/ckb/key", atomically: false, encoding: .utf8)
        let file = try RingFile.open(path: directory + "/events.ring", bootIdentity: bootIdentity()) { _ in }
        ring = RingReader(ring: file, recordWake: try WakeDescriptor(), spaceWake: try WakeDescriptor())
        let pair = try Descriptor.socketPair()
        let lock = try Descriptor.open(directory + "/.lock", O_RDWR | O_CREAT)
        let passphrase = try Descriptor.memory("passphrase", holding: Array(secret.utf8))
        let output = try Descriptor.open(directory + "/stdout", O_WRONLY | O_CREAT | O_APPEND)
        let errors = try Descriptor.open(directory + "/stderr", O_WRONLY | O_CREAT | O_APPEND)
        let arguments = HostArguments(
            library: library, config: directory + "/node.yml", dataDirectory: directory + "/node", run: 7,
            supervisorPID: supervisorPID, stopTimeoutMilliseconds: stopTimeout.milliseconds)
        var command = [HostWorld.products + "/nodebus-fiber"] + arguments.commandLine
        if behindShell {
            // A shell in the place of the supervisor, which can be killed while we still hold the link.
            let words = command.map { $0 == String(supervisorPID) ? "$$" : "'\($0)'" }
            command = ["/bin/sh", "-c", words.joined(separator: " ") + " & wait"]
        }
        // A sanitizer's reports on the host go where those on the tests go.
        let sanitizer = ProcessInfo.processInfo.environment["TSAN_OPTIONS"].map { ["TSAN_OPTIONS=\($0)"] } ?? []
        child = try ChildProcess.spawn(
            path: command[0], arguments: Array(command.dropFirst()),
            environment: ["SWIFT_BACKTRACE=enable=no"] + sanitizer,
            standardOutput: output.raw, standardError: errors.raw,
            inherited: [pair.theirs.raw] + ring.inherited + [lock.raw, passphrase.raw])
        link = try SupervisorEnd(socket: pair.keepOurs())
    }

    deinit {
        if ended == nil {
            child.signal(SIGKILL)
            while child.reap() == nil { _ = waitFor(child.descriptor, .now + .seconds(1)) }
        }
        try? FileManager.default.removeItem(atPath: directory)
    }

    static let key = "1111111111111111111111111111111111111111111111111111111111111111"

    /// A node's configuration with a `sim:` section of these lines.
    static func config(sim: String = "confirm: 20ms") -> String {
        """
        fiber: {listening_addr: "/ip4/127.0.0.1/tcp/0", chain: testnet, scripts: []}
        ckb: {rpc_url: "http://127.0.0.1:1/"}
        services: [fiber, ckb]
        sim:
        \(sim.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n"))

        """
    }

    var pid: pid_t { child.pid }
    var standardError: String { (try? String(contentsOfFile: directory + "/stderr", encoding: .utf8)) ?? "" }
    var standardOutput: String { (try? String(contentsOfFile: directory + "/stdout", encoding: .utf8)) ?? "" }

    func signal(_ signal: Int32) { child.signal(signal) }

    /// Waits until the ring has no room for another record of 4,100 bytes, without freeing any.
    func waitUntilRingIsFull() throws {
        let deadline = Instant.now + HostWorld.patience
        var bytes: [UInt8] = []
        var used = 0
        while used < RingFile.capacity - 4100 {
            try ring.read(into: &bytes, byteLimit: 64 << 20, recordLimit: 1_000_000, highestRun: 7) {
                used += (40 + $0.range.count + 7) & ~7
            }
            try #require(Instant.now < deadline, "the ring holds \(used) bytes and is not full")
        }
        ring.rewind()
    }

    /// Waits for the first message that `pick` takes, and drops those before it.
    func message<Picked>(_ pick: (HostMessage) -> Picked?) throws -> Picked {
        let deadline = Instant.now + HostWorld.patience
        while true {
            while !inbox.isEmpty {
                if let picked = pick(inbox.removeFirst()) { return picked }
            }
            try #require(!linkEnded, "the host ended its link; it said: \(standardError)")
            try #require(waitFor(link.descriptor, deadline), "no message in time; the host said: \(standardError)")
            inbox += try link.receive(ended: &linkEnded)
        }
    }

    /// Waits for the node to be ready.
    func ready() throws {
        try message { message -> Void? in
            switch message {
            case .ready: return ()
            case .fatal(let fatal):
                Issue.record("fatal instead of ready: \(fatal)")
                return nil
            case .hello, .reply: return nil
            }
        }
    }

    func fatal() throws -> Fatal {
        try message { if case .fatal(let fatal) = $0 { fatal } else { nil } }
    }

    /// Sends a call without waiting for its reply.
    func send(_ method: String, _ parameters: JSON = .object([])) -> UInt64 {
        defer { nextID += 1 }
        link.send(.call(id: nextID, method: method, parameters: parameters))
        return nextID
    }

    func reply(_ id: UInt64) throws -> CallOutcome {
        try message { if case .reply(id, let outcome) = $0 { outcome } else { nil } }
    }

    /// A call that succeeds.
    func call(_ method: String, _ parameters: JSON = .object([])) throws -> JSON {
        switch try reply(send(method, parameters)) {
        case .result(let bytes): return try JSON.parse(bytes)
        case .failure(let error): throw error
        }
    }

    /// A call that fails.
    func error(_ method: String, _ parameters: JSON = .object([])) throws -> BusError {
        switch try reply(send(method, parameters)) {
        case .result(let bytes):
            throw BusError(.internalError, "\(method) succeeded: \(String(decoding: bytes, as: UTF8.self))")
        case .failure(let error): return error
        }
    }

    /// Everything in the ring now, as text. Frees its space.
    func events() throws -> [String] {
        var bytes: [UInt8] = []
        var ranges: [Range<Int>] = []
        try ring.read(into: &bytes, byteLimit: 64 << 20, recordLimit: 1_000_000, highestRun: 7) {
            ranges.append($0.range)
        }
        ring.release()
        return ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// Waits for an event that holds `text`; those before it are dropped.
    func event(_ text: String) throws {
        try eachBatch { $0.contains { $0.contains(text) } }
    }

    /// Hands over what the ring holds, as it comes, until `isEnough` says so.
    func eachBatch(_ isEnough: ([String]) -> Bool) throws {
        let deadline = Instant.now + HostWorld.patience
        while try !isEnough(events()) {
            guard ring.sleepIfEmpty() else { continue }
            try #require(
                waitFor(ring.wakeDescriptor, deadline), "too few events in time; the host said: \(standardError)")
        }
    }

    /// Waits for the host's end.
    func end(within limit: Duration = HostWorld.patience) throws -> ChildProcess.End {
        if let ended { return ended }
        try #require(waitFor(child.descriptor, .now + limit), "the host did not end; it said: \(standardError)")
        ended = child.reap()
        return try #require(ended)
    }

    /// Waits for the host's end by this exit status.
    func expectEnd(_ status: Int32, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let end = try end()
        #expect(
            end == .exited(status), "it said: \(standardError) and printed: \(standardOutput.suffix(2000))",
            sourceLocation: sourceLocation)
    }

    /// Closes the supervisor's end, as a supervisor that dies does.
    func closeLink() { shutdown(link.descriptor, Int32(SHUT_RDWR)) }
}

/// Waits until a descriptor is readable; false when the deadline passed.
func waitFor(_ descriptor: Int32, _ deadline: Instant) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    repeat {
        if poll(&entry, 1, deadline.millisecondsFromNow()) > 0 { return true }
    } while Instant.now < deadline
    return false
}
