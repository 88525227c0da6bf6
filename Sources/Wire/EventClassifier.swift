/// What a native message is, told from its bytes without decoding them.
public enum EventClass: Sendable, Equatable {
    /// A JSON object with a usable kind.
    case kind(String)
    /// No event as the contract knows it; why, in words.
    case malformed(String)

    /// Longest kind, in UTF-8 bytes.
    public static let kindLimit = 100
    /// How deep a native message may nest: past it, it is kept as `Malformed`.
    public static let depthLimit = 512

    /// Checks a native message and finds its top-level `kind`. The whole text is checked, so that a published payload is always JSON.
    public static func of(_ bytes: UnsafeRawBufferPointer) -> EventClass {
        do {
            var scanner = JSONScanner(bytes, depthLimit: depthLimit)
            guard try scanner.peek() == 0x7b else {
                try scanner.skipValue()
                return .malformed("not a JSON object")
            }
            return try ofObject(&scanner)
        } catch {
            return .malformed(error.problem == "not UTF-8" ? "not UTF-8" : "not JSON: \(error)")
        }
    }

    private static func ofObject(_ scanner: inout JSONScanner) throws(JSONError) -> EventClass {
        var found: EventClass?
        try scanner.enter(1)
        if try !scanner.consumeIf(0x7d) {
            repeat {
                let name = try scanner.memberName()
                let isKind =
                    name.escaped ? try scanner.text(name) == "kind" : scanner.equals(name, "kind")
                guard isKind else {
                    try scanner.skipValue(depth: 2)
                    continue
                }
                guard found == nil else { return .malformed("two members named kind") }
                found = try usableKind(&scanner)
            } while try scanner.another(0x7d, "expected , or } in an object")
        }
        try scanner.end()
        return found ?? .malformed("no kind")
    }

    private static func usableKind(_ scanner: inout JSONScanner) throws(JSONError) -> EventClass {
        guard try scanner.peek() == 0x22 else {
            try scanner.skipValue(depth: 2)
            return .malformed("kind is not a string")
        }
        let literal = try scanner.string()
        guard let kind = try? scanner.text(literal), !kind.isEmpty else {
            return .malformed("kind is empty or not text")
        }
        guard kind.utf8.count <= kindLimit else { return .malformed("kind is over \(kindLimit) bytes") }
        return .kind(kind)
    }
}
