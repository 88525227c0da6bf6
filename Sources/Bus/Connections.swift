import Linux
import Synchronization
import ZeroMQ

/// The connections of one socket, as its monitor tells.
final class Connections {
    let monitor: Monitor
    private let paths: [String]
    private let figures: Figures
    private let role: WritableKeyPath<Figures.Counts, Int>
    private(set) var live: Set<Int32> = []
    /// Those shut down by us that have not gone yet.
    private var cut: Set<Int32> = []

    /// Watches `socket`, whose Unix sockets are at `paths`, and keeps count in `figures`.
    init(
        of socket: Socket, paths: [String], figures: Figures, role: WritableKeyPath<Figures.Counts, Int>
    ) throws(ZeroMQError) {
        monitor = try Monitor(of: socket)
        self.paths = paths
        self.figures = figures
        self.role = role
    }

    var count: Int { live.count - cut.count }

    /// Reads all that happened. New connections that do not fit into `room` are shut down, the newest of them. `closed`
    /// is told who went.
    func update(room: Int, closed: (Int32) -> Void = { _ in }) throws(ZeroMQError) {
        var new: [Int32] = []
        while let event = try monitor.next() {
            switch event.kind {
            case .accepted:
                live.insert(event.value)
                new.append(event.value)
            case .disconnected:
                live.remove(event.value)
                cut.remove(event.value)
                closed(event.value)
            case .handshakeFailed, .handshakeFailedProtocol, .handshakeFailedAuthentication:
                figures.change { $0.handshakeFailures += 1 }
            case .acceptFailed: figures.change { $0.acceptFailures += 1 }
            case .connected, .connectDelayed, .connectRetried, .listening, .bindFailed, .closed, .closeFailed,
                .handshakeSucceeded, .stopped, .other:
                break
            }
        }
        // Only now: a number that is still live when all is read is most likely the connection it was.
        while count > max(0, room), let last = new.popLast() { shutDown(last) }
        figures.change { $0[keyPath: role] = live.count }
    }

    /// Ends a connection. The number may be another's by now: then at worst another connection of ours goes, whose
    /// client comes back.
    func shutDown(_ descriptor: Int32) {
        guard live.contains(descriptor), !cut.contains(descriptor) else { return }
        if UnixSocket.shutDown(descriptor, acceptedOn: paths) {
            cut.insert(descriptor)
            figures.change { $0.connectionsCut += 1 }
        }
    }
}

/// What the bus counts, for everyone to read.
final class Figures: Sendable {
    struct Counts: Sendable {
        var subscribers = 0
        var clients = 0
        var handshakeFailures = 0
        var acceptFailures = 0
        var connectionsCut = 0
        var batchesDropped = 0
        var faults = 0
        var lastFault = ""
    }

    private let counts = Lock(Counts())

    var now: Counts { counts.withLock { $0 } }

    func change(_ body: (inout Counts) -> Void) { counts.withLock { body(&$0) } }
}
