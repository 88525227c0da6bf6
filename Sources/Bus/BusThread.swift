import Linux
import Wire
import ZeroMQ

/// The one thread that owns the sockets and their monitors and makes every bind. It never waits for the disk or another
/// thread. Each turn does a little of everything, so that a storm of events does not hold commands up, nor one of
/// commands the events.
final class BusThread {
    private let inbox: Inbox
    private let parts: Bus.Parts
    private let publisher: Publisher
    private let commands: CommandServer
    private let subscribers: Connections
    private let clients: Connections
    private var files: [ListeningSocket] = []
    private var poller = Poller()
    private let wakeIndex: Int
    private var nextHeartbeat = Instant.now

    /// How long one part of a turn may take.
    private static let share = Duration.milliseconds(2)

    init(_ parts: Bus.Parts, _ inbox: Inbox) throws(BusSetupError) {
        self.parts = parts
        self.inbox = inbox
        let settings = parts.settings
        let events = settings.eventEndpoints
        let all = events + settings.commandEndpoints
        for (index, endpoint) in all.enumerated() where all[..<index].contains(endpoint) {
            throw BusSetupError(
                .badEndpoint, endpoint: endpoint, reason: "stands twice", hint: "give each socket a path of its own")
        }
        var paths: [String] = []
        for endpoint in all { paths.append(try ListeningSocket.path(of: endpoint)) }
        do {
            let context = try Context()
            publisher = try Publisher(context, settings, inbox)
            commands = try CommandServer(context, parts, inbox)
            // Before the first bind, so that no connection goes uncounted.
            subscribers = try Connections(
                of: publisher.socket, paths: Array(paths.prefix(events.count)), figures: parts.figures,
                role: \.subscribers)
            clients = try Connections(
                of: commands.socket, paths: Array(paths.dropFirst(events.count)), figures: parts.figures,
                role: \.clients)
        } catch { throw .system("", error) }
        wakeIndex = poller.add(descriptor: inbox.wake.raw)
        for socket in [publisher.socket, commands.socket, subscribers.monitor.socket, clients.monitor.socket] {
            _ = poller.add(socket)
        }
        for endpoint in events { files.append(try ListeningSocket(endpoint, for: publisher.socket)) }
        for endpoint in settings.commandEndpoints { files.append(try ListeningSocket(endpoint, for: commands.socket)) }
    }

    /// Works until it is told to end.
    func run() {
        var hasMore = false
        while true {
            do {
                try poller.wait(hasMore ? .zero : untilNextTimer)
                if poller[wakeIndex].contains(.readable) { inbox.wake.clear() }
                if let end = inbox.end { return finish(by: end) }
                hasMore = try turn()
            } catch {
                // None is known that could come here. Whatever it is must neither end the bus nor make it spin.
                parts.figures.change {
                    $0.faults += 1
                    $0.lastFault = "\(error)"
                }
                hasMore = false
                var pause = Poller()
                _ = pause.add(descriptor: inbox.wake.raw)
                _ = try? pause.wait(.milliseconds(10))
            }
        }
    }

    /// One round; true when something was left.
    private func turn() throws -> Bool {
        let room = parts.settings.maxConnections
        try subscribers.update(room: room - clients.count) { publisher.forget($0) }
        try clients.update(room: room - subscribers.count)
        var hasMore = try publisher.readSubscriptions(until: .now + BusThread.share) { subscribers.shutDown($0) }
        if try publisher.publish(until: .now + BusThread.share) { hasMore = true }
        commands.sendParked()
        if try commands.serve(until: .now + BusThread.share, excess: { clients.shutDown($0) }) { hasMore = true }
        commands.sendReplies()
        let now = Instant.now
        commands.answerLate(now)
        if now >= nextHeartbeat {
            try publisher.heartbeat(parts.status())
            // Not `nextHeartbeat + heartbeat`: after a pause of the whole machine that would send all that were missed.
            nextHeartbeat = now + parts.settings.heartbeat
        }
        return hasMore
    }

    private var untilNextTimer: Duration {
        var next = nextHeartbeat
        for timer in [commands.nextDeadline, commands.parked.nextTry] {
            if let timer, timer < next { next = timer }
        }
        return next - .now
    }

    /// Publishes what is queued, answers whoever still waits, and leaves the rest to libzmq, all by `end`.
    private func finish(by end: Instant) {
        files = []
        do {
            // Each step gets half of what is left, and libzmq the rest.
            var half: Instant { .now + (end - .now) / 2 }
            _ = try publisher.publish(until: half)
            _ = try commands.serve(until: .now + BusThread.share) { clients.shutDown($0) }
            commands.answerAll()
            let patience = half
            while !commands.parked.isEmpty, Instant.now < patience {
                var pause = Poller()
                _ = try pause.wait(.milliseconds(2))
                commands.sendParked()
            }
            for socket in [publisher.socket, commands.socket] { try socket.set(.linger, end - .now) }
        } catch {
            parts.figures.change {
                $0.faults += 1
                $0.lastFault = "\(error)"
            }
        }
        inbox.close()
    }
}
