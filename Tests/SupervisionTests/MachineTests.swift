import Supervision
import Testing
import Wire

let alice = Profile("dev/alice")!  // A constant that is a profile.
let bob = Profile("test/bob")!  // Another.

/// A machine with a clock, and what it did, for tests that read as stories.
struct Story {
    var machine = Machine(
        settings: Machine.Settings(
            startTimeout: .seconds(10), stopTimeout: .seconds(5),
            restart: RestartPolicy(jitter: 0, limit: 3, window: .seconds(600), thenEvery: .seconds(300))),
        profile: alice, seed: 1)
    var now: Time = .zero
    var timers: [Timer: Time] = [:]
    var done: [Effect] = []

    @discardableResult
    mutating func tell(_ input: Input) -> [Effect] {
        let effects = machine.handle(input, at: now)
        for effect in effects {
            if case .arm(let timer, let at) = effect { timers[timer] = at }
            if case .disarm(let timer) = effect { timers[timer] = nil }
        }
        done += effects
        return effects
    }

    /// Lets the next timer come due; nil when none is armed.
    mutating func waitForTimer() -> [Effect]? {
        guard let (timer, at) = timers.min(by: { $0.value < $1.value }) else { return nil }
        timers[timer] = nil
        now = max(now, at)
        return tell(.timer(timer))
    }

    /// A node that is ready.
    static func ready() -> Story {
        var story = Story()
        story.tell(.request(.start, id: 1))
        story.tell(.accountOpened(lastRun: 6))
        story.tell(.startRecorded)
        story.tell(.spawned(pid: 100))
        story.tell(.hostReady)
        return story
    }

    mutating func startAgain(pid: Int32) {
        tell(.startRecorded)
        tell(.spawned(pid: pid))
        tell(.hostReady)
    }

    var kinds: [String] {
        done.compactMap { if case .publish(let event, _) = $0 { event.kind } else { nil } }
    }
}

@Test("a start opens the account, records the run, spawns, and answers when the node is ready")
func startsInOrder() {
    let story = Story.ready()
    #expect(story.machine.state.name == "ready")
    #expect(story.machine.run == 7)
    let order = story.done.compactMap { effect -> String? in
        switch effect {
        case .openAccount: "open"
        case .recordStart: "record"
        case .spawn: "spawn"
        case .answer(id: 1, .done(state: "ready", run: 7, changed: true)): "answer"
        default: nil
        }
    }
    #expect(order == ["open", "record", "spawn", "answer"])
}

@Test("a node that dies is started again, later each time, and given up at the limit with a slow retry")
func restartsAndGivesUp() {
    var story = Story.ready()
    for delay in [250, 500, 1000] {
        let before = story.now
        story.tell(.hostExited(.signalled(9)))
        #expect(story.machine.state == .backingOff(until: before + .milliseconds(delay)))
        story.timers[.stable] = nil
        let came = story.waitForTimer()
        #expect(came != nil)
        story.startAgain(pid: 101)
        story.timers[.stable] = nil
    }
    let gaveUpAt = story.now
    story.tell(.hostExited(.exited(1)))
    #expect(story.machine.state.name == "failed")
    #expect(story.kinds.last == "NodeFailed")
    #expect(story.timers[.backoff] == gaveUpAt + .seconds(300))
    _ = story.waitForTimer()
    story.tell(.startRecorded)
    story.tell(.spawned(pid: 102))
    story.tell(.hostExited(.exited(1)))
    #expect(story.machine.state.name == "failed", "a slow retry that fails does not begin a new series")
}

@Test("a node that was ready long enough has its past forgotten") func stableForgets() {
    var story = Story.ready()
    story.tell(.hostExited(.exited(1)))
    _ = story.waitForTimer()
    story.startAgain(pid: 101)
    let came = story.waitForTimer()
    #expect(came != nil)
    let before = story.now
    story.tell(.hostExited(.exited(1)))
    #expect(story.machine.state == .backingOff(until: before + .milliseconds(250)))
}

@Test("an operator's stop is no crash, whatever the host then does") func orderWins() {
    var story = Story.ready()
    story.tell(.request(.stop, id: 2))
    story.tell(.hostExited(.signalled(11)))
    #expect(story.machine.state == .stopped)
    guard case .nodeExited(.commanded, .signalled(11), _, _)? = story.machine.lastExit else {
        Issue.record("the exit says \(String(describing: story.machine.lastExit))")
        return
    }
    #expect(story.done.contains(.answer(id: 2, .done(state: "stopped", run: 7, changed: true))))
}

@Test("a stop that is ignored ends in KILL") func stopIsEnforced() {
    var story = Story.ready()
    story.tell(.request(.stop, id: 2))
    let effects = story.waitForTimer() ?? []
    #expect(effects.contains(.kill))
    story.tell(.hostExited(.signalled(9)))
    #expect(story.machine.state == .stopped)
}

