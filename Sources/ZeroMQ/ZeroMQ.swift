// ZeroMQ: a thin, safe wrapper over libzmq. A `Context` is shared by all threads; a `Socket`, its `Monitor` and a
// `Poller` belong to one thread at a time, which the compiler holds us to since they are not Sendable. Nothing here
// waits without a deadline. Start here; then read Socket.swift, SocketOption.swift, Poller.swift and Monitor.swift.

import CZeroMQ

/// The I/O threads that serve all sockets made from it. One per process is usual.
///
/// It ends when it and its sockets are no longer referenced, and then waits for at most the longest linger of those
/// sockets.
public final class Context: @unchecked Sendable {
    // Safe: a libzmq context is documented as thread-safe (http://api.zeromq.org/4-3:zmq-ctx-new), and the pointer
    // never changes.
    let handle: UnsafeMutableRawPointer

    /// A context with its own I/O threads.
    public init(ioThreads: Int32 = 1) throws(ZeroMQError) {
        guard let made = zmq_ctx_new() else { throw .last("make a context") }
        handle = made
        let settings = [
            (ZMQ_IO_THREADS, ioThreads),
            // A socket that sets no linger must not hold the end of the process up.
            (ZMQ_BLOCKY, 0),
        ]
        for (option, value) in settings where zmq_ctx_set(handle, option, value) != 0 {
            // Without sockets the deinit that follows this throw does not wait.
            throw .last("set up a context")
        }
    }

    deinit {
        // Every socket holds its context, so all are closed here.
        while zmq_ctx_term(handle) != 0 && zmq_errno() == EINTR {}
    }

    /// Makes every present and future operation on the sockets of this context fail with `ZeroMQError.isTerminated`,
    /// and so ends all their waits, from any thread.
    public func terminate() { zmq_ctx_shutdown(handle) }
}

/// A failed libzmq call: which, on what, and the errno it gave.
public struct ZeroMQError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The errno value; libzmq has some of its own above 156384712.
    public let code: Int32
    /// What was tried, such as `bind`.
    public let call: String
    /// The endpoint or option it was about; empty when there is none.
    public let subject: String

    /// An error with an explicit errno value.
    public init(code: Int32, call: String, subject: String = "") {
        self.code = code
        self.call = call
        self.subject = subject
    }

    static func last(_ call: String, _ subject: String = "") -> ZeroMQError {
        ZeroMQError(code: zmq_errno(), call: call, subject: subject)
    }

    /// libzmq's words for the errno value.
    public var reason: String { String(cString: zmq_strerror(code)) }

    /// Whether the context was terminated.
    public var isTerminated: Bool { code == 156_384_712 + 53 }

    /// Whether the address is held by another socket.
    public var isAddressInUse: Bool { code == EADDRINUSE }

    /// Whether a ROUTER with `.routerMandatory` has no such peer.
    public var isUnroutable: Bool { code == EHOSTUNREACH }

    /// `bind ipc:///run/x.sock: Address already in use`.
    public var description: String { subject.isEmpty ? "\(call): \(reason)" : "\(call) \(subject): \(reason)" }
}
