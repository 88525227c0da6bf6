/// A funding key as people hand it over: checked before it is written, since the node encrypts whatever it finds first and refuses it afterwards
/// (reference: the file `ckb/key`). It is shown nowhere.
public struct FundingKey: Sendable, Equatable {
    /// 64 lower-case hex digits, as the file has them.
    let digits: [UInt8]

    /// Why a text is no key, without any of it.
    public struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
        /// What a key must be, and is not.
        public let description: String
    }

    /// Longest text that is looked at, in bytes.
    public static let textLimit = 1024

    /// Reads 32 bytes in hex; `0x` before them and white space around them are dropped. Compared byte by byte: no Unicode digit is one.
    public init(_ text: some Sequence<UInt8>) throws(Refusal) {
        var digits = FundingKey.trimmed(Array(text))[...]
        if digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8) { digits = digits.dropFirst(2) }
        let values = digits.compactMap(FundingKey.value)
        guard values.count == digits.count else {
            throw Refusal(description: "must be 64 hex digits; it holds a character that is none")
        }
        guard values.count == 64 else {
            throw Refusal(description: "must be 64 hex digits (32 bytes), not \(values.count)")
        }
        let bytes = stride(from: 0, to: 64, by: 2).map { values[$0] << 4 | values[$0 + 1] }
        guard bytes.contains(where: { $0 != 0 }), bytes.lexicographicallyPrecedes(FundingKey.order) else {
            throw Refusal(description: "must be above 0 and below the order of the curve secp256k1")
        }
        self.digits = values.map { $0 < 10 ? 0x30 + $0 : 0x61 + $0 - 10 }
    }

    /// The number of points of secp256k1 (SEC 2, 2.4.1): a key is below it.
    private static let order: [UInt8] =
        [UInt8](repeating: 0xff, count: 15) + [
            0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
        ]

    /// Without the white space around it.
    static func trimmed(_ text: [UInt8]) -> [UInt8] {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
        guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) })
        else { return [] }
        return Array(text[first...last])
    }

    /// The value of a hex digit; nil: it is none.
    static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}

/// What `ckb/key` is, as far as its bytes tell without the passphrase.
public enum KeyState: Sendable, Equatable {
    /// There is none.
    case missing
    /// A good key that anyone who reads the file has; the node encrypts it when it starts.
    case plaintext
    /// What the node made of a key.
    case encrypted
    /// A whole key that the node does not take as it is: the sentence says why.
    case invalid(String)
    /// Neither a key nor what the node makes of one: the sentence says what it is.
    case damaged(String)

    /// The word that stands in `key_state`.
    public var word: String {
        switch self {
        case .missing: "missing"
        case .plaintext: "plaintext"
        case .encrypted: "encrypted"
        case .invalid: "invalid"
        case .damaged: "damaged"
        }
    }

    /// Bytes of a file that the node has encrypted: version, salt, nonce, and the key with its tag.
    static let encryptedBytes = 77

    /// What these bytes are.
    init(reading bytes: [UInt8]) {
        let text = FundingKey.trimmed(bytes)
        let isPrefixed = text.starts(with: "0x".utf8) || text.starts(with: "0X".utf8)
        let digits = isPrefixed ? text.dropFirst(2) : text[...]
        if !digits.isEmpty, digits.allSatisfy({ FundingKey.value($0) != nil }) {
            if digits.count != 64 {
                self = .damaged("it holds \(digits.count) hex digits, and a key has 64")
            } else if isPrefixed {
                self = .invalid("it begins with 0x, which the node does not take: take the 0x out")
            } else {
                do {
                    _ = try FundingKey(digits)
                    self = .plaintext
                } catch {
                    self = .invalid("it \(error)")
                }
            }
        } else if bytes.count == KeyState.encryptedBytes {
            self = .encrypted
        } else {
            let what = bytes.isEmpty ? "it is empty" : "it has \(bytes.count) bytes"
            self = .damaged("\(what); a key is 64 hex digits, and an encrypted one \(KeyState.encryptedBytes) bytes")
        }
    }
}
