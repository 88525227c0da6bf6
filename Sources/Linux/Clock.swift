import Glibc

/// A point of the monotonic clock. Durations and deadlines come from here only; wall time is data (WallClock).
public struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since an arbitrary start.
    public let nanoseconds: Int64

    /// A point given in nanoseconds (for simulated time).
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Now, by CLOCK_MONOTONIC.
    public static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Earlier on the clock.
    public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The point `duration` later.
    public static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return Instant(nanoseconds: overflow ? Int64.max : sum)
    }

    /// The time from `earlier` to `later`.
    public static func - (later: Instant, earlier: Instant) -> Duration {
        .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }

    /// Milliseconds from now until this point, rounded up, 0 when it has passed: what poll(2) takes.
    public func millisecondsFromNow(_ now: Instant = .now) -> Int32 {
        guard self > now else { return 0 }
        return Int32(clamping: (nanoseconds - now.nanoseconds + 999_999) / 1_000_000)
    }
}

extension Duration {
    /// Whole nanoseconds, clamped to what an Int64 holds (292 years).
    public var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000
    }

    /// Whole milliseconds.
    public var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

/// Wall time: data for people, never a deadline.
public enum WallClock {
    /// Microseconds since 1970 (UTC), by CLOCK_REALTIME.
    public static var microseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
