import Bus
import HostLink
import Linux
import Supervision
import Wire

/// Native calls on their way to the host: one at a time, in the order they came, because calls on the handle are serialised. Used by the main thread.
struct CallQueue {
    /// The call that the host works on.
    private struct Running {
        let id: UInt64
        let request: PendingRequest
        let since: Instant
        var isSaidSlow = false
        var isSaidHung = false
    }

    private var waiting: [PendingRequest] = []
    private var first = 0
    private var running: Running?
    private var lastID: UInt64 = 0
    let callTimeout: Duration
    let hangTimeout: Duration

    init(callTimeout: Duration, hangTimeout: Duration) {
        self.callTimeout = callTimeout
        self.hangTimeout = hangTimeout
    }

    /// Adds a call at the end.
    mutating func add(_ request: PendingRequest) { waiting.append(request) }

    /// The next call to send, when none runs. Calls whose caller has given up are left out: they were never made.
    mutating func next() -> SupervisorMessage? {
        guard running == nil else { return nil }
        while first < waiting.count {
            let request = waiting[first]
            first += 1
            guard request.claim() else { continue }
            if first == waiting.count { clear() }
            lastID += 1
            running = Running(id: lastID, request: request, since: .now)
            return .call(id: lastID, method: request.method, parameters: request.parameters)
        }
        clear()
        return nil
    }

    /// Takes an outcome; false when the host answers a call that does not run.
    mutating func finish(_ id: UInt64, _ outcome: CallOutcome) -> Bool {
        guard let call = running, call.id == id else { return false }
        running = nil
        switch outcome {
        case .result(let text): call.request.answer(.verbatim(text))
        case .failure(let error): call.request.answer(.failure(error))
        }
        return true
    }

    /// When the running call becomes slow, or hung; nil once it was said.
    var deadline: Instant? {
        guard let running, !running.isSaidHung else { return nil }
        return running.since + (running.isSaidSlow ? hangTimeout : callTimeout)
    }

    /// What the machine is to be told at `now`.
    mutating func overdue(at now: Instant) -> Input? {
        guard var call = running, let deadline, now >= deadline else { return nil }
        call.isSaidHung = now >= call.since + hangTimeout
        call.isSaidSlow = true
        running = call
        return call.isSaidHung ? .callHung(method: call.request.method) : .callSlow(method: call.request.method)
    }

    /// The node is gone, or going: what waits is refused, and of what ran is said what can be said.
    mutating func drop(runningToo: Bool) {
        for request in waiting[first...] where request.claim() {
            request.answer(.failure(CallQueue.notRunning("stopping")))
        }
        clear()
        guard runningToo, let call = running else { return }
        running = nil
        let description = call.request.description
        guard description.effect != .read else {
            call.request.answer(.failure(CallQueue.notRunning("the node ended during the call")))
            return
        }
        let find: JSON = description.find.map { .string($0) } ?? .null
        let tell = description.find.map { "; \($0) tells" } ?? ""
        call.request.answer(
            .failure(
                BusError(
                    .outcomeUnknown,
                    "the node ended during \(description.name): it may or may not have happened\(tell)",
                    ["find": find])))
    }

    private mutating func clear() {
        waiting.removeAll(keepingCapacity: waiting.capacity <= 1024)
        first = 0
    }

    /// The refusal of a call that no node can take.
    static func notRunning(_ state: String) -> BusError {
        BusError(
            .nodeNotRunning, "no node runs that could take the call (\(state)); see bus.status",
            ["state": .string(state)])
    }
}
