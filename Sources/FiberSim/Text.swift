import CFiber
import Glibc

/// Strings across the C border.
enum Text {
    /// A string that must be there. Empty is allowed; it fails where it is parsed.
    static func required(_ pointer: UnsafePointer<CChar>?, _ name: String) throws -> String {
        guard let text = try optional(pointer) else {
            throw Refusal(FIBER_FFI_STATUS_NULL_POINTER, "\(name) must be non-null")
        }
        return text
    }

    /// A string that may be NULL; the text, also when it is empty.
    static func optional(_ pointer: UnsafePointer<CChar>?) throws -> String? {
        guard let pointer else { return nil }
        let length = strlen(pointer)
        return try pointer.withMemoryRebound(to: UInt8.self, capacity: length) {
            let bytes = UnsafeBufferPointer(start: $0, count: length)
            if let fault = UTF8Fault(in: bytes) { throw Refusal.invalid(fault.description) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// A string for which empty means absent, as for most optional members.
    static func nonEmpty(_ pointer: UnsafePointer<CChar>?) throws -> String? {
        let text = try optional(pointer)
        return text?.isEmpty == true ? nil : text
    }
}

/// The first place where bytes are not UTF-8, in the words of Rust's decoder
/// (https://doc.rust-lang.org/std/str/struct.Utf8Error.html).
struct UTF8Fault: CustomStringConvertible {
    /// Where the valid text ends.
    let index: Int
    /// How many bytes are wrong; nil when the text ends in the middle of a character.
    let length: Int?

    var description: String {
        if let length {
            "invalid utf-8 sequence of \(length) bytes from index \(index)"
        } else {
            "incomplete utf-8 byte sequence from index \(index)"
        }
    }

    /// Nil when all of `bytes` is UTF-8.
    init?(in bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < bytes.count {
            guard let (count, second) = Self.shape(of: bytes[index]) else {
                self.init(index: index, length: 1)
                return
            }
            for offset in 1..<max(count, 1) {
                guard index + offset < bytes.count else {
                    self.init(index: index, length: nil)
                    return
                }
                guard (offset == 1 ? second : 0x80...0xBF).contains(bytes[index + offset]) else {
                    self.init(index: index, length: offset)
                    return
                }
            }
            index += count
        }
        return nil
    }

    private init(index: Int, length: Int?) {
        self.index = index
        self.length = length
    }

    /// How long a character with this first byte is, and what its second byte may be (Unicode standard, table 3-7).
    private static func shape(of first: UInt8) -> (count: Int, second: ClosedRange<UInt8>)? {
        switch first {
        case 0x00...0x7F: (1, 0x80...0xBF)
        case 0xC2...0xDF: (2, 0x80...0xBF)
        case 0xE0: (3, 0xA0...0xBF)
        case 0xED: (3, 0x80...0x9F)
        case 0xE1...0xEF: (3, 0x80...0xBF)
        case 0xF0: (4, 0x90...0xBF)
        case 0xF1...0xF3: (4, 0x80...0xBF)
        case 0xF4: (4, 0x80...0x8F)
        default: nil
        }
    }
}
