import Glibc
import Linux
import NodeBusClient
import Wire
import ZeroMQ

/// Says on stderr, if that is a terminal, what the supervisor is doing while a long call is waited for: one line, written anew.
struct Progress {
    /// What its thread and the main thread tell each other.
    private final class Signals: Sendable {
        let stop: WakeDescriptor
        let stopped: WakeDescriptor

        init() throws(SystemError) {
            stop = try WakeDescriptor()
            stopped = try WakeDescriptor()
        }
    }

    private let signals: Signals?

    /// Begins to ask the supervisor at `endpoint`, on a thread and a connection of its own.
    init(_ endpoint: String) {
        guard isatty(STDERR_FILENO) == 1, let signals = try? Signals() else {
            signals = nil
            return
        }
        do {
            try startThread("progress") {
                Progress.follow(endpoint, until: signals.stop.raw)
                signals.stopped.wake()
            }
            self.signals = signals
        } catch {
            self.signals = nil
        }
    }

    /// Ends it, and takes the line away. May be called again.
    func end() {
        guard let signals else { return }
        signals.stop.wake()
        var entry = pollfd(fd: signals.stopped.raw, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 3000)
    }

    private static func follow(_ endpoint: String, until stop: Int32) {
        guard let context = try? Context(), let client = try? CommandClient(endpoint: endpoint, context: context) else {
            return
        }
        let start = ContinuousClock.now
        var isShown = false
        var entry = pollfd(fd: stop, events: Int16(POLLIN), revents: 0)
        // What is done within half a second needs no line.
        while poll(&entry, 1, 500) == 0 {
            let status = try? client.callJSON("bus.status", timeout: .seconds(1))
            let profile = [status?["network"]?.text, status?["account"]?.text].compactMap { $0 }.joined(separator: "/")
            let state = status.flatMap { $0["state"]?.text } ?? "no answer from the supervisor"
            show("\r\u{1b}[K\(visible("\(profile) \(state)")), \((ContinuousClock.now - start).components.seconds) s")
            isShown = true
        }
        if isShown { show("\r\u{1b}[K") }
    }

    private static func show(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
