import Glibc
import Linux

/// Work inside `fiber_start` that must not be cut off: the encryption of a plaintext `ckb/key`, which the library
/// writes in place, and a migration of the store. The library says nothing of either, so both are told from the
/// files: a key that was plaintext when the start began and is not encrypted yet, and a store whose files still
/// change.
///
/// A stop that meets such work gets `limit` on top of its deadline, and no more: a start that hangs must end too.
struct FragileWork {
    /// How long past the deadline it is let finish.
    static let limit = Duration.seconds(60)
    /// A store that has not changed for so long is not being migrated.
    private static let quiet = Duration.seconds(1)
    /// Bytes of an encrypted key file.
    private static let encryptedKeyBytes: off_t = 77

    private let keyPath: String
    private let storePath: String
    private let keyWasPlain: Bool
    private var seen: [off_t]
    private var changed: Instant?

    /// To be made before the start.
    init(dataDirectory: String) {
        keyPath = dataDirectory + "/ckb/key"
        storePath = dataDirectory + "/fiber/store"
        keyWasPlain = FragileWork.keyIsPlain(keyPath)
        seen = FragileWork.traces(storePath)
    }

    /// Looks at the files; to be called now and then while the start runs.
    mutating func look(_ now: Instant) {
        let traces = FragileWork.traces(storePath)
        if traces != seen { changed = now }
        seen = traces
    }

    /// Whether some may be under way.
    func isUnderWay(_ now: Instant) -> Bool {
        if keyWasPlain && FragileWork.keyIsPlain(keyPath) { return true }
        return changed.map { now - $0 < FragileWork.quiet } ?? false
    }

    private static func keyIsPlain(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_size != encryptedKeyBytes
    }

    /// Size and time of every file in a directory.
    private static func traces(_ path: String) -> [off_t] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var traces: [off_t] = []
        while let entry = readdir(directory) {
            var status = stat()
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard stat(path + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            traces += [status.st_size, off_t(status.st_mtim.tv_sec), off_t(status.st_mtim.tv_nsec)]
        }
        return traces
    }
}
