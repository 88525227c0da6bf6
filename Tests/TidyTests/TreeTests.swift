import Foundation
import Testing

/// The project's own files.
enum Tree {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Every Swift file below Sources and Tests.
    static let files: [SourceFile] = ["Sources", "Tests"].flatMap { directory -> [SourceFile] in
        let names = FileManager.default.enumerator(atPath: root.appending(path: directory).path)?.allObjects ?? []
        return names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted().compactMap { name in
            let path = "\(directory)/\(name)"
            return (try? text(path)).map { SourceFile(path: path, text: $0) }
        }
    }
}

@Suite("The tree keeps the rules that a machine can keep")
struct TreeTests {
    @Test("the files are found")
    func found() {
        #expect(Tree.files.count > 50)
        #expect(Tree.files.contains { $0.path == "Sources/nodebus/main.swift" })
    }

    @Test("no file breaks a rule")
    func rules() {
        let findings = Rules.all.flatMap { rule in Tree.files.flatMap(rule) }
        #expect(findings.isEmpty, "\n\(findings.map(\.description).joined(separator: "\n"))")
    }

    @Test("the layers name every module there is, and no other")
    func modules() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Tree.root.appending(path: "Sources").path)
        #expect(Set(names) == Set(Layers.allowed.keys).union(Layers.c))
    }

    @Test("no module but the supervisor knows both the disk and the bus")
    func diskAndBus() {
        let both = Layers.allowed.filter { $0.value.isSuperset(of: ["SQLite", "ZeroMQ"]) }.keys
        #expect(Array(both) == ["Supervisor"])
    }

    @Test("the README lists every exit code")
    func exitCodes() throws {
        let source = try Tree.text("Sources/Supervisor/ExitCode.swift")
        let codes = source.matches(of: /case \w+ = (\d+)/).map { String($0.1) }
        #expect(codes.count > 5)
        let readme = try Tree.text("README.md")
        for code in codes { #expect(readme.contains("| \(code) |"), "exit code \(code)") }
    }

    @Test("the README names every method of the bus")
    func methods() throws {
        let source = try Tree.text("Sources/Wire/BusMethods.swift")
        let method = /"((?:bus|node|account|network|events|consumers|rpc)\.\w+)"/
        let names = source.matches(of: method).map { String($0.1) }
        #expect(names.count > 8)
        let readme = try Tree.text("README.md")
        for name in names { #expect(readme.contains("`\(name)"), "method \(name)") }
    }
}
