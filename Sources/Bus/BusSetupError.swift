/// Why the bus cannot listen: on what, why, and what to do about it.
public struct BusSetupError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong.
    public enum Code: Sendable, Equatable {
        /// The endpoint is not one that is offered.
        case badEndpoint
        /// Somebody listens there; the pid, where the kernel tells.
        case inUse(pid: Int32?)
        /// Something that is no socket stands there. It was left alone.
        case foreignFile
        /// The directory cannot be made or is open to others.
        case directory
        /// This process may not have enough descriptors.
        case descriptors
        /// A call of the system or of libzmq failed.
        case system
    }

    /// What went wrong.
    public let code: Code
    /// The endpoint it is about; empty for `descriptors`.
    public let endpoint: String
    /// Why, in words.
    public let reason: String
    /// What to do.
    public let hint: String

    /// An error of all its parts.
    public init(_ code: Code, endpoint: String, reason: String, hint: String) {
        self.code = code
        self.endpoint = endpoint
        self.reason = reason
        self.hint = hint
    }

    /// `ipc:///run/nodebus/events.sock: process 4711 listens there; stop it or choose another path`
    public var description: String { (endpoint.isEmpty ? "" : "\(endpoint): ") + "\(reason); \(hint)" }
}
