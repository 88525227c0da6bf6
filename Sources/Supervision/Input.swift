import Wire

/// What can happen to the supervisor.
public enum Input: Sendable, Equatable {
    /// Somebody asks for something and waits for the answer under this id.
    case request(Request, id: UInt64)
    /// Somebody asks for another profile and waits for the answer under this id.
    case switchTo(Profile, onFailure: SwitchPlan.OnFailure, id: UInt64)
    /// The plan as it is now is on disk (or its end is).
    case planStored
    /// The disk does not take the plan.
    case planRefused(Fault)
    /// The account that was in use is closed: its events are on disk, its lock is free.
    case accountClosed
    /// SIGTERM, SIGINT or `bus.shutdown`. A second one kills at once.
    case shutDown
    /// The account is open; its journal's last run.
    case accountOpened(lastRun: Int64)
    /// A host of a supervisor that is gone still holds the account's lock.
    case accountHeldByOrphan(pid: Int32)
    /// The orphan has ended.
    case orphanEnded
    /// The account cannot be opened: somebody else holds it, or the disk or the journal is bad.
    case accountRefused(Fault)
    /// NodeStarting is journaled.
    case startRecorded
    /// The host is running.
    case spawned(pid: Int32)
    /// There is no host.
    case spawnFailed(Fault)
    /// The host says that its node has started.
    case hostReady
    /// The host says that it gives up, and will end.
    case hostFatal(Fault)
    /// The host gives up, and will end, since its node refused a key; another one stands in its place now.
    case keyRefused(Fault)
    /// The host broke the rules of the link: it is to be ended.
    case hostBroke(String)
    /// The host has ended and was reaped.
    case hostExited(ExitStatus)
    /// A native call has run for `call_timeout`.
    case callSlow(method: String)
    /// A native call has run for `hang_timeout`.
    case callHung(method: String)
    /// A timer that was armed has come due.
    case timer(Timer)

    /// What can be asked for.
    public enum Request: Sendable, Equatable, CaseIterable {
        /// `node.start`
        case start
        /// `node.stop`
        case stop
        /// `node.restart`
        case restart
    }
}

/// How a host ended, as the kernel reports it.
public enum ExitStatus: Sendable, Equatable {
    /// It exited with this status.
    case exited(Int32)
    /// This signal ended it.
    case signalled(Int32)
}

/// The timers of the machine; arming one again moves it.
public enum Timer: Sendable, Hashable, CaseIterable {
    /// An orphan may take so long to end.
    case orphan
    /// Recording a start and starting may take so long.
    case start
    /// Stopping may take so long.
    case stop
    /// Closing an account may take so long.
    case close
    /// That a switch is over is to be put on disk again.
    case choice
    /// The next start is due.
    case backoff
    /// The node has been ready long enough to forget its past.
    case stable
}
