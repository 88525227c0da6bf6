import Glibc
import HostLink
import Linux
import Supervision
import Wire

/// One host process while it lives: the child, our end of its link, and where its output goes. Used by the main thread.
final class LivingHost {
    private let child: ChildProcess
    private let link: SupervisorEnd
    private let output: HostOutput
    /// What it said of itself; nil until it did.
    private(set) var hello: Hello?
    private var linkEnded: Instant?
    private var linkHasEnded: Bool { linkEnded != nil }
    /// Set once the machine was told that the host lives on without a link.
    var isSilenceTold = false
    /// A host that closed its link has this long to end, since it cannot be told anything any more.
    var silenceDeadline: Instant? { isSilenceTold ? nil : linkEnded.map { $0 + .seconds(5) } }

    /// What a host is started with.
    struct Order {
        let program: String
        let arguments: HostArguments
        let ringDescriptors: [Int32]
        let lockDescriptor: Int32
        let secret: [UInt8]
        let logDirectory: String
        let keyWasPlain: Bool
    }

    /// Whether its node finds a plaintext key, which it then encrypts.
    let keyWasPlain: Bool

    /// Spawns a host. On the main thread only (see `ChildProcess.spawn`).
    init(_ order: Order) throws(SystemError) {
        let pair = try Descriptor.socketPair()
        let secret = try Descriptor.memory("secret", holding: order.secret)
        keyWasPlain = order.keyWasPlain
        output = try HostOutput(directory: order.logDirectory)
        child = try ChildProcess.spawn(
            path: order.program, arguments: order.arguments.commandLine, environment: LivingHost.environment,
            standardOutput: output.standardOutput.raw, standardError: output.standardError.raw,
            inherited: [pair.theirs.raw] + order.ringDescriptors + [order.lockDescriptor, secret.raw])
        link = try SupervisorEnd(socket: pair.keepOurs())
    }

    /// Our environment, but for what a child must not see or must have.
    static var environment: [String] {
        var entries: [String] = []
        var next = environ
        while let entry = next.pointee {
            entries.append(String(cString: entry))
            next += 1
        }
        let hidden = ["FIBER_SECRET_KEY_PASSWORD=", "NOTIFY_SOCKET=", "SWIFT_BACKTRACE="]
        // A crash report would print memory, and memory holds keys.
        return entries.filter { entry in !hidden.contains { entry.hasPrefix($0) } } + ["SWIFT_BACKTRACE=enable=no"]
    }

    var pid: Int32 { child.pid }
    /// Readable when the host has ended.
    var exitDescriptor: Int32 { child.descriptor }
    /// Readable when the host said something; -1 once its end is closed.
    var linkDescriptor: Int32 { linkHasEnded ? -1 : link.descriptor }
    /// Whether to poll the link for POLLOUT too.
    var wantsToWrite: Bool { link.wantsToWrite }

    func flush() { link.flush() }
    func send(_ message: SupervisorMessage) { link.send(message) }
    func kill() { child.signal(SIGKILL) }

    /// What it said since, in order; the first message must be its hello, and there is only one.
    func receive() throws(LinkError) -> [HostMessage] {
        guard !linkHasEnded else { return [] }
        var ended = false
        let messages = try link.receive(ended: &ended)
        if ended { linkEnded = .now }
        for message in messages {
            if case .hello(let said) = message {
                guard hello == nil else { throw LinkError(description: "a second hello") }
                hello = said
            } else if case .fatal = message {
                continue
            } else if hello == nil {
                throw LinkError(description: "a message before the hello")
            }
        }
        return messages
    }

    /// How it ended, once it has; nil while it lives.
    func reap() -> ExitStatus? {
        switch child.reap() {
        case .exited(let status): .exited(status)
        case .signalled(let signal): .signalled(signal)
        case nil: nil
        }
    }

    /// The last lines it wrote to stderr, redacted.
    var lastLines: [String] { output.lastLines() }
}