@Test("a start that never becomes ready is killed and tried again") func startIsEnforced() {
    var story = Story()
    story.tell(.request(.start, id: 1))
    story.tell(.accountOpened(lastRun: 0))
    story.tell(.startRecorded)
    story.tell(.spawned(pid: 100))
    let late = story.waitForTimer() ?? []
    #expect(late.contains(.kill))
    story.tell(.hostExited(.signalled(9)))
    #expect(story.machine.state.name == "backing_off")
    guard case .nodeExited(.hang, _, _, _)? = story.machine.lastExit else {
        Issue.record("the exit is no hang")
        return
    }
}

@Test("a fault that only a person can mend is not tried again") func permanentFault() {
    var story = Story()
    story.tell(.request(.start, id: 1))
    story.tell(.accountOpened(lastRun: 0))
    story.tell(.startRecorded)
    story.tell(.spawned(pid: 100))
    story.tell(.hostFatal(Fault(reason: "key_missing", message: "no key", isPermanent: true)))
    story.tell(.hostExited(.exited(40)))
    #expect(story.machine.state == .failed(reason: "key_missing", message: "no key"))
    #expect(story.timers.isEmpty)
    #expect(
        story.done.contains {
            if case .answer(id: 1, .refused(let error)) = $0 { error.code == .nodeNotRunning } else { false }
        })
}

@Test("a key that was refused and put right is started with again at once, also within a switch") func refusedKey() {
    let fault = Fault(reason: "passphrase_wrong", message: "no key", isPermanent: true)
    var story = Story.ready()
    story.tell(.switchTo(bob, onFailure: .rollback, id: 9))
    story.tell(.planStored)
    story.tell(.hostExited(.exited(0)))
    story.tell(.accountClosed)
    story.tell(.planStored)
    story.tell(.accountOpened(lastRun: 0))
    story.tell(.startRecorded)
    story.tell(.spawned(pid: 101))
    story.tell(.keyRefused(fault))
    story.done = []
    let ended = story.tell(.hostExited(.exited(40)))
    #expect(ended.contains(.recordStart(run: 2, attempt: 0)))
    #expect(story.kinds == ["NodeExited"])
    // Refused again it has failed, and the switch goes back.
    story.tell(.startRecorded)
    story.tell(.spawned(pid: 102))
    story.tell(.hostFatal(fault))
    #expect(story.tell(.hostExited(.exited(40))).contains(.closeAccount))
}

@Test("a stop while a refused key is put right is a stop") func stopAtRefusedKey() {
    var story = Story()
    story.tell(.request(.start, id: 1))
    story.tell(.accountOpened(lastRun: 0))
    story.tell(.startRecorded)
    story.tell(.spawned(pid: 100))
    story.tell(.keyRefused(Fault(reason: "key_invalid", message: "no key", isPermanent: true)))
    story.tell(.request(.stop, id: 2))
    story.tell(.hostExited(.exited(40)))
    #expect(story.machine.state == .stopped)
}

@Test("an orphan is waited for, then killed") func orphan() {
    var story = Story()
    story.tell(.request(.start, id: 1))
    let held = story.tell(.accountHeldByOrphan(pid: 77))
    #expect(held.contains(.watchOrphan(pid: 77)))
    let late = story.waitForTimer() ?? []
    #expect(late.contains(.killOrphan(pid: 77)))
    #expect(story.now == .seconds(5))
    let ended = story.tell(.orphanEnded)
    #expect(ended.contains(.openAccount))
}

@Test("a hung call has the host killed and restarted; a slow one is only told") func hungCall() {
    var story = Story.ready()
    let slow = story.tell(.callSlow(method: "fiber.node_info"))
    let hung = story.tell(.callHung(method: "fiber.node_info"))
    #expect(!slow.contains(.kill) && hung.contains(.kill))
    story.tell(.hostExited(.signalled(9)))
    #expect(story.machine.state.name == "backing_off")
    #expect(story.kinds.filter { $0 == "NodeUnresponsive" }.count == 2)
}

@Test("a switch stops the one node, closes its account, and only then opens the other's") func switches() {
    var story = Story.ready()
    story.done = []
    let asked = story.tell(.switchTo(bob, onFailure: .rollback, id: 9))
    #expect(
        asked == [.storePlan(SwitchPlan(from: alice, to: bob, onFailure: .rollback, step: .stopping), active: alice)])
    #expect(story.tell(.planStored).contains(.askToStop))
    #expect(story.machine.stateName == "switching")
    #expect(story.tell(.hostExited(.exited(0))).contains(.closeAccount))
    let closed = story.tell(.accountClosed)
    let forward = SwitchPlan(from: alice, to: bob, onFailure: .rollback, step: .starting)
    #expect(closed.contains(.storePlan(forward, active: bob)))
    #expect(story.machine.profile == alice)
    #expect(story.tell(.planStored) == [.openAccount])
    #expect(story.machine.profile == bob)
    story.tell(.accountOpened(lastRun: 0))
    story.startAgain(pid: 200)
    #expect(story.machine.stateName == "ready")
    #expect(story.done.contains(.announce(.completed(forward, run: 1))))
    #expect(story.done.contains(.answer(id: 9, .done(state: "ready", run: 1, changed: true))))
    #expect(story.done.contains(.storePlan(nil, active: bob)))
}

