extension JSON {
    /// How deep a text of the bus may nest: a page of `events.read` holds whole events, each as deep as a native
    /// message may be.
    public static let replyDepthLimit = EventClass.depthLimit + 16

    /// The members of the object that `text` is, each value as the very bytes that stand there: what a node said goes
    /// through untouched, also where `parse` would refuse it (an event may repeat a member). A repeated name in this
    /// object itself is refused.
    public static func rawMembers(
        _ text: ArraySlice<UInt8>
    ) throws(JSONError) -> [(key: String, text: ArraySlice<UInt8>)] {
        var members: [(key: String, text: ArraySlice<UInt8>)] = []
        try scan(text, open: 0x7b, close: 0x7d, "an object") { scanner throws(JSONError) in
            let key = try scanner.text(try scanner.memberName())
            guard !members.contains(where: { $0.key == key }) else {
                throw scanner.failure("a member name stands twice in an object")
            }
            members.append((key, text[try value(&scanner, text)]))
        }
        return members
    }

    /// The elements of the array that `text` is, each as the very bytes that stand there.
    public static func rawElements(_ text: ArraySlice<UInt8>) throws(JSONError) -> [ArraySlice<UInt8>] {
        var elements: [ArraySlice<UInt8>] = []
        try scan(text, open: 0x5b, close: 0x5d, "an array") { scanner throws(JSONError) in
            elements.append(text[try value(&scanner, text)])
        }
        return elements
    }

    private static func value(_ scanner: inout JSONScanner, _ text: ArraySlice<UInt8>) throws(JSONError) -> Range<Int> {
        _ = try scanner.peek()
        let start = text.startIndex + scanner.at
        try scanner.skipValue(depth: 2)
        return start..<(text.startIndex + scanner.at)
    }

    private static func scan(
        _ text: ArraySlice<UInt8>, open: UInt8, close: UInt8, _ what: String,
        _ entry: (inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        try text.withUnsafeBufferPointer { buffer throws(JSONError) in
            var scanner = JSONScanner(UnsafeRawBufferPointer(buffer), depthLimit: replyDepthLimit)
            guard try scanner.peek() == open else { throw scanner.failure("not \(what)") }
            try scanner.enter(1)
            if try !scanner.consumeIf(close) {
                repeat { try entry(&scanner) } while try scanner.another(close, "expected , or the end of \(what)")
            }
            try scanner.end()
        }
    }
}
