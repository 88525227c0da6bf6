/// What a rule found.
struct Finding: Equatable, CustomStringConvertible {
    let path: String
    /// From 1.
    let line: Int
    let problem: String

    var description: String { "\(path):\(line): \(problem)" }
}

/// The rules that a machine can keep, each a function of one file, so that each is shown to be able to fail (RuleTests.swift).
enum Rules {
    static let fileLimit = 450
    static let functionLimit = 70
    static let lineLimit = 120
    /// The formatter does not wrap comments.
    static let commentLimit = 150

    static let all: [@Sendable (SourceFile) -> [Finding]] = [
        layers, sizes, functionLength, forbiddenWords, forcing, notes, names, uncheckedSendable, disabledTests,
    ]

    /// Imports against the layers.
    static func layers(_ file: SourceFile) -> [Finding] {
        guard !file.isTest else { return [] }
        guard let allowed = Layers.allowed[file.module] else {
            return [Finding(path: file.path, line: 1, problem: "the module \(file.module) is in no layer")]
        }
        return file.code.enumerated().compactMap { index, line in
            guard let name = imported(line) else { return nil }
            let isPure = Layers.pure.contains(file.module)
            guard !allowed.contains(name), isPure || !Layers.system.contains(name) else { return nil }
            return Finding(path: file.path, line: index + 1, problem: "\(file.module) must not import \(name)")
        }
    }

    /// The module that a line imports: `@testable public import struct Module.Name`.
    static func imported(_ line: String) -> String? {
        let words = line.split(separator: " ")
        guard let place = words.firstIndex(of: "import"), place + 1 < words.count,
            words[..<place].allSatisfy({
                $0.hasPrefix("@") || ["public", "internal", "private", "fileprivate", "package"].contains($0)
            })
        else { return nil }
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias", "actor"]
        let name = kinds.contains(words[place + 1]) ? words.dropFirst(place + 2).first : words[place + 1]
        return name?.split(separator: ".").first.map(String.init)
    }

    /// Files and lines that are too long. Text in a string may be what it has to be, and an address cannot be broken.
    static func sizes(_ file: SourceFile) -> [Finding] {
        var findings: [Finding] = []
        if file.lines.count > fileLimit {
            findings.append(
                Finding(path: file.path, line: fileLimit, problem: "\(file.lines.count) lines; at most \(fileLimit)"))
        }
        for (index, line) in file.lines.enumerated() where line.count > lineLimit {
            let isComment = line.drop { $0 == " " }.hasPrefix("//")
            let code = file.code[index].reversed().drop { " ,)]".contains($0) }.count
            guard isComment ? line.count > commentLimit && !line.contains("://") : code > lineLimit else { continue }
            findings.append(Finding(path: file.path, line: index + 1, problem: "\(line.count) columns are too many"))
        }
        return findings
    }

    /// Functions that are too long, from their first line to their last brace.
    static func functionLength(_ file: SourceFile) -> [Finding] {
        var findings: [Finding] = []
        for index in file.code.indices where opensFunction(file.code[index]) {
            guard let end = endOfBody(file.code, from: index), end - index + 1 > functionLimit else { continue }
            findings.append(
                Finding(
                    path: file.path, line: index + 1,
                    problem: "a function of \(end - index + 1) lines; at most \(functionLimit)"))
        }
        return findings
    }

    private static func opensFunction(_ line: String) -> Bool {
        let words = line.split { $0 == " " || $0 == "(" || $0 == "<" || $0 == "{" || $0 == "?" }
        return words.contains { $0 == "func" || $0 == "deinit" || $0 == "init" || $0 == "subscript" }
            && !line.contains(".init")
    }

    /// The line of the brace that ends the body which opens at or after `start`; nil for a requirement, which has none.
    private static func endOfBody(_ code: [String], from start: Int) -> Int? {
        var parentheses = 0
        var braces = 0
        for index in start..<code.count {
            if index > start, braces == 0, parentheses == 0, opensFunction(code[index]) { return nil }
            for character in code[index] {
                switch character {
                case "(": parentheses += 1
                case ")": parentheses -= 1
                case "{" where parentheses == 0 || braces > 0: braces += 1
                case "}" where braces > 0:
                    braces -= 1
                    if braces == 0 { return index }
                case "}" where parentheses == 0: return nil
                default: break
                }
            }
        }
        return nil
    }

