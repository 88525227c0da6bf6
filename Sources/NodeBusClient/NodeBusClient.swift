// NodeBusClient: what a Swift program needs to use the bus. `CommandClient` calls methods, `EventSubscriber` receives
// what is published, and `EventStream` joins both to a stream of events without hole or repeat. None of them waits
// without a deadline, and each belongs to one thread. Start here; then read CommandClient.swift and EventStream.swift.

import Wire
import ZeroMQ

/// Why the bus could not be used.
public enum ClientError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Nobody answers at the endpoint. Nothing was done.
    case noSupervisor(endpoint: String)
    /// The supervisor went away before it answered. Whether the call was done is not known.
    case lost(endpoint: String, method: String)
    /// The supervisor is there and did not answer in time. Whether the call was done is not known.
    case unanswered(method: String, after: Duration)
    /// The supervisor refused, or the node did.
    case refused(BusError)
    /// The request is larger than the bus takes, in bytes. Nothing was sent.
    case tooLarge(bytes: Int, limit: Int)
    /// What came is no reply of this bus.
    case unreadable(endpoint: String, method: String)
    /// libzmq failed: no descriptor is left, or the endpoint is none.
    case transport(ZeroMQError)

    /// A sentence for the person who called.
    public var description: String {
        switch self {
        case .noSupervisor(let endpoint): "no supervisor answers at \(endpoint)"
        case .lost(let endpoint, let method):
            "the supervisor at \(endpoint) went away before it answered \(method); whether it was done is not known"
        case .unanswered(let method, let after):
            "the supervisor did not answer \(method) within \(after.components.seconds) s; "
                + "whether it was done is not known"
        case .refused(let error): error.description
        case .tooLarge(let bytes, let limit): "the request has \(bytes) bytes; the bus takes at most \(limit)"
        case .unreadable(let endpoint, let method): "what \(endpoint) answered to \(method) is no reply of this bus"
        case .transport(let error): error.description
        }
    }
}

/// Runs `body` with libzmq's errors as ours.
func transport<Result>(_ body: () throws(ZeroMQError) -> Result) throws(ClientError) -> Result {
    do throws(ZeroMQError) { return try body() } catch { throw .transport(error) }
}
