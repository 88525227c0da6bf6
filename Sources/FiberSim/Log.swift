import Glibc
import Linux

/// The node's log: stdout, or the file that `FIBER_FFI_LOG_FILE` names at the first start. Initialised once a process.
enum Log {
    private struct Sink {
        var descriptor: Int32 = STDOUT_FILENO
        var writes = false
    }
    private static let sink = Lock<Sink?>(nil)

    /// Opens the log and says what this is. The first caller's level stays; an empty filter lets nothing more through.
    static func begin(level: String?) {
        let isFirst = sink.withLock { sink in
            guard sink == nil else { return false }
            var made = Sink()
            let quiet = ["", "off", "error", "warn"]
            made.writes = !quiet.contains(level?.lowercased() ?? "info")
            if let path = getenv("FIBER_FFI_LOG_FILE").map({ String(cString: $0) }),
                let file = try? Descriptor.open(path, O_WRONLY | O_CREAT | O_APPEND)
            {
                made.descriptor = file.release()
            }
            sink = made
            return true
        }
        if isFirst { line("simulated Fiber node \(versionString): no network, no chain, no money") }
    }

    /// One line, when the level lets it through.
    static func write(_ text: String) { if sink.withLock({ $0?.writes ?? false }) { line(text) } }

    private static func line(_ text: String) {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        var stamp = [CChar](repeating: 0, count: 32)
        let count = strftime(&stamp, stamp.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        let date = String(decoding: stamp.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        Standard.write("\(date)  INFO fiber_sim: \(text)\n", to: sink.withLock { $0?.descriptor ?? STDOUT_FILENO })
    }
}

/// What fiber_version says.
let versionString = "0.9.0-sim"

/// The same as a C string that lives as long as the process.
nonisolated(unsafe) let versionText: UnsafePointer<CChar>? = {
    // Safe: written here once, only read afterwards.
    UnsafePointer(strdup(versionString))
}()
