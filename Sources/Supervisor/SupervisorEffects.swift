import Accounts
import Glibc
import HostLink
import Journal
import Linux
import Supervision
import Wire

/// Carrying out what the machine decides.
extension Supervisor {
    func carryOut(_ effects: [Effect]) {
        for effect in effects {
            switch effect {
            case .openAccount: openAccount()
            case .closeAccount: pump?.finish()
            case .storePlan(let plan, let active): storePlan(plan, active)
            case .announce(let news): announce(news)
            case .watchOrphan(let pid): watchOrphan(pid, of: prefix)
            case .killOrphan(let pid):
                killOrphan(pid)
            case .recordStart(let run, let attempt):
                let event = LifecycleEvent.nodeStarting(attempt: attempt)
                pump?.put(EventPump.Note(kind: event.kind, payload: event.payload, run: run, begins: true))
            case .spawn(let run): spawn(run)
            case .askToStop: host?.send(.stop)
            case .kill: killHost()
            case .arm(let timer, let at): timers[timer] = origin + at
            case .disarm(let timer): timers[timer] = nil
            case .publish(let event, let run): publish(event, run)
            case .answer(let id, let answer): self.answer(id, answer)
            case .dropCalls: calls.drop(runningToo: host == nil)
            case .end: hasEnded = true
            }
        }
    }

    private func openAccount() {
        // Also one of another account, which a switch or a stop has turned away from: two nodes never run at once.
        if let pid = orphan?.process.pid, orphan?.process.hasEnded == false {
            return tell(.accountHeldByOrphan(pid: pid))
        }
        do {
            for note in try prefix.make() { Log.write(.warning, "accounts", note) }
            switch try AccountLock.tryTake(prefix, under: ground.rootLock) {
            case .taken(let lock): accountLock = HeldAccount(lock)
            case .held(.orphan(let pid)): return tell(.accountHeldByOrphan(pid: pid))
            case .held(.other(let pid)):
                let holder = pid.map { "process \($0)" } ?? "another process"
                let message = "account \(profile) is locked by \(holder): end it, or run under another root"
                return refuseAccount("conflict", message)
            }
            let ceiling = try ground.registry.ceiling(of: profile)
            let opened = try OpenedAccount(prefix: prefix, source: network.host.rawValue, ceiling: ceiling)
            try keepCeiling(above: opened.journal.head, now: ceiling)
            let lastRun = opened.journal.lastRun
            board.update {
                $0.epoch = opened.journal.epoch
                $0.head = opened.journal.head
            }
            bus.openJournal(
                profile: profile, epoch: opened.journal.epoch, head: opened.journal.head, run: opened.journal.lastRun)
            if let loss = opened.loss { bus.publish(loss) }
            ring = opened.ring
            let notes = opened.notes
            let pump = try startPump(opened)
            for note in notes { pump.put(note) }
            self.pump = pump
            tell(.accountOpened(lastRun: lastRun))
        } catch {
            accountLock = nil
            refuseAccount("storage", "\(error)", isPermanent: Supervisor.needsAPerson(error))
        }
    }

    /// Where there is no journal to say it in, the log does.
    private func refuseAccount(_ reason: String, _ message: String, isPermanent: Bool = false) {
        Log.write(.error, "accounts", "the account cannot be opened", ["because": message])
        tell(.accountRefused(Fault(reason: reason, message: message, isPermanent: isPermanent)))
    }

    /// Whether no further try helps: a file is damaged, or is not ours.
    static func needsAPerson(_ error: any Error) -> Bool {
        switch error {
        case let error as JournalError: !error.isRetryable
        case let error as AccountsError: !error.isRetryable
        default: false
        }
    }

    private func startPump(_ opened: sending OpenedAccount) throws(SystemError) -> EventPump {
        let (bus, board, reader, inbox, mark) = (self.bus, self.board, self.reader, self.inbox, ceilingMark)
        return try EventPump(
            opened,
            EventPump.Outlets(
                publish: { batch in
                    board.update { $0.head = batch.head }
                    if mark.isPassed(by: batch.head) { inbox.put(.headRose(batch.head)) }
                    bus.publish(batch)
                    reader.journalGrew()
                },
                announce: { bus.announce(kind: $0, payload: $1) }, tell: { inbox.put($0) }))
    }

    /// Sees to it that the registry knows a seq above every one that the account can have used, also when its journal is lost: raised long
    /// before the journal comes near it, and whenever the account is opened or closed, so that an older copy of the journal is known for one.
    func keepCeiling(above head: Int64, now ceiling: Int64) throws(AccountsError) {
        var ceiling = ceiling
        do {
            // After an end in order it stands there already.
            guard ceiling != head + CeilingMark.room else { return ceilingMark.set(ceiling - CeilingMark.room / 2) }
            try ground.registry.raiseCeiling(of: profile, to: head + CeilingMark.room)
            ceiling = head + CeilingMark.room
        } catch {
            // As long as there is room below it, a full disk is no reason not to go on.
            guard ceiling - head >= CeilingMark.room / 2 else { throw error }
            Log.write(.warning, "accounts", error.description)
        }
        ceilingMark.set(ceiling - CeilingMark.room / 2)
    }

