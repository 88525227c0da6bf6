// Bus: the two sockets that clients see. Events go out through an XPUB, commands come in through a ROUTER, both owned
// by one thread of the bus; other threads hand it events and replies through a queue and never touch a socket. Start
// here; then read BusThread.swift (a turn of that thread), Publisher.swift, CommandServer.swift and
// PendingRequest.swift.

import Glibc
import Linux
import Wire

/// The bus: publishes events, takes commands. Made, it listens; let go or shut down, it is gone.
public final class Bus: Sendable {
    /// What the bus thread works with.
    struct Parts: Sendable {
        let settings: BusSettings
        let catalog: MethodCatalog
        let figures: Figures
        let status: @Sendable () -> JSON
        let version: JSON
        let deliver: @Sendable (PendingRequest) -> Void
    }

    private let parts: Parts
    private let inbox: Inbox
    private let ended: Ending

    /// Binds everything before it returns, or nothing: then the error names the endpoint, the reason and what to do.
    ///
    /// - Parameters:
    ///   - status: the snapshot that `bus.status` answers, to which `subscribers`, `clients` and `handshake_failures`
    ///     are added. Called on the bus thread for every such request and every heartbeat, so it must answer at once.
    ///   - version: the result of `bus.version`.
    ///   - deliver: takes every checked request that the bus does not answer itself. Called on the bus thread, so it
    ///     must not wait.
    public init(
        settings: BusSettings, status: @escaping @Sendable () -> JSON, version: JSON,
        deliver: @escaping @Sendable (PendingRequest) -> Void
    ) throws(BusSetupError) {
        let descriptors = DescriptorLimit.raise()
        guard descriptors >= settings.minDescriptors else {
            throw BusSetupError(
                .descriptors, endpoint: "",
                reason: "this process may open \(descriptors) files, and the bus needs \(settings.minDescriptors)",
                hint: "raise the hard limit (ulimit -Hn, LimitNOFILE=)")
        }
        parts = Parts(
            settings: settings, catalog: MethodCatalog(version: version["version"]?.text ?? ""), figures: Figures(),
            status: status, version: version,
            deliver: deliver)
        do {
            inbox = try Inbox(byteLimit: settings.maxQueuedEventBytes)
            ended = try Ending()
        } catch { throw .system("", error) }
        let start = try Start()
        let (parts, inbox, ended) = (parts, inbox, ended)
        do {
            try startThread("bus") {
                Bus.run(parts, inbox, start)
                inbox.close()
                ended.signal.wake()
            }
        } catch { throw .system("", error) }
        try start.wait()
    }

    deinit { inbox.end(by: .now) }

    // By its return everything the thread owned is gone.
    private static func run(_ parts: Parts, _ inbox: Inbox, _ start: Start) {
        let thread: BusThread
        do { thread = try BusThread(parts, inbox) } catch { return start.tell(.failure(error)) }
        start.tell(.success(()))
        thread.run()
    }

    /// Publishes a batch after everything handed over before it. Waits only while more than `maxQueuedEventBytes` are
    /// queued, at most `publishTimeout`; false when it was dropped for that or because the bus has ended: its events
    /// are in the journal, and the head in the next heartbeat tells subscribers that they missed something.
    @discardableResult
    public func publish(_ batch: EventBatch) -> Bool {
        let isQueued = inbox.publish(batch, timeout: parts.settings.publishTimeout)
        if !isQueued { parts.figures.change { $0.batchesDropped += 1 } }
        return isQueued
    }

    /// Publishes `bus/<kind>`, which no journal holds, after everything handed over before it.
    public func announce(kind: String, payload: JSON) { inbox.order(.announce(kind: kind, payload: payload)) }

    /// From now on heartbeats tell the position of this journal, from `head` on; `run` is the node's start. For one
    /// that is open, a new run or epoch; its head does not go back within an epoch.
    public func openJournal(profile: Profile, epoch: String, head: Int64, run: Int64) {
        inbox.order(.openJournal(profile, epoch: epoch, head: head, run: run))
    }

    /// No more heartbeats for this journal.
    public func closeJournal(profile: Profile) { inbox.order(.closeJournal(profile)) }

    /// Sets which methods of a source (`fiber`) can be called, from the next request on. Empty: its node is not up, and
    /// its methods are answered `node_not_running`. A source that was never described is unknown, and so are its
    /// methods.
    public func describe(source: String, _ methods: [MethodDescription]) {
        parts.catalog.describe(source: source, methods)
    }

    /// Sets what calls of a source whose node is not up are answered; nil: `node_not_running`.
    public func explainAbsence(_ error: BusError?) { parts.catalog.explainAbsence(error) }

    /// From the next request on everything but `bus.ping`, `bus.version` and `bus.status` is refused with this error;
    /// nil: no longer.
    public func refuse(with error: BusError?) { parts.catalog.refuse(with: error) }

    /// Publishes what is queued, sends what replies there are, answers `shutting_down` to whoever else waits, closes
    /// the sockets and takes their files away. True when all that was done by the time it returns, which is at most a
    /// second after `within`.
    @discardableResult
    public func shutDown(within time: Duration) -> Bool {
        refuse(with: BusError(.shuttingDown, "the supervisor is going down"))
        inbox.end(by: .now + time)
        return ended.wait(time + .seconds(1))
    }

    /// Connections to the event sockets that stand now.
    public var subscribers: Int { parts.figures.now.subscribers }
    /// Connections to the command sockets that stand now.
    public var clients: Int { parts.figures.now.clients }
    /// Connections that failed to prove that they speak ZMTP.
    public var handshakeFailures: Int { parts.figures.now.handshakeFailures }
    /// Connections that were shut down because a limit was passed.
    public var connectionsCut: Int { parts.figures.now.connectionsCut }
    /// Batches not published because too much was queued for too long.
    public var batchesDropped: Int { parts.figures.now.batchesDropped }
    /// The last failure of libzmq inside the bus, which none should be; nil: none so far.
    public var lastFault: String? {
        let counts = parts.figures.now
        return counts.faults > 0 ? counts.lastFault : nil
    }
}

/// Tells whoever waits that the thread is through. Stays told.
private final class Ending: Sendable {
    let signal: WakeDescriptor

    init() throws(SystemError) { signal = try WakeDescriptor() }

    func wait(_ time: Duration) -> Bool {
        let deadline = Instant.now + time
        var item = pollfd(fd: signal.raw, events: Int16(POLLIN), revents: 0)
        while true {
            let count = poll(&item, 1, deadline.millisecondsFromNow())
            if count == 1 { return true }
            if count == 0 || errno != EINTR { return false }
        }
    }
}

/// How the thread's set-up went.
private final class Start: Sendable {
    private let result = Lock<Result<Void, BusSetupError>?>(nil)
    private let ending: Ending

    init() throws(BusSetupError) {
        do { ending = try Ending() } catch { throw .system("", error) }
    }

    func tell(_ value: Result<Void, BusSetupError>) {
        result.withLock { $0 = value }
        ending.signal.wake()
    }

    func wait() throws(BusSetupError) {
        guard ending.wait(.seconds(30)), let value = result.withLock({ $0 }) else {
            throw BusSetupError(
                .system, endpoint: "", reason: "the sockets were not bound within 30 s",
                hint: "see whether their file system hangs")
        }
        try value.get()
    }
}
