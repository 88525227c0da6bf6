import Wire

/// The supervisor's decisions: `handle` takes an input and answers what to do. Total: every state knows every input.
public struct Machine: Sendable, Equatable {
    /// The deadlines and the restart policy.
    public struct Settings: Sendable, Equatable {
        /// From recording a start to ready.
        public var startTimeout: Duration
        /// From the order to stop to the end of the host; also what an orphan is given.
        public var stopTimeout: Duration
        /// When and how often to start again.
        public var restart: RestartPolicy

        /// Settings of their parts.
        public init(startTimeout: Duration, stopTimeout: Duration, restart: RestartPolicy) {
            self.startTimeout = startTimeout
            self.stopTimeout = stopTimeout
            self.restart = restart
        }
    }

    /// Id of a request that nobody waits for: the supervisor's own first start.
    public static let ownRequest: UInt64 = 0

    /// What runs, or is to run.
    public internal(set) var profile: Profile
    /// The switch that is on; nil: none.
    public internal(set) var plan: SwitchPlan?
    /// Where the node is in its life.
    public internal(set) var state: State = .stopped
    /// Which start of the node this is or was last.
    public internal(set) var run: Int64 = 0
    /// How many times a host was started again after an end that nobody ordered, since the supervisor began.
    public internal(set) var restarts: Int64 = 0
    /// How the last host ended.
    public internal(set) var lastExit: LifecycleEvent?

    let settings: Settings
    var generator: SeededGenerator
    var history = RestartHistory()
    var account = AccountState.closed
    var isShuttingDown = false
    /// Who waits for ready, and who for stopped.
    var starters: [UInt64] = []
    var stoppers: [UInt64] = []
    /// Who waits for the switch, and why its first start failed.
    var switcher: UInt64?
    var switchFault: Fault?

    /// What is known of the profile's account.
    enum AccountState: Sendable, Equatable {
        /// Its lock is not ours.
        case closed
        /// Lock, ring and journal are ours.
        case open
        /// Its last events are on their way to the disk, and nothing can be begun until they are there.
        case closing
    }

    /// A machine with no host. `plan`: a switch that an earlier supervisor left, in the step `starting`. `seed` decides the jitter.
    public init(settings: Settings, profile: Profile, plan: SwitchPlan? = nil, seed: UInt64) {
        precondition(plan == nil || plan?.step == .starting, "only a switch that was going forward is gone on with")
        self.settings = settings
        self.profile = profile
        self.plan = plan
        generator = SeededGenerator(seed: seed)
    }

    /// Takes one input at a time and answers what to do, in order.
    public mutating func handle(_ input: Input, at now: Time) -> [Effect] {
        switch input {
        case .request(.start, let id): return start(id, now)
        case .request(.stop, let id): return stop(id, now)
        case .request(.restart, let id): return restart(id, now)
        case .switchTo(let profile, let onFailure, let id): return switchTo(profile, onFailure, id, now)
        case .planStored: return planStored(now)
        case .planRefused(let fault): return planRefused(fault, now)
        case .accountClosed: return accountClosed(now)
        case .shutDown: return shutDown(now)
        case .accountOpened(let lastRun): return accountOpened(lastRun, now)
        case .accountHeldByOrphan(let pid): return accountHeld(pid, now)
        case .orphanEnded: return orphanEnded()
        case .accountRefused(let fault): return accountRefused(fault, now)
        case .startRecorded: return startRecorded()
        case .spawned(let pid): return spawned(pid, now)
        case .spawnFailed(let fault): return spawnFailed(fault, now)
        case .hostReady: return hostReady(now)
        case .hostFatal(let fault): return hostFatal(fault, now)
        case .keyRefused(let fault): return keyRefused(fault, now)
        case .hostBroke(let what):
            return kill(.crash, detail: Fault(reason: "link_broken", message: what, isPermanent: false), now)
        case .hostExited(let end): return hostExited(end, now)
        case .callSlow(let method): return callSlow(method)
        case .callHung(let method): return callHung(method, now)
        case .timer(let timer): return cameDue(timer, now)
        }
    }

    /// The word that stands in `bus.status`.
    public var stateName: String { plan == nil ? state.name : "switching" }

    /// Begins a start: by way of the account when it is not open.
    mutating func beginStart(_ now: Time) -> [Effect] {
        switch account {
        case .closed:
            state = .starting(.openingAccount(orphan: nil))
            return [.openAccount]
        case .closing:
            state = .closing
            return [.arm(.close, at: now + settings.stopTimeout)]
        case .open: break
        }
        run += 1
        state = .starting(.recording(run: run))
        return [.recordStart(run: run, attempt: history.attempt), .arm(.start, at: now + settings.startTimeout)]
    }

