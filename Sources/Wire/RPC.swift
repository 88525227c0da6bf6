/// A JSON-RPC 2.0 request as the command socket takes it.
public struct RPCRequest: Sendable, Equatable {
    /// A string of at most 64 bytes or an integer, echoed as sent.
    public let id: JSON
    /// The method's name.
    public let method: String
    /// The parameters, by name; an empty object when the member is absent.
    public let parameters: JSON
    /// How long the caller waits, in milliseconds; nil: the method's own default.
    public let timeoutMilliseconds: Int64?

    /// The longest string id, in UTF-8 bytes.
    public static let idLimit = 64
    /// The longest `timeout_ms`: an hour.
    public static let timeoutLimitMilliseconds: Int64 = 3_600_000

    /// A request of its parts.
    public init(id: JSON, method: String, parameters: JSON = .object([]), timeoutMilliseconds: Int64? = nil) {
        self.id = id
        self.method = method
        self.parameters = parameters
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// A request that could not be taken: the id to answer under (`null` when it could not be read) and the error.
    public struct Refusal: Error, Sendable, Equatable {
        /// The id to echo.
        public let id: JSON
        /// What is wrong.
        public let error: BusError
    }

    /// Decodes one frame. Every refusal is a `Refusal` that can be answered.
    public static func decode(_ bytes: [UInt8]) throws(Refusal) -> RPCRequest {
        let json: JSON
        do { json = try JSON.parse(bytes) } catch {
            throw Refusal(id: .null, error: BusError(.parseError, "the request is not JSON: \(error)"))
        }
        guard let members = json.members else {
            let hint = json.elements == nil ? "" : "; batches are not offered, send the requests one by one"
            throw refusal(.null, "a request is a JSON object, not \(json.typeName)\(hint)")
        }
        guard let id = json["id"], usable(id) else {
            throw refusal(.null, "a request needs an id: a string of at most \(idLimit) bytes or an integer")
        }
        let known = ["jsonrpc", "id", "method", "params", "timeout_ms", "idempotency_key"]
        if let stranger = members.first(where: { !known.contains($0.key) }) {
            throw refusal(id, "unknown member \(quoted(stranger.key)); a request has \(known.joined(separator: ", "))")
        }
        guard json["jsonrpc"] == "2.0" else { throw refusal(id, "jsonrpc must be \"2.0\"") }
        guard let method = json["method"]?.text else { throw refusal(id, "method must be a string") }
        let parameters = json["params"] ?? .object([])
        guard parameters.members != nil else {
            throw Refusal(
                id: id,
                error: BusError(
                    .invalidParams, "params must be an object of named parameters, not \(parameters.typeName)",
                    ["path": "params"]))
        }
        guard json["idempotency_key"] == nil else {
            throw refusal(id, "idempotency_key is not offered by this version; nothing was done")
        }
        return RPCRequest(id: id, method: method, parameters: parameters, timeoutMilliseconds: try timeout(json, id))
    }

    /// The frame a client sends.
    public var bytes: [UInt8] {
        var json: JSON = ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": parameters]
        if let timeoutMilliseconds { json = json.with("timeout_ms", .integer(timeoutMilliseconds)) }
        return json.bytes
    }

    private static func usable(_ id: JSON) -> Bool {
        switch id {
        case .integer: true
        case .string(let text): text.utf8.count <= idLimit
        case .null, .bool, .number, .array, .object: false
        }
    }

    private static func timeout(_ json: JSON, _ id: JSON) throws(Refusal) -> Int64? {
        guard let value = json["timeout_ms"] else { return nil }
        guard let milliseconds = value.integer, (1...timeoutLimitMilliseconds).contains(milliseconds) else {
            throw refusal(id, "timeout_ms must be an integer from 1 to \(timeoutLimitMilliseconds)")
        }
        return milliseconds
    }

    private static func refusal(_ id: JSON, _ message: String) -> Refusal {
        Refusal(id: id, error: BusError(.invalidRequest, message))
    }
}

/// A reply: exactly one for every request.
public enum RPCReply: Sendable, Equatable {
    /// The method's result.
    case result(JSON)
    /// The method's result as JSON text that was checked already: the node's own bytes, untouched.
    case verbatim([UInt8])
    /// Why it failed.
    case failure(BusError)

    /// The frame to send under the request's id.
    public func bytes(id: JSON) -> [UInt8] {
        var out: [UInt8] = Array(#"{"jsonrpc":"2.0","id":"#.utf8)
        id.write(to: &out)
        switch self {
        case .result(let json):
            out += #","result":"#.utf8
            json.write(to: &out)
        case .verbatim(let text):
            out += #","result":"#.utf8
            out += text
        case .failure(let error):
            out += #","error":"#.utf8
            error.json.write(to: &out)
        }
        out.append(0x7d)
        return out
    }

    /// Reads a reply that was received: its id, and the failure or the result as the very bytes that came
    /// (`.verbatim`); nil when it is no JSON-RPC reply.
    public static func decode(_ bytes: [UInt8]) -> (id: JSON, reply: RPCReply)? {
        guard let members = try? JSON.rawMembers(bytes[...]) else { return nil }
        func member(_ key: String) -> ArraySlice<UInt8>? { members.first { $0.key == key }?.text }
        func parsed(_ key: String) -> JSON? { member(key).flatMap { try? JSON.parse(Array($0)) } }
        guard parsed("jsonrpc") == "2.0", let id = parsed("id") else { return nil }
        if member("error") != nil { return (id, .failure(BusError(parsing: parsed("error") ?? .null))) }
        return member("result").map { (id, .verbatim(Array($0))) }
    }
}

/// A name from outside, quoted and cut for an error message.
public func quoted(_ text: String) -> String {
    let limit = 80
    guard text.utf8.count > limit else { return JSON.string(text).encoded }
    return JSON.string(String(text.unicodeScalars.prefix(limit / 2)) + "…").encoded
}
