import Glibc

/// Where the running program stands: the programs and the simulated node find each other beside themselves.
public enum Program {
    /// The directory of the running program, absolute.
    public static let directory: String = {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        // Without /proc nothing else here works either; "." then gives the clearest later error.
        guard count > 0 else { return "." }
        let path = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }()

    /// Begins this program anew with Swift's crash reporter off, unless it is: a report prints memory, and memory holds
    /// keys. The reporter is set up before `main`, so it can only be turned off by the environment the program begins
    /// with. Signals that wait go on waiting.
    public static func turnOffCrashReports() {
        guard getenv("SWIFT_BACKTRACE").map({ String(cString: $0) }) != "enable=no" else { return }
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
        execv("/proc/self/exe", CommandLine.unsafeArgv)
        // Without /proc it goes on as it is.
    }
}
