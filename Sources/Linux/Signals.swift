import CLinux
import Glibc

/// Signals as something to poll for, so that they are handled between two steps and never inside one.
public struct SignalDescriptor: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// Blocks these signals for this thread and every thread it starts, and takes them in through a descriptor
    /// instead. To be the first line of `main`: a signal that comes earlier ends the process, and a thread started
    /// earlier would still get them.
    public init(blocking signals: [Int32]) throws(SystemError) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        let status = pthread_sigmask(SIG_BLOCK, &set, nil)
        guard status == 0 else { throw SystemError(code: status, call: "pthread_sigmask") }
        let raw = nb_signalfd(&set)
        guard raw >= 0 else { throw .last("signalfd") }
        descriptor = Descriptor(taking: raw)
    }

    /// The number to poll for POLLIN.
    public var raw: Int32 { descriptor.raw }

    /// The next signal that came, or nil. Never waits.
    public func next() -> Int32? {
        // struct signalfd_siginfo (not in Swift's Glibc module): 128 bytes, the signal's number first.
        var info = [UInt32](repeating: 0, count: 32)
        guard read(descriptor.raw, &info, 128) == 128 else { return nil }
        return Int32(info[0])
    }
}

/// What a process that holds keys does to itself before anything else.
public enum Hardening {
    /// A write to a pipe or socket whose reader is gone answers EPIPE instead of ending the process.
    public static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    /// No core file, no core through a pipe handler, no ptrace by others of the same user: memory holds keys.
    public static func keepMemoryPrivate() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = nb_set_not_dumpable()
    }

    /// Files that a library makes without saying how are for their owner alone, as ours are.
    public static func keepFilesPrivate() { umask(0o077) }

    /// Asks for `signal` when the thread that started this process ends, then tells whether `parent` still is the
    /// parent: between its fork and this call the parent may have gone unnoticed.
    public static func end(by signal: Int32, with parent: pid_t) -> Bool {
        nb_set_parent_death_signal(signal) == 0 && getppid() == parent
    }
}