    private mutating func accountOpened(_ lastRun: Int64, _ now: Time) -> [Effect] {
        account = .open
        run = max(run, lastRun)
        guard case .starting(.openingAccount) = state else { return [] }
        return [.disarm(.orphan)] + beginStart(now)
    }

    private mutating func accountHeld(_ pid: Int32, _ now: Time) -> [Effect] {
        // An open that was ordered before a stop or shutdown came: nobody wants the account now.
        guard case .starting(.openingAccount(let known)) = state else { return [] }
        state = .starting(.openingAccount(orphan: pid))
        // The same orphan again keeps its deadline.
        return [.watchOrphan(pid: pid)] + (known == pid ? [] : [.arm(.orphan, at: now + settings.stopTimeout)])
    }

    private mutating func orphanEnded() -> [Effect] {
        guard case .starting(.openingAccount) = state else { return [] }
        return [.disarm(.orphan), .openAccount]
    }

    private mutating func accountRefused(_ fault: Fault, _ now: Time) -> [Effect] {
        guard case .starting(.openingAccount) = state else { return [] }
        // Somebody else's lock is for a person to see to; a disk that is full or held up comes back by itself.
        return [.disarm(.orphan)] + (fault.reason == "conflict" ? fail(fault, now) : retry(after: fault, now))
    }

    private func startRecorded() -> [Effect] {
        // A start that was stopped while its record was on the way has nothing to spawn.
        guard case .starting(.recording(let run)) = state else { return [] }
        return [.spawn(run: run)]
    }

    private mutating func spawned(_ pid: Int32, _ now: Time) -> [Effect] {
        guard case .starting(.recording(let run)) = state else { return [] }
        state = .starting(.waiting(State.Host(run: run, pid: pid, spawnedAt: now)))
        return []
    }

    private mutating func spawnFailed(_ fault: Fault, _ now: Time) -> [Effect] {
        guard case .starting(.recording(let run)) = state else { return [] }
        let exit = LifecycleEvent.nodeExited(.crash, nil, uptime: nil, detail: fault.message)
        lastExit = exit
        return [.disarm(.start), .publish(exit, run: run)] + retry(after: fault, now)
    }

    private mutating func hostReady(_ now: Time) -> [Effect] {
        guard case .starting(.waiting(let host)) = state else { return [] }
        state = .ready(host)
        let answers = answer(&starters, .done(state: "ready", run: host.run, changed: true))
        return [
            .disarm(.start), .publish(.nodeReady(pid: host.pid, startup: now - host.spawnedAt), run: host.run),
            .arm(.stable, at: now + settings.restart.stable),
        ] + answers + switchArrived(host.run)
    }

    private mutating func hostFatal(_ fault: Fault, _ now: Time) -> [Effect] {
        // It ends by itself after this; if it does not, the start timer or the kill below sees to it.
        switch state {
        case .starting(.waiting(var host)):
            host.fatal = fault
            state = .starting(.waiting(host))
            return []
        case .ready(var host):
            host.fatal = fault
            state = .stopping(host, State.Ending(cause: .crash, next: .retry, isKilled: false))
            return [.disarm(.stable), .dropCalls, .arm(.stop, at: now + settings.stopTimeout)]
        case .stopping(var host, let ending):
            host.fatal = host.fatal ?? fault
            state = .stopping(host, ending)
            return []
        case .stopped, .starting(.openingAccount), .starting(.recording), .closing, .backingOff, .failed, .ended:
            return []
        }
    }

    /// Whatever waits for this start waits for the next one.
    private mutating func keyRefused(_ fault: Fault, _ now: Time) -> [Effect] {
        guard case .starting(.waiting(var host)) = state else { return hostFatal(fault, now) }
        host.fatal = fault
        state = .stopping(host, State.Ending(cause: .crash, next: .again, isKilled: false))
        return [.disarm(.start), .arm(.stop, at: now + settings.stopTimeout)]
    }

    private func callSlow(_ method: String) -> [Effect] {
        guard case .ready(let host) = state else { return [] }
        return [.publish(.nodeUnresponsive(method: method, killed: false), run: host.run)]
    }

    private mutating func callHung(_ method: String, _ now: Time) -> [Effect] {
        guard case .ready(let host) = state else { return [] }
        let fault = Fault(
            reason: "call_hung", message: "the native call \(method) did not come back within hang_timeout",
            isPermanent: false)
        return [.publish(.nodeUnresponsive(method: method, killed: true), run: host.run)]
            + kill(.hang, detail: fault, now)
    }

    func answer(_ waiting: inout [UInt64], _ answer: Answer) -> [Effect] {
        defer { waiting = [] }
        return waiting.map { .answer(id: $0, answer) }
    }
}
