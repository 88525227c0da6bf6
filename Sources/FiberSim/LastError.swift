import Glibc

/// The last error of each thread.
///
/// One slot per operating-system thread, set by every failing call and cleared by every succeeding one; fiber_version,
/// fiber_string_free and the reading itself leave it alone.
enum LastError {
    /// Sets this thread's message. A NUL in it, which C could not show, becomes the two characters `\0`.
    static func set(_ text: String) {
        ThreadState.current.lastError = Array(text.replacing("\0", with: "\\0").utf8)
    }

    /// This thread has no error any more.
    static func clear() { ThreadState.current.lastError = [] }

    /// The full length of the message; as much of it as fits is copied bytewise, always terminated.
    static func copy(to buffer: UnsafeMutablePointer<CChar>?, size: Int) -> Int {
        let message = ThreadState.current.lastError
        guard let buffer, size > 0 else { return message.count }
        let count = min(message.count, size - 1)
        message.withUnsafeBytes { if let base = $0.baseAddress { memcpy(buffer, base, count) } }
        buffer[count] = 0
        return message.count
    }
}

/// What the library remembers of one thread.
final class ThreadState {
    var lastError: [UInt8] = []
    /// Whether this thread is inside an event callback, where no call may reach the node.
    var isInCallback = false

    /// The calling thread's state, freed when the thread ends.
    static var current: ThreadState {
        if let known = pthread_getspecific(key) {
            return Unmanaged<ThreadState>.fromOpaque(known).takeUnretainedValue()
        }
        let state = ThreadState()
        pthread_setspecific(key, Unmanaged.passRetained(state).toOpaque())
        return state
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let status = pthread_key_create(&key) { state in
            if let state { Unmanaged<ThreadState>.fromOpaque(state).release() }
        }
        precondition(status == 0, "pthread_key_create failed with \(status)")
        return key
    }()
}
