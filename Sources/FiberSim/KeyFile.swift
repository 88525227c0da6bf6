import Glibc
import Linux

/// The funding key in `ckb/key` and the password that goes with it, in the manner of the real library: plaintext is
/// rewritten in place at the first reading, not atomically.
///
/// The rewritten form is the simulator's own. It has the real one's size, but its first byte is the letter `s` and **it
/// protects nothing**: the bytes are only masked by a digest that is no cryptography. It exists so that the migration
/// and a wrong password can be seen. The real library refuses such a file, and the simulator refuses a real one;
/// neither can be mistaken for the other.
enum KeyFile {
    /// `s`, 16 bytes of salt, 12 of nonce, the masked key, 16 of check.
    static let encryptedSize = 77

    /// Why there is no key, in the node's words.
    struct Fault: Error {
        let text: String
        /// That the file is not there, for which the real library panics in some calls.
        var isMissing = false
    }

    private static let version = UInt8(ascii: "s")
    private static let plainOverhead = 45

    /// The key, after a plaintext file has been rewritten.
    static func read(path: String) throws(Fault) -> [UInt8] {
        var bytes: [UInt8]
        do { bytes = try Descriptor.open(path, O_RDONLY).readAll() } catch {
            throw Fault(text: "\(error.reason) (os error \(error.code))", isMissing: error.code == ENOENT)
        }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        let digits = text.hasPrefix("0x") || text.hasPrefix("0X") ? text.dropFirst(2) : text[...]
        if digits.allSatisfy(\.isHexDigit) {
            if digits.count < text.count {
                throw failure("key file appears to be plaintext but has an unsupported 0x prefix, please remove it")
            }
            // As in the real library, a text of the wrong length is rewritten first and refused after.
            bytes = encrypt([UInt8](hex: text) ?? Array(text.utf8), password: try password())
            try overwrite(path, bytes)
        }
        let key = try decrypt(bytes, password: try password())
        guard key.count == 32, key.contains(where: { $0 != 0 }) else {
            throw failure("invalid secret key data, error: malformed or out-of-range secret key")
        }
        return key
    }

    private static func password() throws(Fault) -> [UInt8] {
        guard let value = getenv("FIBER_SECRET_KEY_PASSWORD") else {
            throw failure(
                "please set FIBER_SECRET_KEY_PASSWORD environment variable to encrypt and decrypt the secret key")
        }
        return Array(String(cString: value).utf8)
    }

    private static func encrypt(_ key: [UInt8], password: [UInt8]) -> [UInt8] {
        let salt = [UInt8].random(count: 28)
        let masked = mask(key, salt: salt, password: password)
        return [version] + salt + masked + check(masked, salt: salt, password: password)
    }

    private static func decrypt(_ bytes: [UInt8], password: [UInt8]) throws(Fault) -> [UInt8] {
        guard bytes.count >= plainOverhead, bytes[0] == version else {
            throw failure("decryption failed: aead::Error (not a key file of the simulator)")
        }
        let (salt, masked) = (Array(bytes[1..<29]), Array(bytes[29..<bytes.count - 16]))
        guard Array(bytes.suffix(16)) == check(masked, salt: salt, password: password) else {
            throw failure("decryption failed: aead::Error")
        }
        return mask(masked, salt: salt, password: password)
    }

    private static func mask(_ bytes: [UInt8], salt: [UInt8], password: [UInt8]) -> [UInt8] {
        let pad = SimulatedDigest.of([salt, password])
        return bytes.enumerated().map { $1 ^ pad[$0 % pad.count] }
    }

    private static func check(_ masked: [UInt8], salt: [UInt8], password: [UInt8]) -> [UInt8] {
        Array(SimulatedDigest.of([Array("check".utf8), masked, salt, password]).prefix(16))
    }

    private static func overwrite(_ path: String, _ bytes: [UInt8]) throws(Fault) {
        do { try Descriptor.open(path, O_WRONLY | O_TRUNC).write(bytes) } catch {
            throw Fault(text: "\(error.reason) (os error \(error.code))")
        }
    }

    private static func failure(_ text: String) -> Fault { Fault(text: "Secret key file error: \(text)") }
}
