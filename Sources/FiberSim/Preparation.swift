import CFiber
import Glibc
import Linux

/// Where the course of a preparation goes.
struct PrepareSink: @unchecked Sendable {
    // Safe: the pointer is only handed back to the program, which keeps it valid until the last call has returned.
    let callback: fiber_ckb_prepare_callback
    let userData: UnsafeMutableRawPointer?

    /// One call, with a copy of the text that is gone afterwards.
    func report(_ status: FiberFfiStatus, _ result: JSON) {
        guard let text = strdup(result.text) else { misuse("out of memory") }
        callback(status, text, userData)
        Spoiled.discard(text, count: strlen(text))
    }
}

/// Preparation of the chain backend. Without `sim.prepare` the library is one with an external node, which has nothing
/// to prepare and does not look at the configuration; with it, one with an embedded light client that has to catch up.
enum Preparation {
    private enum State { case none, running, ready }
    private static let state = Lock(State.none)

    /// Starts to prepare; everything after the checks goes to the callback, on a thread of its own.
    static func begin(_ request: StartRequest, from height: UInt64?, _ sink: PrepareSink) throws {
        Log.begin(level: request.logLevel)
        guard let section = try? Configuration(path: request.configPath, prefix: request.prefix).simulation.prepare
        else {
            NativeThread {
                sink.report(
                    FIBER_FFI_STATUS_OK,
                    ["ready": .bool(true), "mode": "external_rpc", "skipped": .bool(true), "status": "ready"])
            }.detach()
            return
        }
        let (configuration, key) = try configurationAndKey(request)
        try state.withLock { state in
            switch state {
            case .running: throw Refusal.invalid("CKB preparation is already in progress")
            case .none, .ready: state = .running
            }
        }
        let address = FundingLock(key: key).address(on: configuration.chain)
        let tip = configuration.simulation.chain.tip
        NativeThread { run(section, from: height, address: address, tip: tip, sink) }.detach()
    }

    /// What fiber_start says while a preparation is under way.
    static func refuseWhileRunning() throws {
        guard state.withLock({ $0 == .running }) else { return }
        throw Refusal.startup(
            "CKB is still preparing; wait for the preparation callback before starting Fiber")
    }

    /// What the calls before a start read. A missing key or `ckb` section is a panic in the real library.
    static func configurationAndKey(_ request: StartRequest) throws -> (Configuration, key: [UInt8]) {
        let configuration: Configuration
        do { configuration = try Configuration(path: request.configPath, prefix: request.prefix) } catch {
            guard let refusal = error as? Refusal, !refusal.text.contains("panicked") else { throw Refusal.panicked }
            throw Refusal.invalid(refusal.text)
        }
        do { return (configuration, try KeyFile.read(path: "\(request.prefix)/ckb/key")) } catch {
            guard !error.isMissing else { throw Refusal.panicked }
            throw Refusal.invalid("failed to read the CKB funding key: \(error.text)")
        }
    }

    private static func run(
        _ section: PrepareSection, from height: UInt64?, address: String, tip: Int, _ sink: PrepareSink
    ) {
        func progress(_ status: String, _ fields: [String: JSON] = [:]) {
            let common: [String: JSON] = [
                "ready": .bool(false), "mode": "light_client", "status": .string(status),
            ]
            sink.report(FIBER_FFI_STATUS_OK, .object(common.merging(fields) { $1 }))
            pause(section.every)
        }
        func network(_ peers: Int, _ height: Int) -> [String: JSON] {
            [
                "connected_peers": JSON(peers), "required_peers": .integer(4), "tip_block_number": JSON(height),
                "tip_is_current": .bool(height == tip),
            ]
        }
        progress("initializing")
        progress(
            "wallet_birthday",
            [
                "address": .string(address), "history_start_block": JSON(Int(clamping: height ?? 0)),
                "source": .string(height == nil ? "default_genesis" : "external_discovery"),
            ])
        progress("connecting", network(1, 0))
        progress("syncing_headers", network(4, tip))
        for step in 1...section.steps {
            let begun = Int(clamping: height ?? 0)
            progress(
                "syncing_scripts",
                [
                    "tip_block_number": JSON(tip), "script_count": .integer(1),
                    "slowest_script_block_number": JSON(begun + max(0, tip - begun) / section.steps * step),
                ])
        }
        // The state changes before the last call, in which the program may start the node or prepare again.
        if let reason = section.failure {
            state.withLock { $0 = .none }
            sink.report(
                FIBER_FFI_STATUS_STARTUP_FAILED,
                [
                    "ready": .bool(false), "mode": "light_client", "status": "failed", "error": .string(reason),
                ])
        } else {
            state.withLock { $0 = .ready }
            sink.report(
                FIBER_FFI_STATUS_OK,
                ["ready": .bool(true), "mode": "light_client", "skipped": .bool(false), "status": "ready"])
        }
    }
}

/// `sim.prepare`: how the embedded light client catches up.
struct PrepareSection: Sendable {
    /// How often it tells of the last part.
    var steps = 5
    /// How long it is from one call to the next.
    var every = Duration.milliseconds(100)
    /// What it fails with in the end, if it does.
    var failure: String?

    init(_ section: ConfigurationReader) throws {
        try section.refuseUnknown(besides: ["steps", "every", "fail"])
        if let member = section.optional("steps") {
            steps = try member.number()
            guard (1...10_000).contains(steps) else { throw member.fault("expected 1 to 10000") }
        }
        if let member = section.optional("every") {
            guard let duration = Duration(parsing: try member.text()) else {
                throw member.fault("no duration; write 200ms, 2s or 1m")
            }
            every = duration
        }
        failure = try section.optional("fail")?.text()
    }
}
