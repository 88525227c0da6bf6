import CFiber
import Glibc
import Linux
import Synchronization

/// The faults that are armed, for calls and for events. Process-wide, since some are armed before there is a node.
enum Faults {
    /// When a fault strikes a call: before the node does anything, or when its work is done and only the answer is
    /// missing.
    enum Moment: String, Sendable { case before, after }

    /// What happens to an event.
    enum EventFault: Sendable {
        /// Something happens first, then the event comes.
        case call(FaultAction)
        /// Other bytes come instead.
        case damage(EventDamage)
        /// It comes ten times at once, from ten threads.
        case tenThreads
    }

    private struct Armed {
        var countdown: Int
        let target: Target
    }
    private enum Target {
        case call(ABICall, FaultAction, Moment)
        case event(EventFault)
    }

    private static let armed = Lock<[Armed]>([])
    // So that the delivery of events takes the lock only when there is something to find.
    private static let eventsArmed = Atomic<Int>(0)
    private static let afterStop = Atomic<Bool>(false)

    /// Arms what one `{"call":…,"nth":…,"do":…}` says.
    static func arm(_ description: FaultDescription) throws {
        guard description.call == "event" else {
            guard let call = ABICall(rawValue: description.call) else {
                throw Refusal.invalid("simulator: no call \"\(description.call)\" to arm a fault for")
            }
            let action = try FaultAction(parsing: description.action, forCall: true)
            armed.withLock {
                $0.append(Armed(countdown: description.nth, target: .call(call, action, description.moment)))
            }
            return
        }
        guard description.moment == .before else {
            throw Refusal.invalid("simulator: a fault of an event has no \"when\"")
        }
        switch description.action {
        case "after-stop": afterStop.store(true, ordering: .releasing)
        case "ten-threads": arm(.tenThreads, description.nth)
        case let name:
            if let damage = EventDamage(rawValue: name) {
                arm(.damage(damage), description.nth)
            } else {
                let action = try FaultAction(parsing: name, forCall: false)
                arm(.call(action), description.nth)
            }
        }
    }

    private static func arm(_ fault: EventFault, _ nth: Int) {
        armed.withLock { $0.append(Armed(countdown: nth, target: .event(fault))) }
        eventsArmed.add(1, ordering: .releasing)
    }

    /// Counts a call, and lets the fault strike whose turn it is.
    static func strike(_ call: ABICall, _ moment: Moment) throws {
        let action = armed.withLock { armed -> FaultAction? in
            take(&armed) { target in
                if case .call(call, let action, moment) = target { action } else { nil }
            }
        }
        action?.strike()
        if case .refuse(let refusal)? = action { throw refusal }
    }

    /// Counts an event, and answers the fault whose turn it is.
    static func takeForEvent() -> EventFault? {
        guard eventsArmed.load(ordering: .acquiring) > 0 else { return nil }
        let fault = armed.withLock { armed in
            take(&armed) { target in if case .event(let fault) = target { fault } else { nil } }
        }
        if fault != nil { eventsArmed.subtract(1, ordering: .releasing) }
        return fault
    }

    /// Whether one event is to come when the node is long stopped.
    static func takeAfterStop() -> Bool { afterStop.exchange(false, ordering: .acquiringAndReleasing) }

    private static func take<Found>(_ armed: inout [Armed], _ match: (Target) -> Found?) -> Found? {
        var found: (index: Int, what: Found)?
        for index in armed.indices {
            guard let what = match(armed[index].target) else { continue }
            armed[index].countdown -= 1
            if armed[index].countdown <= 0 && found == nil { found = (index, what) }
        }
        guard let found else { return nil }
        armed.remove(at: found.index)
        return found.what
    }
}

/// One fault as the configuration or the control call describes it.
struct FaultDescription: Sendable, Equatable {
    /// The function, or `event`.
    var call: String
    /// The how-manieth from now, from 1.
    var nth = 1
    /// What happens.
    var action: String
    /// Before the work (the default) or after it.
    var moment = Faults.Moment.before
}

/// What can happen to a call, or before an event.
enum FaultAction: Sendable, Equatable {
    case hang, abort, segv, exit
    case slow(Duration)
    /// The call is refused.
    case refuse(Refusal)

    /// The action of this name, where it makes sense: an event has no status.
    init(parsing name: String, forCall isCall: Bool) throws {
        switch name {
        case "hang": self = .hang
        case "abort": self = .abort
        case "segv": self = .segv
        case "exit": self = .exit
        case "dead-actor" where isCall: self = .refuse(.invalid(Self.deadActorText))
        case _ where name.hasPrefix("slow:"):
            guard let duration = Duration(parsing: String(name.dropFirst(5))) else {
                throw Refusal.invalid("simulator: \"\(name)\" is no duration; slow:250ms, slow:2s or slow:1m")
            }
            self = .slow(duration)
        case _ where name.hasPrefix("status:") && isCall:
            guard let status = UInt32(name.dropFirst(7)), (1...6).contains(status) else {
                throw Refusal.invalid("simulator: \"\(name)\" is no failure; status:1 to status:6")
            }
            self = .refuse(Self.refusal(FiberFfiStatus(rawValue: status)))
        default:
            let known = !isCall ? "not-json, no-kind, bad-utf8, huge, ten-threads, after-stop" : "status:N, dead-actor"
            throw Refusal.invalid(
                "simulator: unknown fault \"\(name)\"; known are hang, abort, segv, exit, slow:DURATION, \(known)")
        }
    }

    /// What a node says whose actors are dead while its process lives.
    private static let deadActorText =
        "Messaging failed to enqueue the message to the specified actor, the actor is likely terminated"

    private static func refusal(_ status: FiberFfiStatus) -> Refusal {
        switch status {
        case FIBER_FFI_STATUS_PANIC: .panicked
        case FIBER_FFI_STATUS_NOT_READY: Refusal(status, "CKB backend is not ready: \(SimNode.unreadiness.text)")
        default: Refusal(status, "simulator: fault status:\(status.rawValue)")
        }
    }

    /// Does it; a refusal is for the caller to answer.
    func strike() {
        switch self {
        case .hang: FiberSim.hang()
        case .abort:
            Standard.error("fault: abort")
            Glibc.abort()
        case .segv:
            Standard.error("fault: segv")
            // Not a wild read, which a sanitizer or a runtime check would turn into something else.
            signal(SIGSEGV, SIG_DFL)
            raise(SIGSEGV)
        case .exit:
            Standard.error("fault: exit")
            _exit(70)
        case .slow(let duration): pause(duration)
        case .refuse: return
        }
    }
}

/// Bytes that no sound node would hand over.
enum EventDamage: String, Sendable {
    case notJSON = "not-json"
    case noKind = "no-kind"
    case badUTF8 = "bad-utf8"
    case huge

    /// What comes in the place of an event.
    func bytes(insteadOf event: [UInt8]) -> [UInt8] {
        switch self {
        case .notJSON: Array(event.dropLast())
        case .noKind: Array(#"{"simulated":true,"message":"an event without a kind"}"#.utf8)
        case .badUTF8: Array(#"{"kind":"DebugEvent","message":""#.utf8) + [0xC3, 0x28, 0xFF] + Array(#""}"#.utf8)
        case .huge:
            Array(#"{"kind":"DebugEvent","message":""#.utf8)
                + [UInt8](repeating: UInt8(ascii: "x"), count: 9 << 20) + Array(#""}"#.utf8)
        }
    }
}
