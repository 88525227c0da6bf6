// Supervision: the decisions of the supervisor as a value: inputs in, effects out, time as a parameter. No I/O, no clock, no threads. Start here;
// then read Input.swift, Effect.swift and Machine.swift.

import Wire

/// A point of monotonic time, as the time since some start. Passed in, never asked for.
public typealias Time = Duration

/// Where the node is in its life. Every state in which something is awaited has a deadline out of it.
public enum State: Sendable, Equatable {
    /// No host, and none wanted.
    case stopped
    /// On the way to a host that is ready.
    case starting(StartPhase)
    /// The node runs.
    case ready(Host)
    /// A host is ending, by our order; what comes after it is decided already.
    case stopping(Host, Ending)
    /// No host; the account that was in use is being closed, to make room for another. Its last events are on their way to the disk.
    case closing
    /// No host; the next start is due at a time.
    case backingOff(until: Time)
    /// No host; too many starts failed, or one that cannot be helped by trying again.
    case failed(reason: String, message: String)
    /// No host, and never again: the supervisor is going down.
    case ended

    /// How far a start has come.
    public enum StartPhase: Sendable, Equatable {
        /// Taking the account's lock and reading its journal; deadline `orphanDeadline` while an orphaned host holds the lock.
        case openingAccount(orphan: Int32?)
        /// NodeStarting is on its way to the disk: a run must be recorded before its host can write events.
        case recording(run: Int64)
        /// The host is running and has not said ready.
        case waiting(Host)
    }

    /// A host that lives.
    public struct Host: Sendable, Equatable {
        /// Which start of the node under this account.
        public let run: Int64
        /// The host's pid.
        public let pid: Int32
        /// When it was spawned.
        public let spawnedAt: Time
        /// What it said before it ended by itself; nil: nothing.
        public var fatal: Fault?
    }

    /// Why and how a host is ending, and what then.
    public struct Ending: Sendable, Equatable {
        /// What NodeExited will say.
        public var cause: ExitCause
        /// What comes after.
        public var next: Next
        /// Whether KILL was sent.
        public var isKilled: Bool
    }

    /// What comes after a host has ended.
    public enum Next: Sendable, Equatable {
        /// Nothing: somebody asked for a stop.
        case stop
        /// Another start, at once: somebody asked for a restart.
        case start
        /// Another start, at once: the key that its node refused has been put right.
        case again
        /// Another start as the restart policy allows: it had to be killed.
        case retry
        /// Room for another profile: the account is closed.
        case close
        /// The end of the supervisor.
        case shutDown
    }

    /// The word that stands in `bus.status`.
    public var name: String {
        switch self {
        case .stopped, .ended: "stopped"
        case .starting: "starting"
        case .ready: "ready"
        case .stopping, .closing: "stopping"
        case .backingOff: "backing_off"
        case .failed: "failed"
        }
    }

    /// The host that lives in this state.
    public var host: Host? {
        switch self {
        case .starting(.waiting(let host)), .ready(let host), .stopping(let host, _): host
        case .stopped, .starting(.openingAccount), .starting(.recording), .closing, .backingOff, .failed, .ended: nil
        }
    }
}

/// What is wrong with a start, in a word and a sentence.
public struct Fault: Sendable, Equatable {
    /// A stable word.
    public let reason: String
    /// A sentence for an operator: what, where, what to do.
    public let message: String
    /// Whether starting again cannot help until a person has changed something.
    public let isPermanent: Bool

    /// A fault of its parts.
    public init(reason: String, message: String, isPermanent: Bool) {
        self.reason = reason
        self.message = message
        self.isPermanent = isPermanent
    }
}

/// Why a host stopped, as far as the operating system and our own orders can tell.
///
/// An order always wins over what the kernel reports: a host that we told to stop and that then crashed was stopped, not crashed.
public enum ExitCause: String, Sendable, CaseIterable {
    /// We asked: `node.stop`, `node.restart`, shutdown.
    case commanded
    /// We asked, to make room for another profile.
    case switching = "switch"
    /// It ended by itself, whatever its status.
    case crash
    /// It did not start, answer or stop in time, and we killed it.
    case hang
    /// The supervisor that ran it was lost.
    case lostSupervisor = "lost_supervisor"
}
