// Linux: thin, safe Swift over what the kernel offers and Foundation does not: descriptors that are closed once,
// locks that ThreadSanitizer understands, event descriptors, pidfds, our own spawn. Start here; then read
// Descriptor.swift and Spawn.swift.

import Glibc

/// A mutual-exclusion lock around one value.
///
/// Not `Synchronization.Mutex`: correct uses of it are reported as races by ThreadSanitizer with this toolchain,
/// `pthread_mutex_t` is understood. Never hold it across a native call or a disk write.
public final class Lock<Value>: @unchecked Sendable {
    // Safe: `kept` is touched only between lock and unlock of `mutex`, which has a stable address of its own. Never
    // without a size: a member that has none (Void) lies at the object's own address, and ThreadSanitizer takes its
    // changes for changes of the object.
    private var kept: (value: Value, size: UInt8)
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// A lock around `value`.
    public init(_ value: sending Value) {
        kept = (value, 0)
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "pthread_mutex_init failed with \(status)")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the value, alone.
    public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&kept.value)
    }
}
