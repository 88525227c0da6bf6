/// A network and an account: what one node runs as. The names are checked here, before any path or topic is made of them.
public struct Profile: Sendable, Hashable, CustomStringConvertible {
    /// The network's name, as in the configuration.
    public let network: String
    /// The account's name.
    public let account: String

    /// A profile of two names; nil when either is not allowed.
    public init?(network: String, account: String) {
        guard Profile.isName(network), Profile.isName(account) else { return nil }
        self.network = network
        self.account = account
    }

    /// A profile written `network/account`; nil when it is not exactly that.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(network: String(parts[0]), account: String(parts[1]))
    }

    /// `network/account`
    public var description: String { "\(network)/\(account)" }

    /// Whether a text may name a network or an account: `[a-z0-9][a-z0-9_-]{0,62}`, and not `bus` or `supervisor`, which are topics of ours.
    public static func isName(_ text: String) -> Bool {
        guard (1...63).contains(text.utf8.count), text != "bus", text != "supervisor" else { return false }
        func plain(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) }
        guard let first = text.utf8.first, plain(first) else { return false }
        return text.utf8.allSatisfy { plain($0) || $0 == 0x5f || $0 == 0x2d }
    }

    /// The rule of `isName`, for error messages.
    public static let nameRule = "1 to 63 of a-z 0-9 _ -, starting with a letter or digit, and not bus or supervisor"
}

/// The topic of an event: `<network>/<account>/<source>/<Kind>`, the first frame of its message.
public struct Topic: Sendable, Hashable, CustomStringConvertible {
    /// Whose event it is.
    public let profile: Profile
    /// Who said it: the host's own name for itself, or `supervisor`.
    public let source: String
    /// What happened, as it was said. Up to `EventClass.kindLimit` bytes.
    public let kind: String

    /// The source of lifecycle events.
    public static let supervisor = "supervisor"

    /// A topic; `source` must satisfy `isSource` (or be `supervisor`).
    public init(profile: Profile, source: String, kind: String) {
        precondition(Topic.isSource(source), "a source is [a-z][a-z0-9]{0,15}")
        self.profile = profile
        self.source = source
        self.kind = kind
    }

    /// Whether a host may call itself so: `[a-z][a-z0-9]{0,15}`. Only we are `supervisor`, which the host link checks.
    public static func isSource(_ text: String) -> Bool {
        guard (1...16).contains(text.utf8.count), let first = text.utf8.first, (0x61...0x7a).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) }
    }

    /// The text of frame 1: characters outside `[A-Za-z0-9_.-]` of the kind percent-encoded, byte by byte. At most 63+63+16+300+3 bytes; a
    /// topic over 255 bytes has its event published as `Malformed` (`fits`).
    public var description: String { "\(profile)/\(source)/\(Topic.encode(kind))" }

    /// Whether the topic keeps to 255 bytes.
    public var fits: Bool { description.utf8.count <= 255 }

    static func encode(_ kind: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        for byte in kind.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x5f, 0x2e, 0x2d: out.append(byte)
            default: out += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