    /// The journal has come nearer to the ceiling.
    func headRose(_ head: Int64) {
        do { try keepCeiling(above: head, now: head) } catch {
            Log.write(.warning, "accounts", error.description)
            ceilingMark.set(head + 1000)
        }
    }

    private func storePlan(_ plan: SwitchPlan?, _ active: Profile) {
        do {
            try ground.registry.setActiveProfile(active, plan: plan?.json.encoded)
            tell(.planStored)
        } catch {
            Log.write(.error, "supervisor", error.description)
            tell(.planRefused(Fault(reason: "storage", message: error.description, isPermanent: false)))
        }
    }

    private func announce(_ news: SwitchNews) {
        Log.info("supervisor", news.kind, ["says": news.payload.encoded])
        if let pump {
            pump.announce(kind: news.kind, payload: news.payload)
        } else {
            bus.announce(kind: news.kind, payload: news.payload)
        }
    }

    /// The account that was in use is closed: its lock goes, and with it everything that belonged to it.
    func accountClosed() {
        headRose(board.head)
        pump = nil
        ring = nil
        ringIsBroken = false
        accountLock = nil
        bus.closeJournal(profile: profile)
        board.update {
            $0.epoch = nil
            $0.head = 0
            $0.host = .null
        }
        tell(.accountClosed)
    }

    /// Watches a host that an earlier supervisor left on the account of this prefix, until it ends.
    func watchOrphan(_ pid: Int32, of prefix: Prefix) {
        guard orphan?.process.pid != pid else { return }
        Log.write(
            .warning, "supervisor", "a host of a supervisor that is gone still holds the account; waiting for its end",
            ["pid": "\(pid)", "account": prefix.profile.description])
        orphan = Orphan(pid: pid, prefix: prefix)
        if orphan == nil || !AccountLock.isOrphan(pid, of: prefix) {
            orphan = nil
            tell(.orphanEnded)
        }
    }

    /// Names the host in the account's lock, for people: a host that runs is not to be given up because that could not be written.
    func record(host: Int32?) {
        do { try accountLock?.lock.record(host: host) } catch {
            Log.write(.warning, "accounts", "the lock does not name its host", ["because": "\(error)"])
        }
    }

    private func publish(_ event: LifecycleEvent, _ run: Int64) {
        var payload = event.payload
        var ends = false
        var level = Log.Level.info
        switch event {
        case .nodeExited(let cause, _, _, _):
            ends = true
            payload = payload.with("stderr", .array((lastLines ?? []).map { .string($0) }))
            lastLines = nil
            level = cause == .commanded || cause == .switching ? .info : .warning
        case .nodeFailed: level = .error
        case .nodeUnresponsive, .nodeRestartScheduled: level = .warning
        case .nodeReady(let pid, let startup):
            say("ready     run \(run), pid \(pid), after \(startup.milliseconds) ms")
        case .nodeStarting, .nodeStopping: break
        }
        let said = payload.members?.filter { $0.key != "stderr" && !$0.value.isNull } ?? []
        Log.write(level, "node", event.kind, ["run": "\(run)", "says": JSON.object(said).encoded])
        pump?.put(EventPump.Note(kind: event.kind, payload: payload, run: run, ends: ends))
        if case .nodeReady = event { tellKey(run) }
    }

    private func answer(_ id: UInt64, _ answer: Answer) {
        // Id 0 is our own first start: nobody waits for it.
        guard let request = requests.removeValue(forKey: id) else { return }
        switch answer {
        case .done(let state, let run, let changed):
            request.answer(
                .result(["state": .string(state), "run": .integer(run), "changed": .bool(changed)]))
        case .refused(let error): request.answer(.failure(error))
        }
    }

    /// Shows what the machine's state is now.
    func showState() {
        let name = machine.stateName
        bus.explainAbsence(machine.plan == nil ? nil : noNode)
        var failure: JSON = .null
        if case .failed(let reason, let message) = machine.state {
            failure = ["reason": .string(reason), "message": .string(message)]
        }
        board.update { now in
            if now.state != name { now.since = WallClock.microseconds }
            now.state = name
            now.profile = machine.profile
            now.isSimulated = network.isSimulated
            now.run = machine.run
            now.pid = machine.state.host?.pid
            now.restarts = machine.restarts
            now.lastExit = machine.lastExit?.payload ?? .null
            now.failure = failure
        }
    }
}

/// A host of a supervisor that is gone, while it is watched, and the account that it holds.
struct Orphan: ~Copyable {
    let process: ForeignProcess
    let prefix: Prefix

    /// nil when there is no such process.
    init?(pid: Int32, prefix: Prefix) {
        guard let process = ForeignProcess(pid: pid) else { return nil }
        self.process = process
        self.prefix = prefix
    }
}
