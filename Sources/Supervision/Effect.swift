import Wire

/// What the supervisor is to do; carried out in order.
public enum Effect: Sendable, Equatable {
    /// Take the lock of the machine's profile, open its journal, journal what its ring still holds. Answered by an `account…` input.
    case openAccount
    /// Journal what is on its way, close the journal, let the lock go. Answered by `accountClosed`.
    case closeAccount
    /// Put this plan (nil: that there is none) and this profile as the chosen one on disk. Answered by `planStored` or `planRefused`.
    case storePlan(SwitchPlan?, active: Profile)
    /// Publish what a switch has come to, after everything that is on its way.
    case announce(SwitchNews)
    /// Watch the orphan; answered by `orphanEnded`.
    case watchOrphan(pid: Int32)
    /// Kill the orphan.
    case killOrphan(pid: Int32)
    /// Journal NodeStarting as the beginning of this run; answered by `startRecorded`.
    case recordStart(run: Int64, attempt: Int)
    /// Spawn a host for this run; answered by `spawned` or `spawnFailed`.
    case spawn(run: Int64)
    /// Tell the host to stop its node and end.
    case askToStop
    /// Send KILL to the host.
    case kill
    /// Let a timer come due.
    case arm(Timer, at: Time)
    /// Forget a timer.
    case disarm(Timer)
    /// Journal and publish a lifecycle event of this run.
    case publish(LifecycleEvent, run: Int64)
    /// Answer a request.
    case answer(id: UInt64, Answer)
    /// No call can be made any more: refuse those that wait, and say of the one that runs what can be said.
    case dropCalls
    /// All is down: end the supervisor.
    case end
}

/// What is told of a switch on the bus's own topics.
public enum SwitchNews: Sendable, Equatable {
    /// It has begun.
    case started(SwitchPlan)
    /// The new node is ready.
    case completed(SwitchPlan, run: Int64)
    /// It has failed; this profile is the one now.
    case failed(SwitchPlan, Fault, now: Profile)

    /// The kind it is published under.
    public var kind: String {
        switch self {
        case .started: "SwitchStarted"
        case .completed: "SwitchCompleted"
        case .failed: "SwitchFailed"
        }
    }

    /// The payload.
    public var payload: JSON {
        switch self {
        case .started(let plan): return plan.ends
        case .completed(let plan, let run): return plan.ends.with("run", .integer(run))
        case .failed(let plan, let fault, let now):
            return plan.ends.with("reason", .string(fault.reason)).with("message", .string(fault.message))
                .with("now", .string(now.description))
        }
    }
}

/// What a request for the node comes to.
public enum Answer: Sendable, Equatable {
    /// Done; `changed` is false when it was so already.
    case done(state: String, run: Int64, changed: Bool)
    /// Refused or failed.
    case refused(BusError)
}

/// A lifecycle event: published under the source `supervisor`, journaled in the account's own sequence.
public enum LifecycleEvent: Sendable, Equatable {
    /// A host is about to be spawned.
    case nodeStarting(attempt: Int)
    /// The node has started.
    case nodeReady(pid: Int32, startup: Duration)
    /// The node was told to stop.
    case nodeStopping(ExitCause)
    /// The host has ended.
    case nodeExited(ExitCause, ExitStatus?, uptime: Duration?, detail: String?)
    /// The next start is due after a delay.
    case nodeRestartScheduled(delay: Duration, attempt: Int)
    /// No start will be tried, or only slowly.
    case nodeFailed(reason: String, message: String, retryAfter: Duration?)
    /// A native call does not come back.
    case nodeUnresponsive(method: String, killed: Bool)

    /// The kind it is published under.
    public var kind: String {
        switch self {
        case .nodeStarting: "NodeStarting"
        case .nodeReady: "NodeReady"
        case .nodeStopping: "NodeStopping"
        case .nodeExited: "NodeExited"
        case .nodeRestartScheduled: "NodeRestartScheduled"
        case .nodeFailed: "NodeFailed"
        case .nodeUnresponsive: "NodeUnresponsive"
        }
    }

    /// The payload; durations in milliseconds.
    public var payload: JSON {
        switch self {
        case .nodeStarting(let attempt): return ["attempt": .integer(Int64(attempt))]
        case .nodeReady(let pid, let startup):
            return ["pid": .integer(Int64(pid)), "startup_ms": .integer(milliseconds(startup))]
        case .nodeStopping(let cause): return ["cause": .string(cause.rawValue)]
        case .nodeExited(let cause, let end, let uptime, let detail):
            var payload: JSON = ["cause": .string(cause.rawValue), "exit_code": .null, "signal": .null]
            switch end {
            case .exited(let code): payload = payload.with("exit_code", .integer(Int64(code)))
            case .signalled(let signal): payload = payload.with("signal", .integer(Int64(signal)))
            case nil: break
            }
            payload = payload.with("uptime_ms", uptime.map { .integer(milliseconds($0)) } ?? .null)
            return detail.map { payload.with("detail", .string($0)) } ?? payload
        case .nodeRestartScheduled(let delay, let attempt):
            return ["delay_ms": .integer(milliseconds(delay)), "attempt": .integer(Int64(attempt))]
        case .nodeFailed(let reason, let message, let retryAfter):
            return [
                "reason": .string(reason), "message": .string(message),
                "retry_ms": retryAfter.map { .integer(milliseconds($0)) } ?? .null,
            ]
        case .nodeUnresponsive(let method, let killed): return ["method": .string(method), "killed": .bool(killed)]
        }
    }
}

func milliseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
}
