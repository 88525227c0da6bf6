// YAML: a strict reader over libyaml for files that people write. It gives a tree in which every node knows its line
// and column, and leaves meaning to the caller. What a configuration never needs and an attacker likes (aliases, tags,
// several documents, great depth) is refused by name. Start here; then read Node.swift.

import CYAML

/// Reads YAML text.
public enum YAML {
    /// The largest text that is read, in bytes.
    public static let sizeLimit = 1 << 20
    /// How many sequences and mappings may stand inside each other.
    public static let depthLimit = 64

    /// Reads the one document in `text`.
    public static func parse(_ text: String) throws(YAMLError) -> Node { try parse(Array(text.utf8)) }

    /// Reads the one document in `bytes`, which must be UTF-8.
    ///
    /// Errors name the first fault: what libyaml found, a duplicate key, a key that is not a scalar, an anchor, alias,
    /// tag or second document, more than `sizeLimit` bytes or `depthLimit` levels, or no document at all.
    public static func parse(_ bytes: [UInt8]) throws(YAMLError) -> Node {
        guard bytes.count <= sizeLimit else {
            throw YAMLError(
                line: 1, column: 1, problem: "\(bytes.count) bytes are too many; the limit is \(sizeLimit)",
                isOurLimit: true)
        }
        var parser = yaml_parser_t()
        guard yaml_parser_initialize(&parser) == 1 else {
            throw YAMLError(line: 1, column: 1, problem: "out of memory")
        }
        defer { yaml_parser_delete(&parser) }
        // Without this, libyaml takes text that starts with certain bytes for UTF-16.
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING)
        return try bytes.withUnsafeBufferPointer { buffer throws(YAMLError) in
            yaml_parser_set_input_string(&parser, buffer.baseAddress, buffer.count)
            return try withUnsafeMutablePointer(to: &parser) { pointer throws(YAMLError) in
                try TreeReader(parser: pointer, text: buffer).document()
            }
        }
    }
}

/// Why a text is not taken, and where. Lines and columns count from 1; columns count characters.
public struct YAMLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The line of the fault.
    public let line: Int
    /// The column of the fault.
    public let column: Int
    /// What is wrong, and what would be right where that is known.
    public let problem: String
    /// Whether this is our own strictness: the text may be good YAML to another reader.
    public let isOurLimit: Bool

    /// An error at a place.
    public init(line: Int, column: Int, problem: String, isOurLimit: Bool = false) {
        self.line = line
        self.column = column
        self.problem = problem
        self.isOurLimit = isOurLimit
    }

    /// `3:7: the key "root" stands here a second time`.
    public var description: String { "\(line):\(column): \(problem)" }
}
