/// The arguments of a command.
struct Members {
    let command: String
    let members: [String: JSON]

    func refuseUnknown(besides known: [String]) throws {
        for name in members.keys.sorted() where !known.contains(name) {
            throw Refusal.invalid(
                "simulator: \(command) has no \"\(name)\"; known are \(known.joined(separator: ", "))")
        }
    }

    func text(_ name: String, default fallback: String? = nil) throws -> String {
        if members[name] == nil, let fallback { return fallback }
        guard let text = members[name]?.string, !text.isEmpty else {
            throw Refusal.invalid("simulator: \(command).\(name) must be a text")
        }
        return text
    }

    func bool(_ name: String, default fallback: Bool) throws -> Bool {
        guard let member = members[name] else { return fallback }
        guard case .bool(let value) = member else {
            throw Refusal.invalid("simulator: \(command).\(name) must be true or false")
        }
        return value
    }

    /// An amount of shannons, if there is one.
    func amount(_ name: String) throws -> UInt128? {
        members[name] == nil ? nil : UInt128(try number(name, 1...Int.max))
    }

    func number(_ name: String, _ range: ClosedRange<Int>, default fallback: Int? = nil) throws -> Int {
        if members[name] == nil, let fallback { return fallback }
        guard let number = members[name]?.integer, range.contains(number) else {
            throw Refusal.invalid(
                "simulator: \(command).\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
