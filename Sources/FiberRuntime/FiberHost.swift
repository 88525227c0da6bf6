// FiberRuntime: the host process of a Fiber node. It loads the native library, tells the supervisor what
// it can do, starts the node, makes calls for the supervisor, puts every event into the ring, and stops the node.
// Read FiberHost (the main thread), NativeThread (where the library is called) and EventSink (where it calls us);
// then NativeCall and FiberCalls for what is offered on the bus.

import Glibc
import HostLink
import Linux
import Wire

/// The main thread: it waits for the supervisor, for signals and for the native thread, never inside native code, so
/// that a node that hangs cannot keep the process.
final class FiberHost {
    private let arguments: HostArguments
    private let signals: SignalDescriptor
    private let link: HostEnd
    private let native: NativeThread
    private let sink: EventSink
    private var fragile: FragileWork
    private var phase = Phase.starting

    private enum Phase {
        /// `fiber_start` has not returned.
        case starting
        /// The node runs and takes calls.
        case running
        /// A stop was ordered. `duringStart`: `fiber_start` had not returned by then, and still has not.
        case stopping(deadline: Instant, exit: HostExit, duringStart: Bool)
    }

    init(
        arguments: HostArguments, signals: consuming SignalDescriptor, link: HostEnd, native: NativeThread,
        sink: EventSink
    ) {
        self.arguments = arguments
        self.signals = signals
        self.link = link
        self.native = native
        self.sink = sink
        fragile = FragileWork(dataDirectory: arguments.dataDirectory)
    }

    /// Starts the node and serves the supervisor until the process ends.
    func run() -> Never {
        do { try native.start(arguments, sink) } catch {
            HostProcess.end(.startFailed, "no thread for the node: \(error)")
        }
        while true { step() }
    }

    private func step() {
        // A link that ended stays readable for ever; while stopping nothing from it matters but calls to refuse,
        // which die with it.
        var entries = [
            pollfd(fd: isStopping ? -1 : link.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals.raw, events: Int16(POLLIN), revents: 0),
            pollfd(fd: native.reportWake.raw, events: Int16(POLLIN), revents: 0),
        ]
        poll(&entries, nfds_t(entries.count), timeout)
        for report in native.takeReports() { take(report) }
        if sink.didNetworkStop, case .running = phase {
            end(
                .nodeDied,
                Fatal(
                    reason: "network_stopped", message: "the node's network stopped without an order",
                    isPermanent: false))
        }
        while let signal = signals.next() { beginStop(.stopped, "signal \(signal)") }
        if entries[0].revents != 0 { receive() }
        enforceDeadline()
    }

    private var stopTimeout: Duration { .milliseconds(arguments.stopTimeoutMilliseconds) }

    private var isStopping: Bool { if case .stopping = phase { true } else { false } }

    /// How long the next wait may be, in milliseconds: while a stop waits for a start, short enough to see what the
    /// start is doing, past the deadline too.
    private var timeout: Int32 {
        guard case .stopping(let deadline, _, let duringStart) = phase else { return -1 }
        let rest = deadline.millisecondsFromNow()
        guard duringStart else { return rest }
        return rest > 0 ? min(rest, 200) : 200
    }

    private func receive() {
        do {
            guard let messages = try link.receive() else { return beginStop(.stopped, "the link's end") }
            for message in messages { take(message) }
        } catch {
            beginStop(.linkBroken, "nonsense on the link (\(error))")
        }
    }

    private func take(_ message: SupervisorMessage) {
        switch message {
        case .call(let id, let method, let parameters): native.call(id: id, method: method, parameters: parameters)
        case .stop: beginStop(.stopped, "the supervisor's order")
        }
    }

    private func take(_ report: NativeThread.Report) {
        switch (report, phase) {
        case (.started, .starting):
            phase = .running
            link.send(.ready)
        case (.started, .stopping(let deadline, let exit, _)):
            // The stop stands in the native thread's queue already. Where fragile work took the start past the
            // deadline, it gets its time anew.
            let now = Instant.now
            let rest = deadline > now ? deadline : now + stopTimeout
            phase = .stopping(deadline: rest, exit: exit, duringStart: false)
        case (.started, .running): preconditionFailure("a node starts once")
        case (.startFailed(let fatal), _): end(.startFailed, fatal)
        case (.nodeDied(let fatal), _): end(.nodeDied, fatal)
        case (.linkLost, _): beginStop(.stopped, "a reply that nobody took")
        case (.stopped(nil), .stopping(_, let exit, _)): HostProcess.end(exit, "the node has stopped")
        case (.stopped(let failure?), .stopping): HostProcess.end(.stopFailed, "fiber_stop failed: \(failure)")
        case (.stopped, .starting), (.stopped, .running): preconditionFailure("a node stops when ordered to")
        }
    }

    /// Orders the stop, once: what comes after the first order changes neither its deadline nor how the process will
    /// end.
    private func beginStop(_ exit: HostExit, _ cause: String) {
        let duringStart: Bool
        switch phase {
        case .starting: duringStart = true
        case .running: duringStart = false
        case .stopping: return
        }
        HostProcess.say("stopping the node (\(cause))\(duringStart ? " once its start has returned" : "")")
        let deadline = Instant.now + stopTimeout
        phase = .stopping(deadline: deadline, exit: exit, duringStart: duringStart)
        native.stop()
    }

    private func enforceDeadline() {
        guard case .stopping(let deadline, _, let duringStart) = phase else { return }
        let now = Instant.now
        if duringStart {
            fragile.look(now)
            if now < deadline + FragileWork.limit && fragile.isUnderWay(now) { return }
        }
        guard now >= deadline else { return }
        let what = native.running.map { "\($0) has not returned" } ?? "the node's thread is busy"
        HostProcess.end(
            .stopTimedOut, "the stop took longer than \(arguments.stopTimeoutMilliseconds) ms: \(what)")
    }

    private func end(_ exit: HostExit, _ fatal: Fatal) -> Never {
        link.send(.fatal(fatal))
        HostProcess.end(exit, "\(fatal.reason): \(fatal.message)")
    }
}
