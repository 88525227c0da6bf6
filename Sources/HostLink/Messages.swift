import Wire

/// What a host says of itself before anything else.
public struct Hello: Sendable, Equatable {
    /// The version of the host link.
    public static let linkVersion: Int64 = 1

    /// The host program's kind, such as `fiber`.
    public let driver: String
    /// The source its native events are published under.
    public let source: String
    /// The path of the native library.
    public let library: String
    /// What the library calls its version.
    public let libraryVersion: String
    /// Whether the node is simulated.
    public let isSimulated: Bool
    /// The node's own calls.
    public let methods: [MethodDescription]

    /// A hello of its parts.
    public init(
        driver: String, source: String, library: String, libraryVersion: String, isSimulated: Bool,
        methods: [MethodDescription]
    ) {
        self.driver = driver
        self.source = source
        self.library = library
        self.libraryVersion = libraryVersion
        self.isSimulated = isSimulated
        self.methods = methods
    }

    var body: [UInt8] {
        let json: JSON = [
            "link": .integer(Hello.linkVersion), "driver": .string(driver), "source": .string(source),
            "library": .string(library), "library_version": .string(libraryVersion), "simulated": .bool(isSimulated),
            "methods": .array(methods.map(\.json)),
        ]
        return json.bytes
    }

    init(parsing body: [UInt8]) throws(LinkError) {
        guard let json = try? JSON.parse(body) else { throw LinkError(description: "the hello is not JSON") }
        guard json["link"]?.integer == Hello.linkVersion else {
            throw LinkError(
                description:
                    "the host speaks link version \(json["link"]?.encoded ?? "none"), we speak \(Hello.linkVersion)")
        }
        guard let driver = json["driver"]?.text, let source = json["source"]?.text, Topic.isSource(source),
            source != Topic.supervisor, let library = json["library"]?.text,
            let version = json["library_version"]?.text, let simulated = json["simulated"]?.bool,
            let list = json["methods"]?.elements
        else { throw LinkError(description: "the hello lacks a member or has one of a wrong type") }
        let methods = list.compactMap(MethodDescription.init(parsing:))
        guard methods.count == list.count, methods.allSatisfy({ $0.name.hasPrefix(source + ".") }),
            Set(methods.map(\.name)).count == methods.count
        else {
            throw LinkError(description: "the hello describes a method badly, or under a name that is not \(source).…")
        }
        self.init(
            driver: driver, source: source, library: library, libraryVersion: version, isSimulated: simulated,
            methods: methods)
    }
}

/// Why a host gives up: it says so and ends.
public struct Fatal: Sendable, Equatable {
    /// A stable word, such as `library_not_loadable` or `key_missing`.
    public let reason: String
    /// A sentence for an operator: what, where, what to do.
    public let message: String
    /// Whether starting again cannot help until a person has changed something.
    public let isPermanent: Bool

    /// A fatal of its parts.
    public init(reason: String, message: String, isPermanent: Bool) {
        self.reason = reason
        self.message = message
        self.isPermanent = isPermanent
    }
}

/// What a native call came to.
public enum CallOutcome: Sendable, Equatable {
    /// The result as JSON text: the node's own bytes.
    case result([UInt8])
    /// Why it failed, as the bus will say it.
    case failure(BusError)
}

/// What a host sends.
public enum HostMessage: Sendable, Equatable {
    /// The first message.
    case hello(Hello)
    /// The node has started.
    case ready
    /// The outcome of the call with this id.
    case reply(id: UInt64, CallOutcome)
    /// The host is about to end, and why.
    case fatal(Fatal)

    /// The frame that travels.
    var frame: Frame {
        switch self {
        case .hello(let hello): return Frame(kind: .hello, body: hello.body)
        case .ready: return Frame(kind: .ready, body: [])
        case .reply(let id, let outcome):
            var body = withUnsafeBytes(of: id.littleEndian) { Array($0) }
            switch outcome {
            case .result(let bytes):
                body.append(0)
                body += bytes
            case .failure(let error):
                body.append(1)
                error.json.write(to: &body)
            }
            return Frame(kind: .reply, body: body)
        case .fatal(let fatal):
            let json: JSON = [
                "reason": .string(fatal.reason), "message": .string(fatal.message),
                "permanent": .bool(fatal.isPermanent),
            ]
            return Frame(kind: .fatal, body: json.bytes)
        }
    }

    init(_ frame: Frame) throws(LinkError) {
        switch frame.kind {
        case .hello: self = .hello(try Hello(parsing: frame.body))
        case .ready: self = .ready
        case .reply: self = try HostMessage.parseReply(frame.body)
        case .fatal:
            guard let json = try? JSON.parse(frame.body), let reason = json["reason"]?.text,
                let message = json["message"]?.text, let permanent = json["permanent"]?.bool
            else { throw LinkError(description: "a fatal that cannot be read") }
            self = .fatal(Fatal(reason: reason, message: message, isPermanent: permanent))
        case .call, .stop: throw LinkError(description: "a host does not send \(frame.kind)")
        }
    }

    private static func parseReply(_ body: [UInt8]) throws(LinkError) -> HostMessage {
        guard body.count > 9 else { throw LinkError(description: "a reply that is cut") }
        let id = (0..<8).reduce(UInt64(0)) { $0 | UInt64(body[$1]) << (8 * UInt64($1)) }
        let text = Array(body[9...])
        switch body[8] {
        case 0:
            // Published under the bus's own name: what goes to a client must be JSON, whatever the host says.
            guard text.withUnsafeBytes({ JSON.problem(in: $0, depthLimit: EventClass.depthLimit) }) == nil else {
                throw LinkError(description: "a result that is not JSON")
            }
            return .reply(id: id, .result(text))
        case 1:
            guard let json = try? JSON.parse(text) else { throw LinkError(description: "an error that is not JSON") }
            return .reply(id: id, .failure(BusError(parsing: json)))
        default: throw LinkError(description: "a reply of unknown form")
        }
    }
}

/// What a supervisor sends.
public enum SupervisorMessage: Sendable, Equatable {
    /// Make a native call; its parameters were checked against the description.
    case call(id: UInt64, method: String, parameters: JSON)
    /// Stop the node in order and end.
    case stop

    var frame: Frame {
        switch self {
        case .call(let id, let method, let parameters):
            var body = withUnsafeBytes(of: id.littleEndian) { Array($0) }
            JSON.array([.string(method), parameters]).write(to: &body)
            return Frame(kind: .call, body: body)
        case .stop: return Frame(kind: .stop, body: [])
        }
    }

    init(_ frame: Frame) throws(LinkError) {
        switch frame.kind {
        case .call:
            guard frame.body.count > 8, let parts = (try? JSON.parse(Array(frame.body[8...])))?.elements,
                parts.count == 2, let method = parts[0].text
            else { throw LinkError(description: "a call that cannot be read") }
            let id = (0..<8).reduce(UInt64(0)) { $0 | UInt64(frame.body[$1]) << (8 * UInt64($1)) }
            self = .call(id: id, method: method, parameters: parts[1])
        case .stop: self = .stop
        case .hello, .ready, .reply, .fatal: throw LinkError(description: "a supervisor does not send \(frame.kind)")
        }
    }
}
