import CFiber
import Glibc
import HostLink
import Linux
import Synchronization
import Wire

/// The one thread on which the library is called: start, every call on the handle, stop, strictly one after the other.
///
/// It waits for work and inside native calls without a deadline, since nothing can be done about a native call that
/// hangs: the main thread keeps the deadlines, and ends the process over this thread's head.
final class NativeThread: Sendable {
    /// What the main thread hears of, in order, after `reportWake`.
    enum Report {
        /// `fiber_start` returned and there is a handle.
        case started
        /// There is no node, and there will be none in this process.
        case startFailed(Fatal)
        /// The node is dead inside the live process. The call that showed it has been answered.
        case nodeDied(Fatal)
        /// `fiber_stop` returned (or there was nothing to stop); the text of its failure if it had one.
        case stopped(failure: String?)
        /// A reply could not be sent: the supervisor is gone or takes nothing.
        case linkLost
    }

    private enum Job {
        case start(HostArguments, EventSink)
        case call(id: UInt64, method: String, parameters: JSON)
        case stop
    }

    private let library: Library
    private let calls: [String: NativeCall]
    private let link: HostEnd
    private let jobs = Lock<[Job]>([])
    private let jobWake: WakeDescriptor
    private let reports = Lock<[Report]>([])
    /// Woken with every report.
    let reportWake: WakeDescriptor
    private let isStopping = Atomic<Bool>(false)
    private let current = Lock<String?>(nil)

    init(library: Library, calls: [NativeCall], link: HostEnd) throws(SystemError) {
        self.library = library
        self.calls = Dictionary(uniqueKeysWithValues: calls.map { ($0.description.name, $0) })
        self.link = link
        jobWake = try WakeDescriptor()
        reportWake = try WakeDescriptor()
    }

    /// Starts the thread, and on it the node.
    func start(_ arguments: HostArguments, _ sink: EventSink) throws(SystemError) {
        add(.start(arguments, sink))
        try startThread("native") { self.run() }
    }

    /// Queues a call; its reply is sent when it has been made, or refused because a stop came first.
    func call(id: UInt64, method: String, parameters: JSON) {
        add(.call(id: id, method: method, parameters: parameters))
    }

    /// Lets the running call finish, refuses those that wait, stops the node.
    func stop() {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        add(.stop)
    }

    /// The native function that is running now, by the name the bus knows it by; nil between two.
    var running: String? { current.withLock { $0 } }

    /// The reports since the last time.
    func takeReports() -> [Report] {
        reportWake.clear()
        return reports.withLock { reports in
            defer { reports.removeAll() }
            return reports
        }
    }

    private func add(_ job: Job) {
        jobs.withLock { $0.append(job) }
        jobWake.wake()
    }

    private func report(_ report: Report) {
        reports.withLock { $0.append(report) }
        reportWake.wake()
    }

    private func run() {
        var handle: OpaquePointer?
        while true {
            jobWake.waitForEver()
            let work = jobs.withLock { jobs in
                defer { jobs.removeAll() }
                return jobs
            }
            for job in work { perform(job, &handle) }
        }
    }

    private func perform(_ job: Job, _ handle: inout OpaquePointer?) {
        switch job {
        case .start(let arguments, let sink):
            handle = startNode(arguments, sink)
        case .call(let id, let method, let parameters):
            let made = call(method, parameters, handle)
            if !link.send(.reply(id: id, made.outcome)) { report(.linkLost) }
            guard let failure = made.nodeDied else { return }
            // Not to be used again, nor stopped: what a stop does to a node in this state is anyone's guess. The
            // process ends instead; only now, so that the call has its answer.
            handle = nil
            report(.nodeDied(death(method, failure)))
        case .stop:
            stopNode(&handle)
        }
    }

    private func startNode(_ arguments: HostArguments, _ sink: EventSink) -> OpaquePointer? {
        var strings = CStrings()
        var options = FiberStartOptions()
        options.config_path = strings.hold(arguments.config)
        options.database_prefix = strings.hold(arguments.dataDirectory)
        options.log_level = strings.hold(arguments.logLevel)
        options.event_callback = EventSink.callback
        options.event_callback_user_data = sink.retainedForever()
        var handle: OpaquePointer?
        let failure = natively("fiber_start") { NativeFailure(library.start(&options, &handle), library) }
        strings.release()
        if let failure {
            report(.startFailed(StartFailure.fatal(failure)))
            return nil
        }
        guard let handle else {
            let message = "fiber_start succeeded without a handle; this library does not keep its contract"
            report(.startFailed(Fatal(reason: "start_failed", message: message, isPermanent: false)))
            return nil
        }
        report(.started)
        return handle
    }

    private func call(_ method: String, _ parameters: JSON, _ handle: OpaquePointer?) -> NativeCall.Made {
        func refused(_ code: BusError.Code, _ why: String) -> NativeCall.Made {
            NativeCall.Made(outcome: .failure(BusError(code, why)))
        }
        guard !isStopping.load(ordering: .sequentiallyConsistent) else {
            return refused(.nodeNotRunning, "the node is being stopped; \(method) was not made")
        }
        guard let handle else { return refused(.nodeNotRunning, "the node is not running; \(method) was not made") }
        guard let call = calls[method] else { return refused(.methodNotFound, "the node has no \(quoted(method))") }
        return natively(method) { call.make(library, handle, parameters) }
    }

    private func death(_ method: String, _ failure: NativeFailure) -> Fatal {
        Fatal(
            reason: failure.status == FIBER_FFI_STATUS_PANIC.rawValue ? "panic" : "dead_node",
            message:
                "the node is dead inside its process, as \(method) showed: \(NativeText.shown(failure.text))",
            isPermanent: false)
    }

    private func stopNode(_ handle: inout OpaquePointer?) {
        guard let node = handle else { return report(.stopped(failure: nil)) }
        // Consumed, whatever comes back.
        handle = nil
        let failure = natively("fiber_stop") { NativeFailure(library.stop(node), library) }
        report(.stopped(failure: failure.map { "\($0.statusName): \(NativeText.shown($0.text))" }))
    }

    /// Runs a native function, named for whoever has to say what hangs. No lock is held while it runs.
    private func natively<Result>(_ name: String, _ body: () -> Result) -> Result {
        current.withLock { $0 = name }
        defer { current.withLock { $0 = nil } }
        return body()
    }
}

extension WakeDescriptor {
    /// Waits for a wake-up, and takes it back.
    fileprivate borrowing func waitForEver() {
        var entry = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
        if poll(&entry, 1, -1) > 0 { clear() }
    }
}
