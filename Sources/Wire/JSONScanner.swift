/// Why a text is not JSON: what, and at which byte.
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, such as `a member name must be a string`.
    public let problem: String
    /// The offset of the byte at fault, from 0.
    public let offset: Int

    /// `a member name must be a string (byte 12)`
    public var description: String { "\(problem) (byte \(offset))" }
}

/// The one grammar of JSON here (RFC 8259): it checks bytes, UTF-8 included, without allocating; the parser and the event classifier stand on it.
struct JSONScanner {
    private let bytes: UnsafeRawBufferPointer
    private let depthLimit: Int
    private(set) var at = 0

    init(_ bytes: UnsafeRawBufferPointer, depthLimit: Int) {
        self.bytes = bytes
        self.depthLimit = depthLimit
    }

    func failure(_ problem: String) -> JSONError { JSONError(problem: problem, offset: at) }

    mutating func skipSpace() {
        while at < bytes.count {
            switch bytes[at] {
            case 0x20, 0x0a, 0x0d, 0x09: at += 1
            default: return
            }
        }
    }

    /// The next byte that is not space, not consumed.
    mutating func peek() throws(JSONError) -> UInt8 {
        skipSpace()
        guard at < bytes.count else { throw failure("the text ends too early") }
        return bytes[at]
    }

    mutating func consume(_ byte: UInt8, _ problem: String) throws(JSONError) {
        guard try peek() == byte else { throw failure(problem) }
        at += 1
    }

    /// Consumes `byte` if it is next.
    mutating func consumeIf(_ byte: UInt8) throws(JSONError) -> Bool {
        guard try peek() == byte else { return false }
        at += 1
        return true
    }

    mutating func end() throws(JSONError) {
        skipSpace()
        guard at == bytes.count else { throw failure("there is more after the value") }
    }

    mutating func word(_ word: StaticString) throws(JSONError) {
        let count = word.utf8CodeUnitCount
        guard at + count <= bytes.count else { throw failure("not a value") }
        for index in 0..<count where bytes[at + index] != word.utf8Start[index] { throw failure("not a value") }
        at += count
    }

    /// Checks a string literal; answers the range between the quotes, and whether it holds escapes.
    mutating func string() throws(JSONError) -> (range: Range<Int>, escaped: Bool) {
        try consume(0x22, "expected a string")
        let start = at
        var escaped = false
        while at < bytes.count {
            let byte = bytes[at]
            if byte == 0x22 {
                at += 1
                return (start..<at - 1, escaped)
            }
            if byte == 0x5c {
                escaped = true
                try escape()
            } else if byte < 0x20 {
                throw failure("a control character stands unescaped in a string")
            } else if byte < 0x80 {
                at += 1
            } else {
                try multibyte(byte)
            }
        }
        throw failure("a string does not end")
    }

    private mutating func escape() throws(JSONError) {
        guard at + 1 < bytes.count else { throw failure("a string does not end") }
        switch bytes[at + 1] {
        case 0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74: at += 2
        case 0x75:
            guard at + 6 <= bytes.count else { throw failure("a string does not end") }
            for index in at + 2..<at + 6 where hexDigit(bytes[index]) == nil {
                throw failure("\\u needs four hex digits")
            }
            at += 6
        default: throw failure("an unknown escape")
        }
    }

    /// One UTF-8 sequence of two to four bytes, without overlong forms, surrogates or values above U+10FFFF (RFC 3629).
    private mutating func multibyte(_ first: UInt8) throws(JSONError) {
        let length: Int
        var lowest: UInt8 = 0x80
        var highest: UInt8 = 0xbf
        switch first {
        case 0xc2...0xdf: length = 2
        case 0xe0: (length, lowest) = (3, 0xa0)
        case 0xed: (length, highest) = (3, 0x9f)
        case 0xe1...0xef: length = 3
        case 0xf0: (length, lowest) = (4, 0x90)
        case 0xf4: (length, highest) = (4, 0x8f)
        case 0xf1...0xf3: length = 4
        default: throw failure("not UTF-8")
        }
        guard at + length <= bytes.count, (lowest...highest).contains(bytes[at + 1]) else { throw failure("not UTF-8") }
        for index in at + 2..<max(at + 2, at + length) where bytes[index] & 0xc0 != 0x80 { throw failure("not UTF-8") }
        at += length
    }

