import CYAML

/// Builds the tree from libyaml's events (https://pyyaml.org/wiki/LibYAML), refusing what the tree does not represent.
///
/// Not from libyaml's own documents: those resolve aliases, keep duplicate keys and drop how a scalar was written.
struct TreeReader {
    let parser: UnsafeMutablePointer<yaml_parser_t>
    let text: UnsafeBufferPointer<UInt8>

    /// The one document of the stream.
    func document() throws(YAMLError) -> YAML.Node {
        try expect(YAML_STREAM_START_EVENT)
        let first = try next()
        guard first.type == YAML_DOCUMENT_START_EVENT else {
            throw YAMLError(line: 1, column: 1, problem: "there is nothing in it")
        }
        let root = try node(next(), depth: 0)
        try expect(YAML_DOCUMENT_END_EVENT)
        let after = try next()
        guard after.type == YAML_STREAM_END_EVENT else {
            throw after.error("a second document starts here; exactly one is read")
        }
        return root
    }

    /// What the tree needs of an event, copied out so that libyaml's memory is freed at once.
    private struct Event {
        let type: yaml_event_type_t
        let line: Int
        let column: Int
        var text = ""
        var style = YAML.Node.Style.plain

        func error(_ problem: String, isOurLimit: Bool = false) -> YAMLError {
            YAMLError(line: line, column: column, problem: problem, isOurLimit: isOurLimit)
        }
    }

    private func expect(_ type: yaml_event_type_t) throws(YAMLError) {
        let event = try next()
        // libyaml's grammar gives these events in this order, whatever the text is.
        precondition(event.type == type, "libyaml gave event \(event.type.rawValue) for \(type.rawValue)")
    }

    private func next() throws(YAMLError) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw libraryError() }
        defer { yaml_event_delete(&event) }
        var result = Event(
            type: event.type, line: Int(event.start_mark.line) + 1, column: Int(event.start_mark.column) + 1)
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            try refuse(anchor: scalar.anchor, tag: scalar.tag, at: result)
            result.text = String(
                decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            result.style = scalar.style == YAML_PLAIN_SCALAR_STYLE ? .plain : .quoted
        case YAML_SEQUENCE_START_EVENT:
            try refuse(anchor: event.data.sequence_start.anchor, tag: event.data.sequence_start.tag, at: result)
        case YAML_MAPPING_START_EVENT:
            try refuse(anchor: event.data.mapping_start.anchor, tag: event.data.mapping_start.tag, at: result)
        case YAML_ALIAS_EVENT:
            throw result.error("an alias (*name) stands here; write the value out instead", isOurLimit: true)
        default: break
        }
        return result
    }

    private func refuse(
        anchor: UnsafeMutablePointer<yaml_char_t>?, tag: UnsafeMutablePointer<yaml_char_t>?, at event: Event
    ) throws(YAMLError) {
        if anchor != nil {
            throw event.error("an anchor (&name) stands here; anchors and aliases are not read", isOurLimit: true)
        }
        if tag != nil { throw event.error("a tag (!name) stands here; tags are not read", isOurLimit: true) }
    }

    private func node(_ event: Event, depth: Int) throws(YAMLError) -> YAML.Node {
        func checkDepth() throws(YAMLError) {
            guard depth < YAML.depthLimit else {
                throw event.error("nested more than \(YAML.depthLimit) levels deep", isOurLimit: true)
            }
        }
        func place(_ content: YAML.Node.Content) -> YAML.Node {
            YAML.Node(content, line: event.line, column: event.column)
        }
        switch event.type {
        case YAML_SCALAR_EVENT:
            return place(.scalar(event.text, event.style))
        case YAML_SEQUENCE_START_EVENT:
            try checkDepth()
            var nodes: [YAML.Node] = []
            while case let item = try next(), item.type != YAML_SEQUENCE_END_EVENT {
                nodes.append(try node(item, depth: depth + 1))
            }
            return place(.sequence(nodes))
        case YAML_MAPPING_START_EVENT:
            try checkDepth()
            return place(.mapping(try pairs(depth: depth + 1)))
        default:
            preconditionFailure("libyaml gave event \(event.type.rawValue) where a node starts")
        }
    }

    private func pairs(depth: Int) throws(YAMLError) -> [YAML.Node.Pair] {
        var pairs: [YAML.Node.Pair] = []
        var lines: [String: Int] = [:]
        while case let key = try next(), key.type != YAML_MAPPING_END_EVENT {
            guard key.type == YAML_SCALAR_EVENT else {
                throw key.error("a key must be a word, not a list or a mapping", isOurLimit: true)
            }
            if let first = lines.updateValue(key.line, forKey: key.text) {
                throw key.error("the key \"\(key.text)\" stands here a second time; the first is on line \(first)")
            }
            let keyNode = try node(key, depth: depth)
            pairs.append(YAML.Node.Pair(key: keyNode, value: try node(next(), depth: depth)))
        }
        return pairs
    }

    private func libraryError() -> YAMLError {
        let failure = parser.pointee
        let problem = failure.problem.map { String(cString: $0) } ?? "out of memory"
        if failure.error == YAML_READER_ERROR {
            // For bytes that are not text libyaml gives an offset and no mark.
            let before = text.prefix(failure.problem_offset)
            let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            let line = before.reduce(into: 1) { $0 += $1 == UInt8(ascii: "\n") ? 1 : 0 }
            let column = String(decoding: before[lineStart...], as: UTF8.self).count + 1
            return YAMLError(line: line, column: column, problem: "not UTF-8 text: \(problem)")
        }
        let context = failure.context.map { String(cString: $0) + ": " } ?? ""
        let line = Int(failure.problem_mark.line)
        return YAMLError(
            line: line + 1, column: Int(failure.problem_mark.column) + 1,
            problem: context + problem + (isIndentedWithTab(line) ? " (indent with spaces: YAML allows no tab)" : ""))
    }

    private func isIndentedWithTab(_ line: Int) -> Bool {
        let lines = text.split(separator: UInt8(ascii: "\n"), maxSplits: line + 1, omittingEmptySubsequences: false)
        guard line < lines.count else { return false }
        return lines[line].prefix { $0 == 32 || $0 == 9 }.contains(9)
    }
}
