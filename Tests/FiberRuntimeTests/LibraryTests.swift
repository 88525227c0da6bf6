import Foundation
import Glibc
import Linux
import Testing

@testable import FiberRuntime

@Suite struct LibraryLoading {
    /// The reason and the sentence for a library that must not load.
    private func refusal(_ path: String) -> LibraryError? {
        do {
            _ = try Library.load(path)
            Issue.record("\(path) was loaded")
            return nil
        } catch { return error }
    }

    private func scratch(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = NSTemporaryDirectory() + "nodebus-library-\(UUID().uuidString)-\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test("no file, or a directory")
    func missing() {
        let error = refusal("/nonexistent/libfiber_ffi.so")
        #expect(error?.reason == "library_missing")
        #expect(error?.description.contains("/nonexistent/libfiber_ffi.so") == true)
        #expect(refusal("/tmp")?.reason == "library_not_a_library")
        #expect(refusal("")?.reason == "library_missing")
    }

    @Test("a text, an empty file, a cut header, a program")
    func notALibrary() throws {
        for (name, bytes) in [("text", Array("#!/bin/sh\n".utf8)), ("empty", []), ("cut", Array("\u{7f}ELF".utf8))] {
            let path = try scratch(name, bytes)
            defer { unlink(path) }
            #expect(refusal(path)?.reason == "library_not_a_library", "\(name)")
        }
    }

    @Test(
        "another machine's library",
        arguments: [
            (1, 3, "32-bit library for i386"), (2, 243, "64-bit library for RISC-V"), (2, 9999, "machine 9999"),
        ])
    func wrongArchitecture(_ bits: Int, _ machine: Int, _ words: String) throws {
        var header = [UInt8](repeating: 0, count: 64)
        header.replaceSubrange(0..<4, with: [0x7f, 0x45, 0x4c, 0x46])
        header[4] = UInt8(bits)
        header[5] = 1
        header[16] = 3
        header[18] = UInt8(machine & 255)
        header[19] = UInt8(machine >> 8)
        let path = try scratch("machine", header)
        defer { unlink(path) }
        let error = refusal(path)
        #expect(error?.reason == "library_wrong_architecture")
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    /// The path of the mathematics library.
    private func systemLibrary() throws -> String {
        try #require(dlopen("libm.so.6", RTLD_NOW) != nil)
        let maps = String(
            decoding: try Descriptor.open("/proc/self/maps", O_RDONLY).readAll(limit: 16 << 20), as: UTF8.self)
        let line = maps.split(separator: "\n").first { $0.hasSuffix("/libm.so.6") }
        return String(try #require(line?.split(separator: " ").last))
    }

    @Test("a library of something else: the functions it lacks are named")
    func missingSymbols() throws {
        let error = refusal(try systemLibrary())
        #expect(error?.reason == "library_symbol_missing")
        for name in ["fiber_version", "fiber_start", "fiber_stop", "fiber_string_free", "fiber_node_info"] {
            #expect(error?.description.contains(name) == true)
        }
    }

    @Test("a library that needs another one that is not there: that one is named")
    func missingDependency() throws {
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: try systemLibrary())))
        // libm needs libc.so.6; a copy that needs libq.so.6 instead has the same size and a dependency that nobody has.
        let name = Array("libc.so.6\0".utf8)
        var renamed = 0
        for start in 0..<bytes.count - name.count
        where bytes[start] == name[0] && bytes[start..<start + name.count].elementsEqual(name) {
            bytes[start + 3] = UInt8(ascii: "q")
            renamed += 1
        }
        try #require(renamed > 0)
        let path = try scratch("dependency", bytes)
        defer { unlink(path) }
        let error = refusal(path)
        #expect(error?.reason == "library_dependency_missing")
        #expect(error?.description.contains("libq.so.6") == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("\n") == false)
    }
}
