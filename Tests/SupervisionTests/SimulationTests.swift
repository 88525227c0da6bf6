import class Foundation.ProcessInfo
import Supervision
import Testing
import Wire

/// A machine driven through disasters by a seed, beside a model of the world: what hosts live, which requests are open, which timers are armed.
private struct World {
    var machine: Machine
    var random: SeededGenerator
    var now: Time = .zero
    var timers: [Timer: Time] = [:]
    var hostIsAlive = false
    var isOpening = false
    var isClosing = false
    var openProfile: Profile?
    var stored: (plan: SwitchPlan?, active: Profile) = (nil, alice)
    var isRecording: Int64?
    var open: Set<UInt64> = []
    var nextID: UInt64 = 1
    var nextPID: Int32 = 1
    var orphan: Int32?
    var hasEnded = false
    var openRun: Int64?
    var lastRun: Int64 = 0
    var story: [String] = []
    var untold: [Input] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        machine = Machine(
            settings: Machine.Settings(
                startTimeout: .seconds(120), stopTimeout: .seconds(30), restart: RestartPolicy()),
            profile: alice, seed: seed)
    }

    mutating func tell(_ input: Input) {
        untold.append(input)
        guard untold.count == 1 else { return }
        while let next = untold.first {
            story.append("\(now) \(machine.state.name) <- \(next)")
            for effect in machine.handle(next, at: now) { carryOut(effect) }
            untold.removeFirst()
        }
        check()
    }

    mutating func carryOut(_ effect: Effect) {
        switch effect {
        case .openAccount:
            #expect(openProfile == nil && !hostIsAlive, "nothing of another account is open")
            isOpening = true
        case .closeAccount:
            #expect(!hostIsAlive && openProfile == machine.profile)
            isClosing = true
        case .storePlan(let plan, let active):
            stored = (plan, active)
            if Int.random(in: 0..<20, using: &random) == 0 {
                tell(.planRefused(Fault(reason: "storage", message: "full", isPermanent: false)))
            } else {
                tell(.planStored)
            }
        case .announce: break
        case .watchOrphan(let pid): orphan = pid
        case .killOrphan: break
        case .recordStart(let run, _):
            #expect(openProfile == machine.profile, "a run belongs to the account that is open")
            #expect(run > lastRun, "a run is used once")
            (isRecording, lastRun) = (run, run)
        case .spawn(let run):
            #expect(!hostIsAlive, "one host at a time")
            #expect(openRun == run, "a run is recorded before its host lives")
            if Int.random(in: 0..<20, using: &random) == 0 {
                tell(.spawnFailed(Fault(reason: "spawn_failed", message: "no", isPermanent: false)))
            } else {
                hostIsAlive = true
                nextPID += 1
                tell(.spawned(pid: nextPID))
            }
        case .askToStop, .kill: #expect(hostIsAlive, "only a living host is told")
        case .arm(let timer, let at): timers[timer] = at
        case .disarm(let timer): timers[timer] = nil
        case .publish(let event, _):
            if case .nodeExited = event { openRun = nil }
        case .answer(let id, _):
            let wasOpen = open.remove(id) != nil
            #expect(wasOpen, "a request is answered once")
        case .dropCalls: break
        case .end:
            hasEnded = true
            #expect(!hostIsAlive && open.isEmpty, "at the end nobody lives and nobody waits")
        }
    }

    /// From every state something leads on: a timer, a host, or an answer that is on its way.
    func check() {
        switch machine.state {
        case .stopped, .ended, .ready: break
        case .starting(.openingAccount): #expect(isOpening || orphan != nil)
        case .starting(.recording): #expect(timers[.start] != nil)
        case .starting(.waiting): #expect(hostIsAlive && timers[.start] != nil)
        case .stopping: #expect(hostIsAlive && timers[.stop] != nil)
        case .backingOff: #expect(timers[.backoff] != nil)
        case .failed: #expect(!hostIsAlive)
        case .closing: #expect(isClosing && timers[.close] != nil)
        }
        let waitsForever = [State.stopped, .ended].contains(machine.state) && !open.isEmpty
        #expect(!waitsForever, "who asked is answered")
    }

    mutating func step() {
        let fault = Fault(reason: "x", message: "x", isPermanent: Int.random(in: 0..<4, using: &random) == 0)
        switch Int.random(in: 0..<18, using: &random) {
        case 0...2:
            guard !hasEnded else { return }
            open.insert(nextID)
            nextID += 1
            tell(.request(Input.Request.allCases.randomElement(using: &random) ?? .start, id: nextID - 1))
        case 3...5 where isOpening:
            isOpening = false
            switch Int.random(in: 0..<6, using: &random) {
            case 0: tell(.accountHeldByOrphan(pid: 77))
            case 1: tell(.accountRefused(fault))
            default:
                openProfile = machine.profile
                tell(.accountOpened(lastRun: lastRun))
            }
        case 6 where orphan != nil:
            orphan = nil
            tell(.orphanEnded)
        case 7...8 where isRecording != nil:
            openRun = isRecording
            let run = isRecording
            isRecording = nil
            // As the supervisor does: a record of a start that was given up is not told.
            if case .starting(.recording(run: run)) = machine.state { tell(.startRecorded) }
        case 9 where hostIsAlive: tell(.hostReady)
        case 10 where hostIsAlive: tell(Bool.random(using: &random) ? .hostFatal(fault) : .keyRefused(fault))
        case 11 where hostIsAlive:
            hostIsAlive = false
            tell(.hostExited(Bool.random(using: &random) ? .exited(1) : .signalled(9)))
        case 12 where hostIsAlive: tell(Bool.random(using: &random) ? .hostBroke("x") : .callHung(method: "x"))
        case 13...14:
            guard let (timer, at) = timers.min(by: { $0.value < $1.value }) else { return }
            timers[timer] = nil
            now = max(now, at)
            tell(.timer(timer))
        case 16 where !hasEnded:
            open.insert(nextID)
            nextID += 1
            let failure = SwitchPlan.OnFailure.allCases.randomElement(using: &random) ?? .stay
            tell(.switchTo(Bool.random(using: &random) ? alice : bob, onFailure: failure, id: nextID - 1))
        case 17 where isClosing:
            (isClosing, openProfile, isRecording) = (false, nil, nil)
            tell(.accountClosed)
        case 15 where Int.random(in: 0..<200, using: &random) == 0: tell(.shutDown)
        default: now += .milliseconds(Int.random(in: 0..<2000, using: &random))
        }
    }
}

@Test("no schedule of disasters breaks an invariant", arguments: 0..<UInt64(seedCount))
func disasters(seed: UInt64) {
    let chosen = ProcessInfo.processInfo.environment["NODEBUS_SEED"].flatMap { UInt64($0) } ?? seed
    var world = World(seed: chosen)
    for _ in 0..<2000 where !world.hasEnded { world.step() }
    // Whatever state it is in, a shutdown ends it, and the host that ignores everything is killed.
    world.tell(.shutDown)
    for _ in 0..<10 where !world.hasEnded {
        if world.hostIsAlive {
            world.hostIsAlive = false
            world.tell(.hostExited(.signalled(9)))
        }
    }
    #expect(world.hasEnded, "seed \(chosen): \(world.story.suffix(20).joined(separator: "\n"))")
}

private let seedCount = ProcessInfo.processInfo.environment["NODEBUS_LONG"] == nil ? 50 : 500