@Test("a new node that does not come up brings the old one back, and the caller hears why") func rollsBack() {
    var story = Story.ready()
    story.tell(.switchTo(bob, onFailure: .rollback, id: 9))
    story.tell(.planStored)
    story.tell(.hostExited(.exited(0)))
    story.tell(.accountClosed)
    story.tell(.planStored)
    story.done = []
    let refused = story.tell(.accountRefused(Fault(reason: "conflict", message: "locked", isPermanent: false)))
    let back = SwitchPlan(from: alice, to: bob, onFailure: .rollback, step: .rollingBack)
    #expect(refused.contains(.storePlan(back, active: alice)))
    story.tell(.planStored)
    #expect(story.machine.profile == alice)
    story.tell(.accountOpened(lastRun: 7))
    story.startAgain(pid: 200)
    let answers = story.done.compactMap { if case .answer(id: 9, .refused(let error)) = $0 { error } else { nil } }
    #expect(answers.map(\.code) == [.switchFailed])
    #expect(answers.first?.message.contains("locked") == true)
    #expect(story.machine.stateName == "ready")
}

@Test("with on_failure stay the new profile keeps being started") func stays() {
    var story = Story.ready()
    story.tell(.switchTo(bob, onFailure: .stay, id: 9))
    story.tell(.planStored)
    story.tell(.hostExited(.exited(0)))
    story.tell(.accountClosed)
    story.tell(.planStored)
    story.tell(.accountOpened(lastRun: 0))
    story.tell(.startRecorded)
    story.tell(.spawned(pid: 200))
    story.tell(.hostExited(.exited(1)))
    #expect(story.machine.profile == bob)
    #expect(story.machine.stateName == "backing_off")
    #expect(
        story.done.contains {
            if case .answer(id: 9, .refused(let error)) = $0 { error.code == .switchFailed } else { false }
        })
}

@Test("one switch at a time; start, stop and restart wait for it too") func oneAtATime() {
    var story = Story.ready()
    story.tell(.switchTo(bob, onFailure: .rollback, id: 9))
    for input in [
        Input.switchTo(alice, onFailure: .rollback, id: 10), .request(.start, id: 10), .request(.stop, id: 10),
        .request(.restart, id: 10),
    ] {
        let effects = story.tell(input)
        #expect(effects.count == 1)
        guard case .answer(id: 10, .refused(let error))? = effects.first else { continue }
        #expect(error.code == .switching)
    }
}

@Test("a way back that the disk does not take is gone all the same, and leaves no trace in the next switch")
func rollsBackOnAFullDisk() {
    let full = Input.planRefused(Fault(reason: "storage", message: "full", isPermanent: false))
    var story = Story.ready()
    story.tell(.switchTo(bob, onFailure: .rollback, id: 9))
    story.tell(.planStored)
    story.tell(.hostExited(.exited(0)))
    story.tell(.accountClosed)
    story.tell(.planStored)
    story.tell(.accountRefused(Fault(reason: "storage", message: "no ring", isPermanent: false)))
    #expect(story.tell(full) == [.openAccount])
    #expect(story.machine.profile == alice)
    story.tell(.accountOpened(lastRun: 7))
    story.startAgain(pid: 200)
    #expect(story.machine.run == 8)
    let told = story.done.compactMap { effect -> String? in
        switch effect {
        case .answer(id: 9, .refused(let error)): "\(error.code) \(error.message.contains("no ring"))"
        case .announce(.failed(_, let fault, now: alice)): fault.message
        default: nil
        }
    }
    #expect(told == ["no ring", "switchFailed true"])
    // That the switch is over is not on disk: it is put there as soon as the disk takes it.
    story.tell(full)
    #expect(story.timers[.choice] != nil)
    #expect(story.tell(.timer(.choice)) == [.storePlan(nil, active: alice)])
    story.tell(.planStored)

    story.tell(.switchTo(bob, onFailure: .rollback, id: 10))
    story.tell(.planStored)
    story.tell(.hostExited(.exited(0)))
    let forward = SwitchPlan(from: alice, to: bob, onFailure: .rollback, step: .starting)
    #expect(story.tell(.accountClosed).contains(.storePlan(forward, active: bob)))
}

@Test("a plan that the disk does not take changes nothing") func planRefused() {
    var story = Story.ready()
    story.tell(.switchTo(bob, onFailure: .rollback, id: 9))
    let effects = story.tell(.planRefused(Fault(reason: "storage", message: "full", isPermanent: false)))
    #expect(story.machine.stateName == "ready")
    #expect(!effects.contains(.askToStop))
}
