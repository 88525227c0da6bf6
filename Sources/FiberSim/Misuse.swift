import CFiber
import Glibc
import Linux

/// What the library says outside its calls.
enum Standard {
    /// One line on stderr, as the real library's panic reports.
    static func error(_ text: String) { write("fiber_sim (simulated node): \(text)\n", to: STDERR_FILENO) }

    /// Writes text to a descriptor; a reader that is gone is no reason to end.
    static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// Ends the process: the program broke the contract in a way that is undefined behaviour with the real library.
func misuse(_ text: String) -> Never {
    Standard.error("misuse: \(text)")
    abort()
}

/// The strings that callers hold.
enum LentStrings {
    private static let live = Lock<Set<UInt>>([])

    /// How many strings were returned and not freed yet.
    static var count: Int { live.withLock { $0.count } }

    /// A C string for the caller, to be freed by fiber_string_free.
    static func lend(_ text: String) -> UnsafeMutablePointer<CChar> {
        guard let copy = strdup(text) else { misuse("out of memory") }
        live.withLock { _ = $0.insert(UInt(bitPattern: copy)) }
        return copy
    }

    /// Takes a string back, overwritten so that whoever still reads it notices.
    static func takeBack(_ string: UnsafeMutablePointer<CChar>) {
        guard live.withLock({ $0.remove(UInt(bitPattern: string)) }) != nil else {
            misuse(
                "fiber_string_free of a pointer that is not a live string of this library (freed twice, or not ours)")
        }
        Spoiled.discard(string, count: strlen(string))
    }
}

/// Memory that a program must not look at any more.
enum Spoiled {
    // The last one stays until the next comes. Freed at once, the overwriting would be dead code to the compiler, which
    // leaves it out; and the program would see what comes after instead of what is wrong.
    private static let last = Lock<UInt>(0)

    /// Overwrites `count` bytes of memory from malloc with 0xDD, and frees it after the next that is discarded.
    static func discard(_ memory: UnsafeMutableRawPointer, count: Int) {
        memset(memory, 0xDD, count)
        let previous = last.withLock { last in
            defer { last = UInt(bitPattern: memory) }
            return last
        }
        free(UnsafeMutableRawPointer(bitPattern: previous))
    }
}

/// How often each function was called in this process.
enum CallCounts {
    private static let counts = Lock<[ABICall: Int]>([:])

    static func count(_ name: ABICall) { counts.withLock { $0[name, default: 0] += 1 } }

    /// The functions called so far and how often.
    static var byName: [String: Int] {
        counts.withLock { counts in
            Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
        }
    }
}

/// The handles that exist. Their memory is never given back, so that a stale one can never equal a new one.
enum Handles {
    private struct Entry {
        let node: RunningNode
        var callsInFlight = 0
    }
    private static let live = Lock<[UInt: Entry]>([:])

    /// A new handle for a node.
    static func make(_ node: RunningNode) -> OpaquePointer {
        let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        memory.initialize(to: 0x7369_6d5f_6e6f_6465)
        live.withLock { $0[UInt(bitPattern: memory)] = Entry(node: node) }
        return OpaquePointer(memory)
    }

    /// The node that is running now, if any.
    static var running: RunningNode? { live.withLock { $0.values.first?.node } }

    /// Lends the node to one call; fiber_stop must not come in between.
    static func borrow<Result>(
        _ handle: OpaquePointer, for call: ABICall, _ body: (RunningNode) throws -> Result
    ) throws -> Result {
        let key = UInt(bitPattern: handle)
        let node = live.withLock { live -> RunningNode? in
            live[key]?.callsInFlight += 1
            return live[key]?.node
        }
        guard let node else { misuse("\(call.rawValue) with a handle that is stopped or was never made") }
        defer { live.withLock { $0[key]?.callsInFlight -= 1 } }
        return try body(node)
    }

    /// Takes the handle out of use for fiber_stop.
    static func consume(_ handle: OpaquePointer) -> RunningNode {
        guard let entry = live.withLock({ $0.removeValue(forKey: UInt(bitPattern: handle)) }) else {
            misuse("fiber_stop with a handle that is stopped or was never made")
        }
        guard entry.callsInFlight == 0 else {
            misuse("fiber_stop while \(entry.callsInFlight) call(s) on the same handle are running")
        }
        return entry.node
    }
}
