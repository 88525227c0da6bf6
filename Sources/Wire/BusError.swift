/// An error as the bus answers it: a JSON-RPC error object whose `data` says what a program can act on.
public struct BusError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong; the number and name are the contract's.
    public enum Code: Int, Sendable, CaseIterable {
        /// Not JSON (JSON-RPC 2.0).
        case parseError = -32700
        /// Not a request of ours (JSON-RPC 2.0).
        case invalidRequest = -32600
        /// No such method (JSON-RPC 2.0).
        case methodNotFound = -32601
        /// A parameter is wrong; `data.path` names it (JSON-RPC 2.0).
        case invalidParams = -32602
        /// A fault of ours (JSON-RPC 2.0).
        case internalError = -32603
        /// No node runs that could take the call.
        case nodeNotRunning = -32001
        /// The caller's deadline passed; `data.outcome` says `not_started` or `unknown`.
        case timeout = -32002
        /// The native call failed.
        case nodeError = -32003
        /// The caller's role or scope.
        case forbidden = -32004
        /// A switch is on; retry after it.
        case switching = -32005
        /// The node is up, its chain is not.
        case notReady = -32006
        /// The call may or may not have had its effect; `data.find` names what tells.
        case outcomeUnknown = -32007
        /// The idempotency key was used with other parameters.
        case idempotencyConflict = -32008
        /// No such account, network or consumer.
        case notFound = -32009
        /// Too much in flight.
        case overloaded = -32010
        /// The supervisor is going down.
        case shuttingDown = -32011
        /// The position is older than the oldest event kept.
        case historyTruncated = -32012
        /// The state does not allow it.
        case conflict = -32013
        /// The position is of another epoch, or above the head.
        case historyChanged = -32014
        /// The disk does not take it.
        case storage = -32015
        /// The switch failed; the profile that runs now is in `data`.
        case switchFailed = -32016

        /// The name that stands in `data.name`.
        public var name: String {
            switch self {
            case .parseError: "parse_error"
            case .invalidRequest: "invalid_request"
            case .methodNotFound: "method_not_found"
            case .invalidParams: "invalid_params"
            case .internalError: "internal_error"
            case .nodeNotRunning: "node_not_running"
            case .timeout: "timeout"
            case .nodeError: "node_error"
            case .forbidden: "forbidden"
            case .switching: "switching"
            case .notReady: "not_ready"
            case .outcomeUnknown: "outcome_unknown"
            case .idempotencyConflict: "idempotency_conflict"
            case .notFound: "not_found"
            case .overloaded: "overloaded"
            case .shuttingDown: "shutting_down"
            case .historyTruncated: "history_truncated"
            case .conflict: "conflict"
            case .historyChanged: "history_changed"
            case .storage: "storage"
            case .switchFailed: "switch_failed"
            }
        }

        /// Whether the same request may succeed later without the caller changing anything. Where the effect may have happened already
        /// (`timeout`, `outcome_unknown`) it is not.
        public var isRetryable: Bool {
            switch self {
            case .nodeNotRunning, .switching, .notReady, .overloaded, .shuttingDown, .storage: true
            case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError, .timeout, .nodeError,
                .forbidden, .outcomeUnknown, .idempotencyConflict, .notFound, .historyTruncated, .conflict,
                .historyChanged, .switchFailed:
                false
            }
        }
    }

    /// What went wrong.
    public let code: Code
    /// One sentence: what, where, and what to do next.
    public let message: String
    /// What a program can act on, besides `name` and `retryable`.
    public let data: [JSON.Member]

    /// An error with its sentence and data.
    public init(_ code: Code, _ message: String, _ data: KeyValuePairs<String, JSON> = [:]) {
        self.code = code
        self.message = message
        self.data = data.map { JSON.Member($0.key, $0.value) }
    }

    /// A wrong parameter, named.
    public static func parameter(_ path: String, _ reason: String) -> BusError {
        BusError(.invalidParams, "parameter \(path) \(reason)", ["path": .string(path)])
    }

    /// Whether `data.retryable` is true: by the code, unless the data says otherwise (a timeout that never started may be retried).
    public var isRetryable: Bool {
        if code == .timeout { return data.contains(JSON.Member("outcome", "not_started")) }
        return code.isRetryable
    }

    /// The JSON-RPC error object.
    public var json: JSON {
        let standard = [JSON.Member("name", .string(code.name)), JSON.Member("retryable", .bool(isRetryable))]
        return ["code": .integer(Int64(code.rawValue)), "message": .string(message), "data": .object(standard + data)]
    }

    /// Reads an error object that was received; a code of a later version reads as `internal_error` with its message kept.
    public init(parsing json: JSON) {
        let code = json["code"]?.integer.flatMap { Code(rawValue: Int(clamping: $0)) } ?? .internalError
        self.code = code
        message = json["message"]?.text ?? "an error without a message"
        data = (json["data"]?.members ?? []).filter { $0.key != "name" && $0.key != "retryable" }
    }

    /// `timeout (-32002): …`
    public var description: String { "\(code.name) (\(code.rawValue)): \(message)" }
}
