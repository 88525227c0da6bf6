import Glibc

/// The descriptors 0, 1 and 2 of a process that neither ends nor waits because of whoever reads its output.
public enum StandardStream: Int32, Sendable {
    /// Where results go.
    case output = 1
    /// Where the log goes.
    case errors = 2

    /// The most that a pipe takes whole or not at all (PIPE_BUF, pipe.7), and so the most that `offer` takes.
    public static let lineLimit = 4096

    /// Puts /dev/null in the place of each standard descriptor that is closed. Otherwise the next file opened becomes it, a lock or a database,
    /// and is written into by whoever prints. To be called before anything is opened.
    public static func fillGaps() {
        while true {
            // Kept over an exec, as the standard descriptors are.
            let raw = open("/dev/null", O_RDWR)
            if raw > 2 { close(raw) }
            guard (0...2).contains(raw) else { return }
        }
    }

    /// Writes a line if it can be written at once; false when it was dropped: the reader is slow or gone, or the disk is full.
    public func offer(_ line: [UInt8]) -> Bool {
        precondition(line.count <= StandardStream.lineLimit, "a longer line could wait in the middle")
        var entry = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, 0) == 1, entry.revents & Int16(POLLOUT) != 0 else { return false }
        return line.withUnsafeBytes { write(rawValue, $0.baseAddress, $0.count) } == line.count
    }
}
