import Glibc
import Linux

/// A value behind a lock that threads can wait on for a change.
final class Monitor<Value>: @unchecked Sendable {
    // Safe: `value` is touched only between lock and unlock of `mutex`. Mutex and condition have stable addresses of
    // their own.
    private var value: Value
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// What a look at the value came to.
    enum Turn<Result> {
        /// What was waited for.
        case done(Result)
        /// Look again after the next change, or at this time at the latest.
        case wait(until: Instant?)
    }

    init(_ value: sending Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        changed.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let status = pthread_mutex_init(mutex, nil) + pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
        precondition(status == 0, "a mutex or a condition could not be made")
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` with the value, alone, and wakes whoever waits for a change.
    func change<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
        return try body(&value)
    }

    /// Looks at the value until `body` is done.
    func wait<Result>(_ body: (inout Value) -> Turn<Result>) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            switch body(&value) {
            case .done(let result):
                pthread_cond_broadcast(changed)
                return result
            case .wait(nil):
                pthread_cond_wait(changed, mutex)
            case .wait(let deadline?):
                var time = timespec(
                    tv_sec: Int(deadline.nanoseconds / 1_000_000_000),
                    tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
                pthread_cond_timedwait(changed, mutex, &time)
            }
        }
    }
}

/// A thread of the library.
struct NativeThread: Sendable {
    private let id: pthread_t

    /// Starts a thread that runs `body`.
    init(_ body: @escaping @Sendable () -> Void) {
        var id = pthread_t()
        let box = Unmanaged.passRetained(Box(body))
        let status = pthread_create(&id, nil, { runBox($0) }, box.toOpaque())
        precondition(status == 0, "pthread_create failed with \(status)")
        self.id = id
    }

    /// Waits until the thread has ended. Exactly one of `join` and `detach` is called.
    func join() { pthread_join(id, nil) }

    /// Lets the thread end by itself.
    func detach() { pthread_detach(id) }
}

private final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runBox(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
    return nil
}

/// Waits for the duration, whatever signals come.
func pause(_ duration: Duration) {
    let end = Instant.now + duration
    var rest = end - .now
    while rest > .zero {
        var time = timespec(
            tv_sec: Int(rest.nanoseconds / 1_000_000_000), tv_nsec: Int(rest.nanoseconds % 1_000_000_000))
        nanosleep(&time, nil)
        rest = end - .now
    }
}

/// Never returns: what a hanging native library does.
func hang() -> Never { while true { pause(.seconds(3600)) } }
