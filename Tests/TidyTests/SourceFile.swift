/// A Swift file as the rules see it.
struct SourceFile {
    /// Relative to the project, such as `Sources/Bus/Inbox.swift`.
    let path: String
    /// The lines as they are.
    let lines: [String]
    /// The same lines with comments and the contents of strings blanked out: what the compiler would act on.
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        code = SourceFile.blank(text).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The directory below `Sources` or `Tests`.
    var module: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
    /// The file's name without `.swift`.
    var name: String { String(path.split(separator: "/").last?.dropLast(6) ?? "") }
    var isTest: Bool { path.hasPrefix("Tests/") }

    /// Blanks comments and strings out, byte by byte, and keeps every line end. Code inside an interpolation goes with its string.
    static func blank(_ text: String) -> String {
        var scanner = Blanker(Array(text.utf8))
        return scanner.run()
    }
}

/// The scanner behind `SourceFile.blank`.
private struct Blanker {
    private let bytes: [UInt8]
    private var out: [UInt8] = []
    private var at = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func run() -> String {
        while at < bytes.count {
            if starts("//") {
                while at < bytes.count, bytes[at] != 0x0a { drop() }
            } else if starts("/*") {
                blockComment()
            } else if let hashes = stringStart() {
                string(hashes)
            } else {
                keep()
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private func starts(_ word: String) -> Bool { bytes[at...].starts(with: word.utf8) }

    private mutating func keep() {
        out.append(bytes[at])
        at += 1
    }

    private mutating func drop(_ count: Int = 1) {
        for _ in 0..<count where at < bytes.count {
            out.append(bytes[at] == 0x0a ? 0x0a : 0x20)
            at += 1
        }
    }

    /// They nest.
    private mutating func blockComment() {
        var depth = 0
        repeat {
            if starts("/*") {
                depth += 1
                drop(2)
            } else if starts("*/") {
                depth -= 1
                drop(2)
            } else {
                drop()
            }
        } while depth > 0 && at < bytes.count
    }

    /// The number of `#` before a quotation mark here; nil when no string begins.
    private func stringStart() -> Int? {
        let hashes = bytes[at...].prefix { $0 == UInt8(ascii: "#") }.count
        return at + hashes < bytes.count && bytes[at + hashes] == UInt8(ascii: "\"") ? hashes : nil
    }

    private mutating func string(_ hashes: Int) {
        drop(hashes)
        let mark = starts("\"\"\"") ? "\"\"\"" : "\""
        let pounds = String(repeating: "#", count: hashes)
        drop(mark.utf8.count)
        while at < bytes.count {
            if starts(mark + pounds) { return drop(mark.utf8.count + hashes) }
            if starts("\\" + pounds + "(") {
                drop(2 + hashes)
                interpolation()
            } else {
                drop(starts("\\" + pounds) ? 2 + hashes : 1)
            }
        }
    }

    private mutating func interpolation() {
        var depth = 1
        while depth > 0, at < bytes.count {
            if let hashes = stringStart() {
                string(hashes)
                continue
            }
            if bytes[at] == UInt8(ascii: "(") { depth += 1 }
            if bytes[at] == UInt8(ascii: ")") { depth -= 1 }
            drop()
        }
    }
}
