import CFiber
import Glibc
import Linux

/// What fiber_start is asked for.
struct StartRequest: Sendable {
    let configPath: String
    let prefix: String
    let logLevel: String?
    let sink: EventSink?

    /// Checks the strings in the order of the struct. An empty prefix is taken literally: the working directory.
    init(_ options: FiberStartOptions) throws {
        configPath = try Text.required(options.config_path, "config_path")
        let directory = configPath.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let beside = directory.isEmpty ? "." : directory == [""] ? "/" : directory.joined(separator: "/")
        let given = try Text.optional(options.database_prefix) ?? beside
        prefix = given.isEmpty ? "." : given
        logLevel = try Text.optional(options.log_level)
        sink = options.event_callback.map { EventSink(callback: $0, userData: options.event_callback_user_data) }
    }
}

/// Start and stop, and the one start that a process has.
enum Lifecycle {
    /// What later starts find. Global state of the real library survives a stop, so the only clean restart is a new
    /// process.
    private enum Latch {
        case fresh
        case running
        case stopped(Chain)
        /// A start that failed after the root actor was registered.
        case failed
    }

    private static let latch = Lock(Latch.fresh)
    private static let newest = Lock<RunningNode?>(nil)

    /// The node that was started last, also when it is stopped: its counters can still be read.
    static var latest: RunningNode? { newest.withLock { $0 } }

    /// All of fiber_start after its pointer checks.
    static func start(_ request: StartRequest) throws -> OpaquePointer {
        Log.begin(level: request.logLevel)
        let configuration = try Configuration(path: request.configPath, prefix: request.prefix)
        do { for fault in configuration.simulation.faults { try Faults.arm(fault) } } catch let refusal as Refusal {
            throw Refusal.startup("failed to parse config file \(request.configPath): sim.faults: \(refusal.text)")
        }
        try Faults.strike(.fiber_start, .before)
        try Preparation.refuseWhileRunning()
        let directory = try DataDirectory(prefix: request.prefix)
        try takeLatch(configuration.chain)
        do {
            let node = try RunningNode(request, configuration, directory)
            node.begin()
            do { try Faults.strike(.fiber_start, .after) } catch {
                node.end()
                throw error
            }
            newest.withLock { $0 = node }
            return Handles.make(node)
        } catch {
            latch.withLock { $0 = .failed }
            Log.write("start failed: \((error as? Refusal)?.text ?? "\(error)")")
            throw error is Refusal ? error : Refusal.startup("failed to start the network: \(error)")
        }
    }

    /// All of fiber_stop after its pointer check. No callback comes after it has returned.
    static func stop(_ handle: OpaquePointer) throws {
        guard !ThreadState.current.isInCallback else {
            misuse("fiber_stop from an event callback: with the real library it would never return")
        }
        let node = Handles.consume(handle)
        var refusal: (any Error)?
        do { try Faults.strike(.fiber_stop, .before) } catch { refusal = error }
        node.end()
        latch.withLock { $0 = .stopped(node.chain) }
        if Faults.takeAfterStop() { node.breakPromise() }
        try Faults.strike(.fiber_stop, .after)
        if let refusal { throw refusal }
    }

    private static func takeLatch(_ chain: Chain) throws {
        try latch.withLock { latch in
            switch latch {
            case .fresh:
                latch = .running
            case .running, .failed:
                throw Refusal.startup(
                    "runtime thread panicked during startup: called `Result::unwrap()` on an `Err` value: "
                        + "ActorAlreadyRegistered(\"root actor\")")
            case .stopped(chain):
                throw Refusal.startup("failed to init contracts context: Context already initialized")
            case .stopped:
                throw Refusal.startup("cannot restart fiber with a different chain hash in the same process")
            }
        }
    }
}

/// A started node: its threads, its queue and its files.
final class RunningNode: Sendable {
    let chain: Chain
    let counters: Counters
    /// Nil when the program wants no events.
    let events: EventQueue?

    /// How many payment sessions this data directory has begun.
    var paymentsMade: Int { payments.withLock { $0 } }

    /// What a stop gives up: the store, the lock on it, the port.
    private struct Live {
        let node: SimNode
        let directory: DataDirectory
        let listener: Listener
    }
    private let live: Lock<Live?>
    private let payments = Lock(0)
    private let sink: EventSink?
    private let thread = NodeThread()
    private let threads = Lock<[NativeThread]>([])

    init(_ request: StartRequest, _ configuration: Configuration, _ directory: DataDirectory) throws {
        let keyPath = "\(request.prefix)/ckb/key"
        do { _ = try KeyFile.read(path: keyPath) } catch {
            throw Refusal.startup("failed to start ckb actor: Actor panicked during startup '\(error.text)'")
        }
        let secret = try directory.nodeSecret()
        let listener = try Listener(configuration.listeningAddress)
        counters = try Counters(path: "\(request.prefix)/sim-counters")
        sink = request.sink
        let counters = counters
        events = request.sink.map { EventQueue(sink: $0, counters: counters) }
        chain = configuration.chain
        let node = try SimNode(
            configuration, pubkey: .simulated(from: secret), keyPath: keyPath, listening: listener.address,
            store: Store(path: directory.storePath), thread: thread, events: events,
            paymentsMade: payments)
        live = Lock(Live(node: node, directory: directory, listener: listener))
    }

    /// Starts the threads. NetworkStarted usually reaches the program before it has the handle, as with the real node.
    func begin() {
        threads.withLock { $0 = [events?.begin(), thread.begin()].compactMap { $0 } }
        inspectLater { $0.begin() }
        events?.waitForFirst(atMost: .milliseconds(20))
    }

    /// Runs a call on the node's thread, with the faults that are armed for it.
    func run<Result: Sendable>(
        _ call: ABICall, _ body: @escaping @Sendable (SimNode) throws -> Result
    ) throws -> Result {
        try refuseInCallback(call.rawValue)
        try Faults.strike(call, .before)
        let result = try inspect(body)
        try Faults.strike(call, .after)
        return result
    }

    /// Runs something on the node's thread that is no call of the ABI.
    func inspect<Result: Sendable>(_ body: @escaping @Sendable (SimNode) throws -> Result) throws -> Result {
        try refuseInCallback("fiber_sim_control")
        guard let node = live.withLock({ $0?.node }) else { throw Refusal.invalid("simulator: no node is running") }
        return try thread.run { try body(node) }
    }

    /// Stops everything: the queue is emptied, NetworkStopped is the last event, both threads end.
    func end() {
        events?.endEmissions()
        inspectLater { $0.end() }
        thread.stop()
        let threads = threads.withLock { $0 }
        threads.last?.join()
        events?.close()
        if threads.count > 1 { threads.first?.join() }
        live.withLock { $0 = nil }
        Log.write("stopped")
    }

    /// An event when no event may come any more.
    func breakPromise() {
        guard let sink else { return }
        NativeThread {
            pause(.milliseconds(50))
            EventDelivery.call(sink, Array(#"{"kind":"DebugEvent","message":"after fiber_stop"}"#.utf8))
        }.detach()
    }

    private func inspectLater(_ body: @escaping @Sendable (SimNode) -> Void) {
        guard let node = live.withLock({ $0?.node }) else { return }
        thread.post { body(node) }
    }

    private func refuseInCallback(_ name: String) throws {
        guard ThreadState.current.isInCallback else { return }
        Standard.error("panicked: \(name) from an event callback: cannot block the runtime from within the runtime")
        throw Refusal.panicked
    }
}
