import Glibc

/// Where the running program stands: the programs and the simulated node find each other beside themselves.
public enum Program {
    /// The directory of the running program, absolute.
    public static let directory: String = {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        // Without /proc nothing else here works either; "." then gives the clearest later error.
        guard count > 0 else { return "." }
        let path = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }()
}
