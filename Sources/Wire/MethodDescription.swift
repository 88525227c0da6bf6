/// What a method is: from this one description come the checking of its parameters, help texts and `bus.methods`. A host sends those of its node
/// when it says hello, so that the supervisor knows no node's methods.
public struct MethodDescription: Sendable, Equatable {
    /// What a call can do to the world, which decides what may be said when its outcome is lost.
    public enum Effect: String, Sendable, CaseIterable {
        /// Only reads.
        case read
        /// Changes the node or the supervisor.
        case change
        /// Moves money or changes the chain.
        case money
    }

    /// The name, such as `fiber.open_channel`.
    public let name: String
    /// One sentence for help texts.
    public let summary: String
    /// The parameters, in the order of help texts.
    public let parameters: [Parameter]
    /// What the result is, in words.
    public let result: String
    /// What it can do.
    public let effect: Effect
    /// For a lost outcome: the method and parameters that tell what became of it, in words; nil when nothing tells.
    public let find: String?

    /// A description of all its parts.
    public init(
        _ name: String, _ summary: String, _ parameters: [Parameter] = [], result: String, effect: Effect = .read,
        find: String? = nil
    ) {
        self.name = name
        self.summary = summary
        self.parameters = parameters
        self.result = result
        self.effect = effect
        self.find = find
    }

    /// One parameter.
    public struct Parameter: Sendable, Equatable {
        /// The name.
        public let name: String
        /// What it takes.
        public let type: ParameterType
        /// Whether it must be given.
        public let isRequired: Bool
        /// One sentence for help texts, with the unit and the default.
        public let summary: String

        /// A parameter of all its parts.
        public init(_ name: String, _ type: ParameterType, required: Bool = false, _ summary: String) {
            self.name = name
            self.type = type
            self.isRequired = required
            self.summary = summary
        }
    }

    /// Checks the parameters of a request and answers them in normal form (amounts as decimal strings, hex in lower case), in the order of the
    /// description. Throws `invalid_params` naming the first parameter at fault.
    public func check(_ given: JSON) throws(BusError) -> JSON {
        let members = given.members ?? []
        if let stranger = members.first(where: { member in !parameters.contains { $0.name == member.key } }) {
            let known = parameters.map(\.name).joined(separator: ", ")
            let hint = parameters.isEmpty ? "\(name) takes no parameters" : "\(name) takes \(known)"
            // The name may be as long as a request, and would come back twice.
            let isLong = stranger.key.utf8.count > 100
            throw .parameter(
                isLong ? String(stranger.key.unicodeScalars.prefix(20)) + "…" : stranger.key, "is unknown; \(hint)")
        }
        var checked: [JSON.Member] = []
        for parameter in parameters {
            guard let value = given[parameter.name], !value.isNull else {
                guard !parameter.isRequired else {
                    throw .parameter(parameter.name, "is required: \(parameter.summary)")
                }
                continue
            }
            let normal = try parameter.type.check(value, at: parameter.name) { other in
                given[other].map { !$0.isNull } ?? false
            }
            checked.append(JSON.Member(parameter.name, normal))
        }
        return .object(checked)
    }

    /// The description as it travels in a hello and in `bus.methods`.
    public var json: JSON {
        [
            "name": .string(name), "summary": .string(summary),
            "parameters": .array(
                parameters.map {
                    ($0.type.json.members ?? []).reduce(
                        [
                            "name": .string($0.name), "required": .bool($0.isRequired), "summary": .string($0.summary),
                        ] as JSON
                    ) { $0.with($1.key, $1.value) }
                }),
            "result": .string(result), "effect": .string(effect.rawValue), "find": find.map { .string($0) } ?? .null,
        ]
    }

    /// Reads a description from a hello; nil when it is none.
    public init?(parsing json: JSON) {
        guard let name = json["name"]?.text, MethodDescription.isName(name), let summary = json["summary"]?.text,
            let list = json["parameters"]?.elements, let result = json["result"]?.text,
            let effect = json["effect"]?.text.flatMap(Effect.init),
            // One that stands twice would be sent on twice, as an object that nobody can read.
            Set(list.map { $0["name"]?.text }).count == list.count
        else { return nil }
        var parameters: [Parameter] = []
        for entry in list {
            guard let name = entry["name"]?.text, let type = ParameterType(parsing: entry),
                let required = entry["required"]?.bool, let summary = entry["summary"]?.text
            else { return nil }
            parameters.append(Parameter(name, type, required: required, summary))
        }
        self.init(name, summary, parameters, result: result, effect: effect, find: json["find"]?.text)
    }

    /// Whether a text may name a method: two words of `[a-z][a-z0-9_]*` joined by a dot, at most 100 bytes.
    public static func isName(_ text: String) -> Bool {
        let words = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.utf8.count <= 100 && words.count == 2
            && words.allSatisfy { word in
                (word.utf8.first.map { (0x61...0x7a).contains($0) } ?? false)
                    && word.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f }
            }
    }
}
