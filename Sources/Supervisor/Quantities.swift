/// Durations as people write them in the configuration and on the command line: a whole number and a unit, `250ms`,
/// `30s`, `5m`, `1h`, `7d`.
public enum Quantities {
    /// What a duration looks like, for error messages.
    public static let durationRule = "a whole number with a unit: 250ms, 30s, 5m, 1h or 7d"

    /// From the largest down, so that `text(of:)` finds the shortest form.
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// Reads a duration; nil when it is none or longer than 292 years.
    public static func duration(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text.dropFirst(digits.count)
        guard let count = Int64(digits), let unit = units.first(where: { $0.suffix == suffix }) else { return nil }
        let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// A duration of whole milliseconds as it would be written.
    public static func text(of duration: Duration) -> String {
        let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        let unit = units.first { milliseconds != 0 && milliseconds % $0.milliseconds == 0 } ?? ("s", 1000)
        return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
}

/// The word of `candidates` that somebody who wrote `word` most likely meant; nil when none is near.
public func nearest(_ word: String, among candidates: [String]) -> String? {
    let limit = word.utf8.count <= 3 ? 1 : 2
    return candidates.map { (word: $0, distance: editDistance(Array(word.utf8), Array($0.utf8))) }
        .filter { $0.distance <= limit && $0.distance < $0.word.utf8.count }
        .min { $0.distance < $1.distance }?.word
}

/// Insertions, deletions, changes and swaps of neighbours between two words (optimal string alignment). Long words are
/// far from everything.
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    guard left.count <= 64, right.count <= 64 else { return Int.max }
    var previous = [Int](repeating: 0, count: right.count + 1)
    var current = Array(0...right.count)
    for (row, byte) in left.enumerated() {
        let beforePrevious = previous
        previous = current
        current[0] = row + 1
        for (column, other) in right.enumerated() {
            let change = previous[column] + (byte == other ? 0 : 1)
            current[column + 1] = min(change, previous[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, byte == right[column - 1], left[row - 1] == other {
                current[column + 1] = min(current[column + 1], beforePrevious[column - 1] + 1)
            }
        }
    }
    return current[right.count]
}
