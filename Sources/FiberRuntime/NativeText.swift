/// What of a native failure's text may be shown.
///
/// The node's RPC layer answers the debug print of an error object, `ErrorObject { code: …, message: "<text>", data:
/// Some(RawValue(…)) }`, whose `data` repeats the whole request: preimages, invoices, scripts. Only `<text>` is kept.
/// What is left can still print a secret, so long hex is cut unless the caller sent it as something that is no
/// secret.
enum NativeText {
    /// Bytes of a message that are shown.
    static let limit = 2000

    /// The text to show, in one line. `known` is hex (lower case, without 0x) that may stay whole.
    static func shown(_ native: String, known: Set<String> = []) -> String {
        let message = cutHex(errorMessage(in: native) ?? withoutData(native), known: known)
        let line = String(message.map { $0.isNewline ? " " : $0 })
        guard line.utf8.count > limit else { return line }
        return String(decoding: line.utf8.prefix(limit), as: UTF8.self) + "…"
    }

    /// The message of an error object, unescaped; nil when the text is none. One that was cut before its quote ends
    /// is kept as far as it goes.
    static func errorMessage(in native: String) -> String? {
        guard let object = native.firstRange(of: "ErrorObject {") else { return nil }
        let mark = "message: \""
        guard let start = native[object.upperBound...].firstRange(of: mark) else { return "" }
        return unescape(native[start.upperBound...])
    }

    /// Text up to the request that is repeated, should the shape of the object ever change.
    private static func withoutData(_ native: String) -> String {
        let marks = ["data: Some(", "RawValue("].compactMap { native.firstRange(of: $0)?.lowerBound }
        return marks.min().map { String(native[..<$0]) } ?? native
    }

    /// Reads a Rust debug string up to its closing quote (`char::escape_debug`).
    private static func unescape(_ text: Substring) -> String {
        var out = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst(), scalar != "\"" {
            guard scalar == "\\" else {
                out.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "n": out.append("\n")
            case "r": out.append("\r")
            case "t": out.append("\t")
            case "0": out.append("\u{fffd}")
            case "u":
                let digits = rest.dropFirst().prefix { $0 != "}" }
                rest = rest.dropFirst(digits.count + 2)
                let value = UInt32(String(digits), radix: 16).flatMap(Unicode.Scalar.init)
                out.append(value ?? "\u{fffd}")
            case let other?: out.append(other)
            case nil: break
            }
        }
        return String(out)
    }

    /// Cuts every run of 64 or more hex digits (32 bytes: a key, a preimage, a hash) to its first 8, except the known
    /// ones.
    static func cutHex(_ text: String, known: Set<String>) -> String {
        var out: [UInt8] = []
        var run: [UInt8] = []
        func flush() {
            let whole = run.count < 64 || known.contains(String(decoding: run, as: UTF8.self).lowercased())
            out += whole ? run : run.prefix(8) + Array("…".utf8)
            run.removeAll()
        }
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x46, 0x61...0x66: run.append(byte)
            default:
                flush()
                out.append(byte)
            }
        }
        flush()
        return String(decoding: out, as: UTF8.self)
    }
}
