import Wire

/// What is asked for: start, stop, restart, shutdown, in every state.
extension Machine {
    mutating func start(_ id: UInt64, _ now: Time) -> [Effect] {
        guard !isShuttingDown else { return [refuseShuttingDown(id)] }
        guard plan == nil || id == Machine.ownRequest else { return [refuseSwitching(id)] }
        switch state {
        case .ready(let host): return [.answer(id: id, .done(state: "ready", run: host.run, changed: false))]
        case .starting, .closing:
            starters.append(id)
            return []
        case .stopped, .backingOff, .failed:
            starters.append(id)
            history.forget()
            return [.disarm(.backoff)] + beginStart(now)
        case .stopping(let host, var ending):
            starters.append(id)
            if ending.next == .stop { ending.next = .start }
            state = .stopping(host, ending)
            return []
        case .ended: return [refuseShuttingDown(id)]
        }
    }

    mutating func stop(_ id: UInt64, _ now: Time) -> [Effect] {
        guard !isShuttingDown else { return [refuseShuttingDown(id)] }
        guard plan == nil || id == Machine.ownRequest else { return [refuseSwitching(id)] }
        switch state {
        case .stopped: return [.answer(id: id, .done(state: "stopped", run: run, changed: false))]
        case .starting(.openingAccount), .starting(.recording), .closing, .backingOff, .failed:
            stoppers.append(id)
            return leaveWithoutHost() + becomeStopped()
        case .starting(.waiting(let host)), .ready(let host):
            stoppers.append(id)
            return askToStop(host, .stop, now)
        case .stopping(let host, var ending):
            stoppers.append(id)
            ending.next = .stop
            state = .stopping(host, ending)
            return []
        case .ended: return [refuseShuttingDown(id)]
        }
    }

    mutating func restart(_ id: UInt64, _ now: Time) -> [Effect] {
        guard !isShuttingDown else { return [refuseShuttingDown(id)] }
        guard plan == nil || id == Machine.ownRequest else { return [refuseSwitching(id)] }
        switch state {
        case .starting(.waiting(let host)), .ready(let host):
            starters.append(id)
            return askToStop(host, .start, now)
        case .stopping(let host, var ending):
            starters.append(id)
            ending.next = .start
            state = .stopping(host, ending)
            return []
        case .stopped, .starting(.openingAccount), .starting(.recording), .closing, .backingOff, .failed:
            return start(id, now)
        case .ended: return [refuseShuttingDown(id)]
        }
    }

    mutating func shutDown(_ now: Time) -> [Effect] {
        if isShuttingDown {
            let fault = Fault(reason: "shutdown", message: "told to end at once", isPermanent: false)
            return kill(.commanded, detail: fault, now)
        }
        isShuttingDown = true
        switch state {
        case .stopped, .starting(.openingAccount), .starting(.recording), .closing, .backingOff, .failed:
            return leaveWithoutHost() + finish()
        case .starting(.waiting(let host)), .ready(let host): return askToStop(host, .shutDown, now)
        case .stopping(let host, var ending):
            ending.next = .shutDown
            state = .stopping(host, ending)
            return []
        case .ended: return []
        }
    }

    /// Gives up a start that has no host yet. A run that was recorded gets its end, so that no run stays open in the journal.
    mutating func leaveWithoutHost() -> [Effect] {
        var effects: [Effect] = [.disarm(.orphan), .disarm(.start), .disarm(.backoff), .disarm(.close)]
        if case .starting(.recording(let run)) = state {
            let exit = LifecycleEvent.nodeExited(
                .commanded, nil, uptime: nil, detail: "stopped before a host was spawned")
            lastExit = exit
            effects.append(.publish(exit, run: run))
        }
        return effects
    }

    func refuseShuttingDown(_ id: UInt64) -> Effect {
        .answer(id: id, .refused(BusError(.shuttingDown, "the supervisor is going down")))
    }
}
