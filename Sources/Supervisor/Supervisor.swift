// Supervisor: wires the parts and runs them. The main thread, here, spawns and supervises: it polls for signals, the host, what other threads
// tell it, and timers, hands each to the machine (module Supervision) and carries out what the machine answers. EventPump.swift is the journal
// thread, EventReader.swift the reading one; the bus thread is in module Bus.

import Accounts
import Bus
import Glibc
import HostLink
import Linux
import Supervision
import Wire

/// The running supervisor. Everything in it belongs to the main thread.
public final class Supervisor {
    let configuration: Configuration
    let signals: SignalDescriptor
    let ground: Ground
    let inbox: MainInbox
    let board: StatusBoard
    let bus: Bus
    let reader: EventReader

    var machine: Machine
    var timers: [Timer: Instant] = [:]
    var calls: CallQueue
    var requests: [UInt64: PendingRequest] = [:]
    private var lastRequestID: UInt64 = 0
    private var untold: [Input] = []
    var accountLock: HeldAccount?
    var pump: EventPump?
    var ring: RingReader?
    var ringIsBroken = false
    var host: LivingHost?
    var orphan: Orphan?
    let ceilingMark = CeilingMark()
    var passphraseCommand: PassphraseCommand?
    var killWait: KillWait?
    /// What the host that just ended wrote last to stderr, until NodeExited takes it.
    var lastLines: [String]?
    private var shuttingDownSince: Instant?
    var hasEnded = false
    let origin = Instant.now

    init(_ configuration: Configuration, _ signals: consuming SignalDescriptor, _ ground: Ground) throws {
        self.configuration = configuration
        self.signals = signals
        self.ground = ground
        let inbox = try MainInbox()
        let board = StatusBoard()
        // Before the bus answers anybody: a request that names no account means this one.
        board.update {
            $0.profile = ground.profile
            $0.isSimulated = configuration.network(named: ground.profile.network)?.isSimulated ?? false
        }
        let root = ground.root
        let reader = try EventReader(active: { board.profile }, locate: { root.prefix($0) })
        self.inbox = inbox
        self.board = board
        self.reader = reader
        calls = CallQueue(
            callTimeout: configuration.supervision.callTimeout, hangTimeout: configuration.supervision.hangTimeout)
        machine = Machine(
            settings: configuration.machineSettings, profile: ground.profile, plan: ground.plan,
            seed: .random(in: 0 ... .max))
        bus = try Bus(
            settings: busSettings(configuration), status: { board.json },
            version: ["version": .string(Version.supervisor), "wire": .integer(Version.wire)],
            deliver: { request in
                if request.method == "events.read" { reader.put(request) } else { inbox.put(.request(request)) }
            })
        // Until the host has said hello its methods are those of a node that does not run, not unknown ones.
        for network in configuration.networks { bus.describe(source: network.host.rawValue, []) }
    }

    /// Runs until it is told to end; `storage` when the disk did not take the last events.
    func run() -> ExitCode {
        if let (pid, prefix) = AccountLock.orphan(under: root) { watchOrphan(pid, of: prefix) }
        tell(.request(.start, id: Machine.ownRequest))
        while !hasEnded { turn() }
        return close()
    }

    var root: Root { ground.root }
    var profile: Profile { machine.profile }
    var prefix: Prefix { root.prefix(profile) }
    var network: Configuration.NetworkSettings {
        guard let network = configuration.network(named: profile.network) else {
            preconditionFailure("only a profile of a configured network is switched to")
        }
        return network
    }
    var elapsed: Time { Instant.now - origin }

    /// Tells the machine something and does what it answers. What is told while that is being done waits its turn.
    func tell(_ input: Input) {
        untold.append(input)
        guard untold.count == 1 else { return }
        while let next = untold.first {
            let effects = machine.handle(next, at: elapsed)
            // Shown before anybody is answered: who has been told "ready" finds the node ready.
            showState()
            carryOut(effects)
            untold.removeFirst()
        }
    }

    private func turn() {
        var entries = [
            pollfd(fd: signals.raw, events: Int16(POLLIN), revents: 0),
            pollfd(fd: inbox.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: host?.exitDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: host?.linkDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: orphan?.process.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: passphraseCommand?.outputDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: passphraseCommand?.exitDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        if host?.wantsToWrite ?? false { entries[3].events |= Int16(POLLOUT) }
        poll(&entries, nfds_t(entries.count), pollTimeout)
        if entries[0].revents != 0 { takeSignals() }
        if entries[1].revents != 0 { for item in inbox.take() { take(item) } }
        if entries[3].revents != 0 { listenToHost() }
        if entries[2].revents != 0 { reapHost() }
        if entries[4].revents != 0 {
            orphan = nil
            tell(.orphanEnded)
        }
        fireTimers()
        lookAtPassphrase()
        lookAtKill()
        sendNextCall()
    }

    private var pollTimeout: Int32 {
        var deadlines = Array(timers.values)
        if let deadline = calls.deadline { deadlines.append(deadline) }
        deadlines += [host?.silenceDeadline, passphraseCommand?.deadline, killWait?.next].compactMap { $0 }
        return deadlines.min()?.millisecondsFromNow() ?? 60_000
    }

    private func fireTimers() {
        let now = Instant.now
        for (timer, due) in timers.sorted(by: { $0.value < $1.value }) where due <= now {
            timers[timer] = nil
            tell(.timer(timer))
        }
        if let input = calls.overdue(at: now) { tell(input) }
        if let deadline = host?.silenceDeadline, now >= deadline {
            host?.isSilenceTold = true
            tell(.hostBroke("the host closed its link and did not end"))
        }
    }

    private func takeSignals() {
        while let signal = signals.next() {
            switch signal {
            case SIGTERM, SIGINT: shutDown("signal \(signal)")
            default: Log.info("supervisor", "this version reloads nothing; restart it to take a changed configuration")
            }
        }
    }

    /// Begins to go down; a second time kills the host at once. Within a second it is the same order told twice: many
    /// that end a process signal it and then its group, such as timeout(1), and a node has to get its time to stop.
    func shutDown(_ why: String) {
        if let since = shuttingDownSince {
            if Instant.now - since >= .seconds(1) { tell(.shutDown) }
            return
        }
        shuttingDownSince = .now
        Log.info("supervisor", "shutting down", ["because": why])
        bus.announce(kind: "ShuttingDown", payload: ["reason": .string(why)])
        bus.refuse(with: BusError(.shuttingDown, "the supervisor is going down"))
        endAnyway(after: configuration.supervision.stopTimeout + .seconds(20))
        tell(.shutDown)
    }

    /// Whatever hangs, the process ends: a supervisor that does not go down holds up its machine's.
    private func endAnyway(after budget: Duration) {
        let deadline = Instant.now + budget
        try? startThread("shutdown") {
            while Instant.now < deadline { poll(nil, 0, deadline.millisecondsFromNow()) }
            Log.write(.error, "supervisor", "shutting down took longer than its budget; ending anyway")
            _exit(ExitCode.storage.rawValue)
        }
    }

    func nextRequestID() -> UInt64 {
        lastRequestID += 1
        return lastRequestID
    }

    private func close() -> ExitCode {
        passphraseCommand?.kill()
        var code = ExitCode.done
        if let pump {
            if pump.stop(by: .now + .seconds(10)) {
                headRose(board.head)
            } else {
                code = .storage
                Log.write(.error, "journal", "the disk did not take the last events; the ring keeps what the node said")
            }
        }
        reader.stop(by: .now + .seconds(2))
        bus.shutDown(within: .seconds(2))
        Log.info("supervisor", "ended")
        return code
    }
}
