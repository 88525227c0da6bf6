import Foundation
import Glibc
import Linux

/// The files that a host's stdout and stderr go to, straight and never through a pipe, and the last lines of what one run wrote there.
struct HostOutput: ~Copyable {
    /// What the node logs.
    let standardOutput: Descriptor
    /// What the host itself and panics say.
    let standardError: Descriptor
    private let errorPath: String
    private let errorStart: off_t

    /// Opens `node.log` and `host.log` in a directory, for appending.
    init(directory: String) throws(SystemError) {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW
        errorPath = directory + "/host.log"
        let output = try Descriptor.open(directory + "/node.log", flags)
        let errors = try Descriptor.open(errorPath, flags)
        standardOutput = output
        standardError = errors
        errorStart = lseek(standardError.raw, 0, SEEK_END)
    }

    /// The last 20 lines that this run wrote to stderr, redacted.
    func lastLines() -> [String] {
        guard let file = try? Descriptor.open(errorPath, O_RDONLY | O_NOFOLLOW) else { return [] }
        let end = lseek(file.raw, 0, SEEK_END)
        let window: off_t = 32 << 10
        let start = max(errorStart, end - window)
        guard start < end, lseek(file.raw, start, SEEK_SET) == start, let bytes = try? file.readAll(limit: Int(window))
        else {
            return []
        }
        var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        // A window that begins inside a line begins with half of it.
        if start > errorStart && lines.count > 1 { lines.removeFirst() }
        return lines.suffix(20).map { HostOutput.redact($0) }
    }

    /// A line without what may be a secret: long hex runs, and what a native error quotes of a request (`data: …`), which can hold preimages.
    static func redact(_ line: String) -> String {
        var out = ""
        var run = ""
        func flush() {
            out += run.utf8.count >= 32 ? "<\(run.utf8.count) hex digits>" : run
            run = ""
        }
        for character in line.prefix(1000) {
            if character.isHexDigit && character.isASCII {
                run.append(character)
            } else {
                flush()
                out.append(character)
            }
        }
        flush()
        guard let data = out.range(of: "data: ") else { return out }
        return out[..<data.upperBound] + "<request cut>"
    }
}