    /// Checks a number; answers its range, and whether it has neither fraction nor exponent.
    mutating func number() throws(JSONError) -> (range: Range<Int>, isInteger: Bool) {
        let start = at
        var isInteger = true
        if at < bytes.count, bytes[at] == 0x2d { at += 1 }
        if at < bytes.count, bytes[at] == 0x30 { at += 1 } else { try digits() }
        if at < bytes.count, bytes[at] == 0x2e {
            isInteger = false
            at += 1
            try digits()
        }
        if at < bytes.count, bytes[at] | 0x20 == 0x65 {
            isInteger = false
            at += 1
            if at < bytes.count, bytes[at] == 0x2b || bytes[at] == 0x2d { at += 1 }
            try digits()
        }
        return (start..<at, isInteger)
    }

    private mutating func digits() throws(JSONError) {
        let start = at
        while at < bytes.count, (0x30...0x39).contains(bytes[at]) { at += 1 }
        guard at > start else { throw failure("a number needs digits here") }
    }

    /// Checks one whole value and steps over it.
    mutating func skipValue(depth: Int = 1) throws(JSONError) {
        switch try peek() {
        case 0x7b:
            try enter(depth)
            if try consumeIf(0x7d) { return }
            repeat {
                _ = try memberName()
                try skipValue(depth: depth + 1)
            } while try another(0x7d, "expected , or } in an object")
        case 0x5b:
            try enter(depth)
            if try consumeIf(0x5d) { return }
            repeat { try skipValue(depth: depth + 1) } while try another(0x5d, "expected , or ] in an array")
        case 0x22: _ = try string()
        case 0x74: try word("true")
        case 0x66: try word("false")
        case 0x6e: try word("null")
        case 0x2d, 0x30...0x39: _ = try number()
        default: throw failure("not a value")
        }
    }

    /// Steps into an object or array.
    mutating func enter(_ depth: Int) throws(JSONError) {
        guard depth <= depthLimit else { throw failure("nested deeper than \(depthLimit)") }
        at += 1
    }

    /// A member's name and the colon after it.
    mutating func memberName() throws(JSONError) -> (range: Range<Int>, escaped: Bool) {
        guard try peek() == 0x22 else { throw failure("a member name must be a string") }
        let name = try string()
        try consume(0x3a, "expected : after a member name")
        return name
    }

    /// After an element: true after a comma, false after the closing byte.
    mutating func another(_ close: UInt8, _ problem: String) throws(JSONError) -> Bool {
        if try consumeIf(0x2c) { return true }
        try consume(close, problem)
        return false
    }

    /// The text of a scanned string; an escaped surrogate without its partner is no text.
    func text(_ literal: (range: Range<Int>, escaped: Bool)) throws(JSONError) -> String {
        let slice = UnsafeRawBufferPointer(rebasing: bytes[literal.range])
        guard literal.escaped else { return String(decoding: slice, as: UTF8.self) }
        var units: [UInt16] = []
        var out = ""
        func flush() -> Bool {
            // UTF-16 units are gathered so that a pair of escapes becomes one character.
            guard !units.isEmpty else { return true }
            defer { units.removeAll() }
            guard let text = String(validating: units, as: UTF16.self) else { return false }
            out += text
            return true
        }
        var index = 0
        var plain = 0
        while index < slice.count {
            guard slice[index] == 0x5c else {
                index += 1
                continue
            }
            if plain < index {
                guard flush() else { throw failure("half of a surrogate pair") }
                out += String(decoding: slice[plain..<index], as: UTF8.self)
            }
            if slice[index + 1] == 0x75 {
                units.append((2..<6).reduce(0) { $0 << 4 | UInt16(hexDigit(slice[index + $1]) ?? 0) })
                index += 6
            } else {
                units.append(UInt16(simpleEscape(slice[index + 1])))
                index += 2
            }
            plain = index
        }
        guard flush() else { throw failure("half of a surrogate pair") }
        return out + String(decoding: slice[plain...], as: UTF8.self)
    }

    /// Whether a scanned string, without escapes, is exactly `word`.
    func equals(_ literal: (range: Range<Int>, escaped: Bool), _ word: StaticString) -> Bool {
        guard literal.range.count == word.utf8CodeUnitCount else { return false }
        for index in 0..<literal.range.count
        where bytes[literal.range.lowerBound + index] != word.utf8Start[index] { return false }
        return true
    }

    private func simpleEscape(_ byte: UInt8) -> UInt8 {
        switch byte {
        case 0x62: 0x08
        case 0x66: 0x0c
        case 0x6e: 0x0a
        case 0x72: 0x0d
        case 0x74: 0x09
        default: byte
        }
    }
}

/// The value of a hex digit, either case.
func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x61...0x66: byte - 0x61 + 10
    case 0x41...0x46: byte - 0x41 + 10
    default: nil
    }
}
