import CLinux
import Glibc

/// Starts a thread of its own that runs `body` and ends with it. `name` (at most 15 bytes) is what `ps -L` shows.
public func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let status = pthread_create(
        &thread, &attributes,
        { argument in
            guard let argument else { return nil }
            let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
            _ = nb_set_thread_name(start.name)
            start.body()
            return nil
        }, start.toOpaque())
    guard status == 0 else {
        start.release()
        throw SystemError(code: status, call: "pthread_create", subject: name)
    }
}

private final class ThreadStart {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}
