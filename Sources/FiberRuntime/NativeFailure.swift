import CFiber
import Wire

/// A native call that failed: its status and the text that went with it.
struct NativeFailure: Equatable {
    let status: UInt32
    /// The last error as the library gave it. Not to be shown: see `NativeText`.
    let text: String

    /// What a native function returned; nil when it succeeded. The text is read here at once: the library keeps one
    /// per thread, until that thread's next call.
    init?(_ status: FiberFfiStatus, _ library: Library) {
        guard status != FIBER_FFI_STATUS_OK else { return nil }
        self.init(status: status.rawValue, text: NativeFailure.lastError(library))
    }

    init(status: UInt32, text: String) {
        self.status = status
        self.text = text
    }

    /// Longest text taken, in bytes: it repeats requests, which have no limit of their own.
    private static let textLimit = 1 << 20

    private static func lastError(_ library: Library) -> String {
        let length = min(library.lastErrorMessage(nil, 0), textLimit)
        guard length > 0 else { return "" }
        var buffer = [CChar](repeating: 0, count: length + 1)
        _ = library.lastErrorMessage(&buffer, buffer.count)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The status's name in the C ABI, without its prefix.
    var statusName: String {
        switch FiberFfiStatus(rawValue: status) {
        case FIBER_FFI_STATUS_OK: "OK"
        case FIBER_FFI_STATUS_NULL_POINTER: "NULL_POINTER"
        case FIBER_FFI_STATUS_INVALID_ARGUMENT: "INVALID_ARGUMENT"
        case FIBER_FFI_STATUS_STARTUP_FAILED: "STARTUP_FAILED"
        case FIBER_FFI_STATUS_ALREADY_STOPPED: "ALREADY_STOPPED"
        case FIBER_FFI_STATUS_PANIC: "PANIC"
        case FIBER_FFI_STATUS_NOT_READY: "NOT_READY"
        default: "UNKNOWN"
        }
    }

    /// Whether the node is dead inside the live process, so that every further call fails. `onChannel`: the call was
    /// about one channel; there "channel is closed" can also mean that this channel is unknown or has just ended.
    func isNodeDead(onChannel: Bool) -> Bool {
        if status == FIBER_FFI_STATUS_PANIC.rawValue { return true }
        if text.contains("Messaging failed to enqueue the message to the specified actor") { return true }
        return !onChannel && text.contains("Messaging failed because channel is closed")
    }

    /// The error as the bus answers it. `known` as in `NativeText.shown`; `meaning` is the reason of every refusal of a
    /// call that can be refused for one reason only.
    func error(of method: String, known: Set<String>, isNodeDead: Bool, meaning: String? = nil) -> BusError {
        if status == FIBER_FFI_STATUS_NOT_READY.rawValue { return notReady(method) }
        let shown = NativeText.shown(text, known: known)
        let reason: String
        switch status {
        case FIBER_FFI_STATUS_PANIC.rawValue: reason = "panic"
        case _ where isNodeDead: reason = "dead_node"
        default: reason = meaning ?? NativeFailure.reason(of: text, status: status)
        }
        return BusError(
            .nodeError, "\(method) failed: \(shown.isEmpty ? "the library gave no reason" : shown)",
            data(reason))
    }

    /// NOT_READY carries the readiness object after a fixed sentence.
    private func notReady(_ method: String) -> BusError {
        let json = text.firstIndex(of: "{").map { Array(text[$0...].utf8) }
        let readiness = json.flatMap { try? JSON.parse($0) }
        let why = readiness?["reason"]?.text ?? "it gave no reason"
        let wait = readiness?["wait_estimate"]?["retry_after_seconds"]?.integer.map { "; try again in \($0) s" } ?? ""
        return BusError(
            .notReady, "\(method): the node's CKB backend is not ready: \(NativeText.shown(why))\(wait)",
            [
                "status": .string(statusName), "status_code": .integer(Int64(status)), "reason": "not_ready",
                "readiness": readiness ?? .null,
            ])
    }

    private func data(_ reason: String) -> KeyValuePairs<String, JSON> {
        ["status": .string(statusName), "status_code": .integer(Int64(status)), "reason": .string(reason)]
    }
}
