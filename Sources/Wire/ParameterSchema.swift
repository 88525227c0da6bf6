extension ParameterType {
    /// The type as a JSON Schema: what the bus takes, before it is brought to normal form.
    public var schema: JSON {
        switch self {
        case .text(let limit): ["type": "string", "maxLength": .integer(Int64(limit))]
        case .boolean: ["type": "boolean"]
        case .integer(let lowest, let highest):
            [
                "anyOf": [
                    [
                        "type": "integer", "minimum": ParameterType.number(lowest),
                        "maximum": ParameterType.number(highest),
                    ],
                    ["type": "string", "pattern": "^(0x[0-9A-Fa-f]+|[0-9]+)$"],
                ]
            ]
        case .amount(let udtWhen): ParameterType.amountSchema(udtWhen)
        case .hash: ["type": "string", "pattern": "^(0x)?[0-9A-Fa-f]{64}$"]
        case .publicKey: ["type": "string", "pattern": "^(0x)?0[23][0-9A-Fa-f]{64}$"]
        case .choice(let words): ["type": "string", "enum": .array(words.map { .string($0) })]
        case .object: ["type": "object"]
        case .array: ["type": "array"]
        case .texts: ["type": "array", "items": ["type": "string"]]
        case .refused(let why): ["not": [:], "description": .string(why)]
        case .secret(let secret): secret.plain.schema.with("writeOnly", true)
        }
    }

    private static func number(_ value: UInt64) -> JSON {
        Int64(exactly: value).map { .integer($0) } ?? .number(String(value))
    }

    private static func amountSchema(_ udtWhen: String?) -> JSON {
        let unit = udtWhen.map { "; with \($0), never in CKB" } ?? ""
        return [
            "description": .string("an amount of the smallest unit, or in CKB with at most 8 decimals\(unit)"),
            "anyOf": [
                ["type": "integer", "minimum": 0, "maximum": .integer(1 << 53)],
                ["type": "string", "pattern": "^(0x[0-9A-Fa-f]+|[0-9]+|[0-9]+(\\.[0-9]{1,8})? CKB)$"],
            ],
        ]
    }
}
