extension YAML {
    /// One node of a document, with the place where it starts.
    public struct Node: Sendable, Equatable {
        /// What stands at this place.
        public let content: Content
        /// The line it starts on, from 1.
        public let line: Int
        /// The column it starts at, in characters from 1.
        public let column: Int

        /// A node at a place.
        public init(_ content: Content, line: Int, column: Int) {
            self.content = content
            self.line = line
            self.column = column
        }

        /// What a node can hold.
        public indirect enum Content: Sendable, Equatable {
            /// Text, and how it was written.
            case scalar(String, Style)
            /// Nodes in order.
            case sequence([Node])
            /// Pairs in the order of the text; no key stands twice.
            case mapping([Pair])
        }

        /// How a scalar was written. Only a plain one can mean something else than its text (`12`, `true`, `null`).
        public enum Style: Sendable, Equatable {
            /// Without quotes.
            case plain
            /// In quotes, or as a block (`|`, `>`): text and nothing else.
            case quoted
        }

        /// A key and its value.
        public struct Pair: Sendable, Equatable {
            /// The key, always a scalar.
            public let key: Node
            /// The value; an empty plain scalar when nothing was written.
            public let value: Node

            /// A pair of nodes.
            public init(key: Node, value: Node) {
                self.key = key
                self.value = value
            }

            /// The key's text.
            public var name: String { key.text ?? "" }
        }

        /// The text of a scalar, however it was written; nil for anything else.
        public var text: String? { if case .scalar(let text, _) = content { text } else { nil } }

        /// The text of a scalar without quotes; nil for anything else.
        public var plain: String? { if case .scalar(let text, .plain) = content { text } else { nil } }

        /// Whether this is YAML's null: nothing, `~` or `null`, without quotes.
        public var isNull: Bool { plain.map { ["", "~", "null", "Null", "NULL"].contains($0) } ?? false }

        /// A plain `true` or `false`. The old `yes`, `no`, `on` and `off` are text.
        public var bool: Bool? {
            switch plain {
            case "true", "True", "TRUE": true
            case "false", "False", "FALSE": false
            default: nil
            }
        }

        /// A plain decimal integer that an Int64 holds.
        public var integer: Int64? {
            guard let plain, plain.utf8.first != UInt8(ascii: "+") else { return nil }
            return Int64(plain)
        }

        /// The nodes of a sequence; nil for anything else.
        public var sequence: [Node]? { if case .sequence(let nodes) = content { nodes } else { nil } }

        /// The pairs of a mapping; nil for anything else.
        public var mapping: [Pair]? { if case .mapping(let pairs) = content { pairs } else { nil } }

        /// The value under `key` in a mapping; nil when this is no mapping or has no such key.
        public subscript(key: String) -> Node? { mapping?.first { $0.name == key }?.value }
    }
}
