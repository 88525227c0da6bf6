import Wire

/// Switching: one profile's node is stopped, its account closed, another's opened and started; and back when that does not come up. The node's own
/// states do the work; the plan says what their ends lead to.
extension Machine {
    mutating func switchTo(_ to: Profile, _ onFailure: SwitchPlan.OnFailure, _ id: UInt64, _ now: Time) -> [Effect] {
        guard !isShuttingDown else { return [refuseShuttingDown(id)] }
        guard plan == nil else { return [refuseSwitching(id)] }
        guard to != profile else { return start(id, now) }
        let plan = SwitchPlan(from: profile, to: to, onFailure: onFailure, step: .stopping)
        self.plan = plan
        switcher = id
        return [.storePlan(plan, active: profile)]
    }

    /// The step that the plan has come to is on disk: take it.
    mutating func planStored(_ now: Time) -> [Effect] {
        guard let plan else { return [] }
        switch plan.step {
        case .stopping: return [.announce(.started(plan))] + leave(now)
        case .starting, .rollingBack: return takeUp(plan.resumesWith, now)
        }
    }

    /// The disk does not take a step. Before anything was stopped the switch is off and nothing has changed; later the old profile is brought
    /// back. That the switch is over is tried again until it is on disk: a supervisor that came before that would begin with another profile
    /// than the one that runs.
    mutating func planRefused(_ fault: Fault, _ now: Time) -> [Effect] {
        guard var plan else { return isShuttingDown ? [] : [.arm(.choice, at: now + .seconds(30))] }
        switch plan.step {
        case .stopping:
            self.plan = nil
            return answerSwitch(.refused(BusError(.storage, fault.message)))
        case .starting, .rollingBack:
            switchFault = switchFault ?? fault
            plan.step = .rollingBack
            self.plan = plan
            return takeUp(plan.from, now)
        }
    }

    private mutating func takeUp(_ profile: Profile, _ now: Time) -> [Effect] {
        self.profile = profile
        history.forget()
        run = 0
        return beginStart(now)
    }

    /// Gives up whatever the old profile's node is doing.
    private mutating func leave(_ now: Time) -> [Effect] {
        switch state {
        case .starting(.waiting(let host)), .ready(let host):
            let refused = BusError(.switching, "a switch began before the node was ready")
            return answer(&starters, .refused(refused)) + askToStop(host, .close, now)
        case .stopping(let host, var ending):
            ending.next = .close
            state = .stopping(host, ending)
            return []
        case .stopped, .starting(.openingAccount), .starting(.recording), .closing, .backingOff, .failed:
            return leaveWithoutHost() + close(now)
        case .ended: return []
        }
    }

    /// Closes the account that is in use, then goes on with the plan.
    mutating func close(_ now: Time) -> [Effect] {
        let refused = Answer.refused(BusError(.switching, "a switch began"))
        let answers = answer(&starters, refused) + answer(&stoppers, .done(state: "stopped", run: run, changed: true))
        switch account {
        case .closed: return answers + accountClosed(now)
        case .open:
            account = .closing
            state = .closing
            return answers + [.closeAccount, .arm(.close, at: now + settings.stopTimeout)]
        case .closing:
            state = .closing
            return answers + [.arm(.close, at: now + settings.stopTimeout)]
        }
    }

    mutating func accountClosed(_ now: Time) -> [Effect] {
        account = .closed
        guard !isShuttingDown else { return state == .ended ? [] : finish() }
        guard var plan else { return state == .closing ? [.disarm(.close)] + beginStart(now) : [] }
        // On the way there the new profile comes next; on the way back, or when something has failed already, the old one.
        plan.step = plan.step == .stopping && switchFault == nil ? .starting : .rollingBack
        self.plan = plan
        return [.disarm(.close), .storePlan(plan, active: plan.resumesWith)]
    }

    /// The last events of the account do not reach the disk in time: whoever waits for the switch is told, and it goes back once they do.
    mutating func closeTimedOut(_ now: Time) -> [Effect] {
        guard case .closing = state else { return [] }
        let fault = Fault(
            reason: "storage", message: "the last events of account \(profile) do not reach the disk: look at it",
            isPermanent: false)
        let again = Effect.arm(.close, at: now + settings.stopTimeout)
        guard let plan else { return [again] }
        switchFault = switchFault ?? fault
        return [again] + answerSwitch(.refused(failure(plan, fault, now: profile)))
    }

    /// The node of a switch is ready: there, or back again.
    mutating func switchArrived(_ run: Int64) -> [Effect] {
        guard let plan else { return [] }
        self.plan = nil
        let store = Effect.storePlan(nil, active: profile)
        guard plan.step == .rollingBack else {
            return [store, .announce(.completed(plan, run: run))]
                + answerSwitch(.done(state: "ready", run: run, changed: true))
        }
        // A plan that an earlier supervisor left names no fault any more.
        let fault = switchFault ?? Fault(reason: "interrupted", message: "the supervisor was lost", isPermanent: false)
        switchFault = nil
        return [store, .announce(.failed(plan, fault, now: profile))]
            + answerSwitch(.refused(failure(plan, fault, now: profile)))
    }

    /// A start within a switch has failed and its plan is to go back: does that. nil: there is no such plan.
    mutating func rollBack(_ fault: Fault, _ now: Time) -> [Effect]? {
        guard let plan, plan.step == .starting, plan.onFailure == .rollback, !isShuttingDown else { return nil }
        switchFault = fault
        return [.disarm(.start)] + close(now)
    }

    /// A start within a switch has failed and there is nowhere to go back to: the switch ends here, and the restart policy decides about the node.
    mutating func settleSwitch(_ fault: Fault) -> [Effect] {
        guard let plan, !isShuttingDown else { return [] }
        let first = switchFault ?? fault
        self.plan = nil
        switchFault = nil
        return [.storePlan(nil, active: profile), .announce(.failed(plan, first, now: profile))]
            + answerSwitch(.refused(failure(plan, first, now: profile)))
    }

    /// What the caller of a failed switch is told.
    func failure(_ plan: SwitchPlan, _ fault: Fault, now: Profile) -> BusError {
        BusError(
            .switchFailed, "the switch to \(plan.to) failed: \(fault.message); the profile is \(now) now",
            ["reason": .string(fault.reason), "network": .string(now.network), "account": .string(now.account)])
    }

    mutating func answerSwitch(_ answer: Answer) -> [Effect] {
        defer { switcher = nil }
        return switcher.map { [.answer(id: $0, answer)] } ?? []
    }

    func refuseSwitching(_ id: UInt64) -> Effect {
        .answer(id: id, .refused(BusError(.switching, "a switch is on; try again after it")))
    }
}
