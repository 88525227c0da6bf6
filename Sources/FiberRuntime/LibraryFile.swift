import Glibc
import Linux

/// Why the native library cannot be used: one line that names what is at fault.
public struct LibraryError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A stable word, such as `library_missing`.
    public let reason: String
    /// The sentence for an operator.
    public let description: String

    init(_ reason: String, _ description: String) {
        self.reason = reason
        self.description = description
    }

    static func missingSymbols(_ path: String, _ names: [String]) -> LibraryError {
        let names = names.joined(separator: ", ")
        return LibraryError(
            "library_symbol_missing",
            "\(path) is not a Fiber library: it lacks \(names); check `library` of the network")
    }
}

/// The library's file, looked at before the dynamic linker does: its own words for a wrong file name neither the
/// cause nor the remedy.
struct LibraryFile {
    let path: String

    /// Loads it. RTLD_NOW, so that a symbol that does not resolve shows now and not in the middle of a payment;
    /// RTLD_LOCAL, so that it cannot take the place of a symbol of ours.
    func open() throws(LibraryError) -> UnsafeMutableRawPointer {
        try checkFile()
        // A name without a slash would be searched for elsewhere.
        let name = path.contains("/") ? path : "./" + path
        if let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) { return handle }
        throw classify(dlerror().map { String(cString: $0) } ?? "no reason given")
    }

    private func checkFile() throws(LibraryError) {
        let header: [UInt8]
        do {
            let file = try Descriptor.open(path, O_RDONLY)
            var status = stat()
            guard fstat(file.raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw LibraryError("library_not_a_library", "\(path) is not a file; check `library` of the network")
            }
            header = try file.readAll(limit: 64)
        } catch let error as LibraryError {
            throw error
        } catch let error as SystemError where error.code == ENOENT || error.code == ENOTDIR {
            throw LibraryError("library_missing", "there is no library at \(path); check `library` of the network")
        } catch {
            throw LibraryError("library_unreadable", "the library cannot be read: \(error)")
        }
        try checkHeader(header)
    }

    /// The ELF header (System V ABI): class at 4, byte order at 5, type at 16, machine at 18.
    private func checkHeader(_ header: [UInt8]) throws(LibraryError) {
        guard header.count >= 20, header[0..<4].elementsEqual([0x7f, 0x45, 0x4c, 0x46]) else {
            throw LibraryError("library_not_a_library", "\(path) is not an ELF file, so no library for Linux")
        }
        let isLittle = header[5] == 1
        let machine = Int(header[18]) << (isLittle ? 0 : 8) | Int(header[19]) << (isLittle ? 8 : 0)
        guard header[4] == 2, isLittle, machine == LibraryFile.machine else {
            let name = LibraryFile.machines[machine] ?? "machine \(machine)"
            throw LibraryError(
                "library_wrong_architecture",
                "\(path) is a \(header[4] == 2 ? "64" : "32")-bit library for \(name); "
                    + "this host is 64-bit for \(LibraryFile.machines[LibraryFile.machine] ?? "another machine")")
        }
        let type = Int(header[16]) | Int(header[17]) << 8
        guard type == 3 else {
            throw LibraryError("library_not_a_library", "\(path) is an ELF file but no shared library")
        }
    }

    private static let machines = [3: "i386", 40: "arm", 62: "x86-64", 183: "arm64", 243: "RISC-V", 8: "MIPS"]
    #if arch(x86_64)
        private static let machine = 62
    #elseif arch(arm64)
        private static let machine = 183
    #else
        #error("CFiber's layout is that of x86-64 and arm64")
    #endif

    /// The linker's words (glibc: `NAME: cannot open shared object file: …`, `PATH: undefined symbol: NAME`).
    private func classify(_ words: String) -> LibraryError {
        if let range = words.firstRange(of: ": cannot open shared object file") {
            let name = words[..<range.lowerBound]
            return LibraryError(
                "library_dependency_missing", "\(path) needs \(name), which is not installed or not found by the linker"
            )
        }
        if let range = words.firstRange(of: "undefined symbol: ") {
            let name = words[range.upperBound...].prefix { $0 != " " && $0 != "," }
            return LibraryError(
                "library_dependency_missing",
                "\(path) needs the symbol \(name), which none of the libraries it depends on has (a version too old?)")
        }
        return LibraryError("library_not_loadable", "\(path) cannot be loaded: \(words)")
    }
}
