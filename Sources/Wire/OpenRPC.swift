/// The OpenRPC document (https://spec.open-rpc.org, 1.3.2) that `rpc.discover` answers, made from the descriptions of the
/// methods.
public enum OpenRPC {
    /// The document of these methods; `version` is that of the supervisor.
    public static func document(version: String, _ methods: [MethodDescription]) -> JSON {
        [
            "openrpc": "1.3.2",
            "info": [
                "title": "nodebus", "version": .string(version),
                "description": """
                JSON-RPC 2.0 in one ZeroMQ frame. null for a parameter is the same as leaving it out. Beside params \
                stands timeout_ms: how long the caller waits.
                """,
            ],
            "methods": .array(methods.map(method)),
            "components": ["errors": .object(BusError.Code.allCases.map { JSON.Member($0.name, error($0)) })],
        ]
    }

    /// x-effect and x-find say what stands under these names in `bus.methods`.
    private static func method(_ description: MethodDescription) -> JSON {
        // Those that are not required have to come last.
        let parameters =
            description.parameters.filter(\.isRequired) + description.parameters.filter { !$0.isRequired }
        return [
            "name": .string(description.name), "summary": .string(description.summary),
            "paramStructure": "by-name", "params": .array(parameters.map(parameter)),
            "result": [
                "name": "result", "description": .string(description.result), "schema": ["type": "object"],
            ],
            "x-effect": .string(description.effect.rawValue), "x-find": description.find.map { .string($0) } ?? .null,
        ]
    }

    private static func parameter(_ parameter: MethodDescription.Parameter) -> JSON {
        [
            "name": .string(parameter.name), "required": .bool(parameter.isRequired),
            "description": .string(parameter.summary), "schema": parameter.type.schema,
        ]
    }

    private static func error(_ code: BusError.Code) -> JSON {
        ["code": .integer(Int64(code.rawValue)), "message": .string(code.name)]
    }
}
