import Wire

/// The way down: stopping, killing, the end of a host and what comes after it.
extension Machine {
    /// Tells a living host to stop; `next` is what comes after.
    mutating func askToStop(_ host: State.Host, _ next: State.Next, _ now: Time) -> [Effect] {
        let cause: ExitCause = next == .close ? .switching : .commanded
        state = .stopping(host, State.Ending(cause: cause, next: next, isKilled: false))
        return [
            .disarm(.start), .disarm(.stable), .dropCalls, .publish(.nodeStopping(cause), run: host.run),
            .askToStop,
            // A second more than the host gives itself, so that its own watchdog, which can say why, comes first.
            .arm(.stop, at: now + settings.stopTimeout + .seconds(1)),
        ]
    }

    /// Kills a living host that has not done what it should.
    mutating func kill(_ cause: ExitCause, detail: Fault, _ now: Time) -> [Effect] {
        switch state {
        case .starting(.waiting(var host)), .ready(var host):
            host.fatal = host.fatal ?? detail
            state = .stopping(host, State.Ending(cause: cause, next: .retry, isKilled: true))
            return [.disarm(.start), .disarm(.stable), .dropCalls, .kill, .arm(.stop, at: now + settings.stopTimeout)]
        case .stopping(var host, var ending):
            host.fatal = host.fatal ?? detail
            ending.isKilled = true
            state = .stopping(host, ending)
            return [.kill, .arm(.stop, at: now + settings.stopTimeout)]
        case .stopped, .starting(.openingAccount), .starting(.recording), .closing, .backingOff, .failed, .ended:
            return []
        }
    }

    mutating func hostExited(_ end: ExitStatus, _ now: Time) -> [Effect] {
        let host: State.Host
        var cause = ExitCause.crash
        var next = State.Next.retry
        switch state {
        case .starting(.waiting(let living)), .ready(let living): host = living
        case .stopping(let living, let ending):
            (host, cause, next) = (living, ending.cause, ending.next)
        case .stopped, .starting(.openingAccount), .starting(.recording), .closing, .backingOff, .failed, .ended:
            return []
        }
        let exit = LifecycleEvent.nodeExited(cause, end, uptime: now - host.spawnedAt, detail: host.fatal?.message)
        lastExit = exit
        let effects: [Effect] = [
            .disarm(.start), .disarm(.stop), .disarm(.stable), .dropCalls, .publish(exit, run: host.run),
        ]
        switch next {
        case .retry:
            let fault = host.fatal ?? Fault(reason: "crash", message: "the host ended by itself", isPermanent: false)
            return effects + retry(after: fault, now)
        case .again:
            restarts += 1
            return effects + beginStart(now)
        case .stop: return effects + becomeStopped()
        case .start:
            history.forget()
            let stopped = answer(&stoppers, .done(state: "stopped", run: host.run, changed: true))
            return effects + stopped + beginStart(now)
        case .shutDown: return effects + finish()
        case .close: return effects + close(now)
        }
    }

    /// Nobody ordered this end: start again as the policy allows.
    mutating func retry(after fault: Fault, _ now: Time) -> [Effect] {
        guard !isShuttingDown else { return finish() }
        if let back = rollBack(fault, now) { return back }
        let settled = settleSwitch(fault)
        guard !fault.isPermanent else { return settled + fail(fault, now) }
        let random = Double(generator.next() >> 11) * 0x1p-53
        switch history.unexpectedEnd(at: now, policy: settings.restart, random: random) {
        case .restart(let delay, let attempt):
            restarts += 1
            state = .backingOff(until: now + delay)
            return settled + [
                .publish(.nodeRestartScheduled(delay: delay, attempt: attempt), run: run),
                .arm(.backoff, at: now + delay),
            ]
        case .giveUp(let count):
            let message =
                "\(fault.message); \(count) restarts within the window of \(milliseconds(settings.restart.window)) ms "
                + "did not help: see the node's log, then call node.start"
            return settled + fail(Fault(reason: fault.reason, message: message, isPermanent: false), now)
        }
    }

    /// Gives up, loudly; a slow retry goes on unless only a person can help.
    mutating func fail(_ fault: Fault, _ now: Time) -> [Effect] {
        if let back = rollBack(fault, now) { return back }
        let every = settings.restart.thenEvery
        let retryAfter: Duration? = fault.isPermanent || every == .zero ? nil : every
        state = .failed(reason: fault.reason, message: fault.message)
        let codes: [String: BusError.Code] = ["conflict": .conflict, "storage": .storage]
        let error = BusError(
            codes[fault.reason] ?? .nodeNotRunning, fault.message, ["reason": .string(fault.reason), "state": "failed"])
        var effects = settleSwitch(fault) + answer(&starters, .refused(error))
        effects += answer(&stoppers, .done(state: "failed", run: run, changed: false))
        if account == .open {
            effects.append(
                .publish(.nodeFailed(reason: fault.reason, message: fault.message, retryAfter: retryAfter), run: run))
        }
        if let retryAfter { effects.append(.arm(.backoff, at: now + retryAfter)) }
        return effects
    }

    mutating func becomeStopped() -> [Effect] {
        state = .stopped
        let stopped = answer(&stoppers, .done(state: "stopped", run: run, changed: true))
        return stopped + answer(&starters, .refused(BusError(.conflict, "the node was stopped before it was ready")))
    }

    mutating func finish() -> [Effect] {
        state = .ended
        let refusal = Answer.refused(BusError(.shuttingDown, "the supervisor is going down"))
        let answers = answer(&starters, refusal) + answerSwitch(refusal)
        return answer(&stoppers, .done(state: "stopped", run: run, changed: true)) + answers + [.end]
    }

    mutating func cameDue(_ timer: Timer, _ now: Time) -> [Effect] {
        switch timer {
        case .orphan:
            guard case .starting(.openingAccount(let orphan?)) = state else { return [] }
            // Again after another while: a process in an uninterruptible sleep takes its time even to be killed.
            return [.killOrphan(pid: orphan), .arm(.orphan, at: now + settings.stopTimeout)]
        case .start: return startTimedOut(now)
        case .stop:
            guard case .stopping(_, let ending) = state else { return [] }
            let fault = Fault(
                reason: "stop_timed_out", message: "the host did not end within stop_timeout and was killed",
                isPermanent: false)
            return kill(ending.cause, detail: fault, now)
        case .backoff:
            switch state {
            case .backingOff: return beginStart(now)
            case .failed:
                restarts += 1
                return beginStart(now)
            case .stopped, .starting, .ready, .stopping, .closing, .ended: return []
            }
        case .close: return closeTimedOut(now)
        case .choice: return plan == nil && !isShuttingDown ? [.storePlan(nil, active: profile)] : []
        case .stable:
            if case .ready = state { history.forget() }
            return []
        }
    }

    private mutating func startTimedOut(_ now: Time) -> [Effect] {
        switch state {
        case .starting(.waiting):
            let fault = Fault(
                reason: "start_timed_out",
                message: "the node was not ready within start_timeout and its host was killed",
                isPermanent: false)
            return kill(.hang, detail: fault, now)
        case .starting(.recording(let run)):
            let fault = Fault(
                reason: "storage", message: "the start could not be journaled within start_timeout: look at the disk",
                isPermanent: false)
            let exit = LifecycleEvent.nodeExited(.hang, nil, uptime: nil, detail: fault.message)
            lastExit = exit
            return [.publish(exit, run: run)] + retry(after: fault, now)
        case .stopped, .starting(.openingAccount), .ready, .stopping, .closing, .backingOff, .failed, .ended: return []
        }
    }
}
