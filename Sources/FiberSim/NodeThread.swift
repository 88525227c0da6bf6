import Linux

/// The thread on which the node lives: calls, and what the simulated network and chain do later, one after the other in
/// order of time.
final class NodeThread: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var timers: [Timer] = []
        var isStopping = false
    }
    private struct Timer {
        let due: Instant
        let job: @Sendable () -> Void
    }
    private enum Work {
        case job(@Sendable () -> Void)
        case end
    }

    private let state = Monitor(State())

    /// Runs the thread until `stop`; `join` the result after that.
    func begin() -> NativeThread {
        NativeThread { [self] in
            while case .job(let job) = next() { job() }
        }
    }

    /// Runs `body` on the node's thread and waits for it, without limit, as the real library waits for its actors.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
        let reply = Monitor<Swift.Result<Result, any Error>?>(nil)
        state.change { state in
            state.jobs.append {
                let result = Swift.Result(catching: body)
                reply.change { $0 = result }
            }
        }
        return try reply.wait { $0.map { .done($0) } ?? .wait(until: nil) }.get()
    }

    /// Runs `body` on the node's thread soon.
    func post(_ body: @escaping @Sendable () -> Void) { state.change { $0.jobs.append(body) } }

    /// Runs `body` on the node's thread in a while, unless the node is stopped before.
    func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
        let due = Instant.now + delay
        state.change { state in
            // A job that runs while the node is stopped; kept, it would keep the node and its store open.
            guard !state.isStopping else { return }
            // Behind those of the same time, so that the order is that of the calls.
            let place = state.timers.firstIndex { $0.due > due } ?? state.timers.endIndex
            state.timers.insert(Timer(due: due, job: body), at: place)
        }
    }

    /// Ends the thread after the jobs that are already there; timers are dropped.
    func stop() {
        state.change { state in
            state.isStopping = true
            state.timers = []
        }
    }

    private func next() -> Work {
        state.wait { state in
            // What is due comes before what is asked now, or a busy program would stop the network.
            if let timer = state.timers.first, timer.due <= .now {
                state.timers.removeFirst()
                return .done(.job(timer.job))
            }
            if !state.jobs.isEmpty { return .done(.job(state.jobs.removeFirst())) }
            return state.isStopping ? .done(.end) : .wait(until: state.timers.first?.due)
        }
    }
}