    /// Words that end the process, wait blindly, or go around what we have instead.
    static let forbidden: [(word: String, why: String)] = [
        ("fatalError", "nothing the outside can cause ends the process; for our own mistakes there is precondition"),
        ("Process()", "Foundation.Process leaks zombies and blocked signals; use Linux.ChildProcess"),
        ("Foundation.Process", "it leaks zombies and blocked signals; use Linux.ChildProcess"),
        ("Thread.sleep", "wait for a condition with a deadline"),
        ("Mutex", "ThreadSanitizer reports correct uses of it; use Linux.Lock"),
    ]
    /// Functions that are forbidden. They take an argument; one of ours of the same name that takes none is another.
    static let forbiddenCalls = ["sleep", "usleep", "nanosleep"]
    /// The simulated node is slow on purpose when a fault says so.
    static let sleepers: Set<String> = ["FiberSim"]

    static func forbiddenWords(_ file: SourceFile) -> [Finding] {
        // The rules themselves name what they forbid, in strings; those are blanked.
        file.code.enumerated().flatMap { index, line in
            let words = forbidden.filter { contains(line, word: $0.word) }.map { "\($0.word): \($0.why)" }
            let calls = (sleepers.contains(file.module) ? [] : forbiddenCalls).filter { name in
                contains(line.replacing("\(name)()", with: ""), word: name + "(") && !line.contains(".\(name)(")
            }.map { "\($0): wait for a condition with a deadline" }
            return (words + calls).map { Finding(path: file.path, line: index + 1, problem: $0) }
        }
    }

    /// Whether a line has this word, not as a part of a longer one.
    private static func contains(_ line: String, word: String) -> Bool {
        line.ranges(of: word).contains { range in
            let isBegun = range.lowerBound > line.startIndex && isWord(line[line.index(before: range.lowerBound)])
            let goesOn = range.upperBound < line.endIndex && isWord(line[range.upperBound])
            return !isBegun && !(goesOn && word.last.map(isWord) ?? false)
        }
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }

    /// `try!`, `as!`, and a force-unwrap without a comment on its line or the one before that says why it holds.
    static func forcing(_ file: SourceFile) -> [Finding] {
        file.code.enumerated().compactMap { index, line in
            if contains(line, word: "try!") || contains(line, word: "as!") {
                return Finding(path: file.path, line: index + 1, problem: "try! and as! end the process")
            }
            let near = max(0, index - 2)...index
            guard !file.isTest, unwraps(line), !near.contains(where: { hasComment(file, $0) }) else { return nil }
            return Finding(path: file.path, line: index + 1, problem: "a force-unwrap without a comment why it holds")
        }
    }

    private static func hasComment(_ file: SourceFile, _ index: Int) -> Bool {
        file.lines[index].contains("//") && !file.code[index].contains("//")
    }

    /// A `!` after a value, before anything but `=`.
    private static func unwraps(_ line: String) -> Bool {
        line.indices.contains { index in
            guard line[index] == "!", index > line.startIndex else { return false }
            let before = line[line.index(before: index)]
            let next = line.index(after: index)
            return (isWord(before) || before == ")" || before == "]") && !(next < line.endIndex && line[next] == "=")
        }
    }

    /// Notes to oneself, and marks that say a file is two.
    static func notes(_ file: SourceFile) -> [Finding] {
        file.lines.enumerated().compactMap { index, line in
            let comment =
                line.split(separator: "//", maxSplits: 1).dropFirst().first ?? (line.hasPrefix("//") ? line[...] : "")
            let word = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "MA" + "RK:"].first { comment.contains($0) }
            return word.map { Finding(path: file.path, line: index + 1, problem: "\($0) is left") }
        }
    }

    /// Names that say nothing.
    static func names(_ file: SourceFile) -> [Finding] {
        let empty = ["manager", "helper", "util", "misc", "common"]
        let name = (file.module + " " + file.name).lowercased()
        return empty.filter(name.contains).map {
            Finding(path: file.path, line: 1, problem: "a name with \($0) in it says nothing")
        }
    }

    /// `@unchecked Sendable` needs its proof: `// Safe: …` in the lines before or after.
    static func uncheckedSendable(_ file: SourceFile) -> [Finding] {
        file.code.enumerated().compactMap { index, line in
            guard line.contains("@unchecked Sendable") else { return nil }
            let near = file.lines[max(0, index - 2)...min(file.lines.count - 1, index + 3)]
            guard !near.contains(where: { $0.contains("// Safe: ") }) else { return nil }
            return Finding(path: file.path, line: index + 1, problem: "@unchecked Sendable without // Safe: …")
        }
    }

    /// A test that is switched off says why.
    static func disabledTests(_ file: SourceFile) -> [Finding] {
        file.code.enumerated().compactMap { index, line in
            guard let range = line.firstRange(of: ".disabled(") else { return nil }
            // The reason is a string, blanked to blanks between the parentheses.
            let rest = line[range.upperBound...]
            guard rest.hasPrefix(")") || rest.hasPrefix("if:") else { return nil }
            return Finding(path: file.path, line: index + 1, problem: "a test that is disabled without a reason")
        }
    }
}
