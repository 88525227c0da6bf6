import Testing

@Suite("Each rule finds what it is there for, and leaves alone what is right")
struct RuleTests {
    private func lines(_ rule: (SourceFile) -> [Finding], _ text: String, path: String = "Sources/Bus/A.swift") -> [Int]
    {
        rule(SourceFile(path: path, text: text)).map(\.line)
    }

    @Test("comments and strings are blanked, and lines keep their numbers")
    func blanking() {
        let text = ##"""
            let a = "try! \(b ? "x" : "y") z" // fatalError()
            /* one /* two */
            */ let c = #"a "quoted" \#(d) word"#
            let e = """
              text "
              """
            """##
        let code = SourceFile.blank(text)
        #expect(code.split(separator: "\n").count == 6)
        #expect(!code.contains("try!") && !code.contains("fatalError") && !code.contains("quoted"))
        #expect(!code.contains("two") && !code.contains("text"))
        #expect(code.contains("let a =") && code.contains("let c =") && code.contains("let e ="))
    }

    @Test(
        "an import of a higher layer is found",
        arguments: ["import SQLite", "@testable import Supervisor", "public import struct Journal.Page", "import Bus"])
    func layers(text: String) {
        #expect(lines(Rules.layers, "import Wire\n\(text)\n") == [2])
    }

    @Test("imports of lower layers and of the system are left alone, except in a pure module")
    func goodLayers() {
        #expect(lines(Rules.layers, "import Glibc\nimport Linux\nimport Wire\nimport ZeroMQ\n// import SQLite\n") == [])
        #expect(lines(Rules.layers, "import Wire\nimport Glibc\n", path: "Sources/Supervision/A.swift") == [2])
        #expect(lines(Rules.layers, "", path: "Sources/Elsewhere/A.swift") == [1])
    }

    @Test("a file or a line that is too long is found")
    func sizes() {
        #expect(lines(Rules.sizes, String(repeating: "\n", count: 449)) == [])
        #expect(lines(Rules.sizes, String(repeating: "\n", count: 450)) == [450])
        #expect(lines(Rules.sizes, "let a = " + String(repeating: "1", count: 113)) == [1])
        #expect(lines(Rules.sizes, "let a = " + String(repeating: "1", count: 112)) == [])
        #expect(lines(Rules.sizes, "// " + String(repeating: "a", count: 148)) == [1])
        #expect(lines(Rules.sizes, "// https://" + String(repeating: "a", count: 148)) == [])
    }

    @Test("a function that is too long is found, whatever stands around it")
    func functions() {
        func body(_ head: String, _ count: Int) -> String {
            "struct A {\n\(head)\n" + String(repeating: "    a()\n", count: count) + "}\n}\n"
        }
        #expect(lines(Rules.functionLength, body("func f() {", 69)) == [2])
        #expect(lines(Rules.functionLength, body("func f() {", 68)) == [])
        #expect(lines(Rules.functionLength, body("init(a: () -> Void = {}) {", 69)) == [2])
        #expect(lines(Rules.functionLength, body("func f(\n a: Int\n) throws {", 67)) == [2])
        let requirement =
            "protocol P {\nfunc f()\n}\nstruct A {\n" + String(repeating: "let a = 1\n", count: 90) + "}\n"
        #expect(lines(Rules.functionLength, requirement) == [])
    }

    @Test(
        "what is forbidden is found",
        arguments: [
            "fatalError()", "let p = Process()", "Foundation.Process.run()", "Thread.sleep(1)", "usleep(5)", "sleep(1)",
            "let m = Mutex(0)",
        ])
    func forbidden(text: String) { #expect(lines(Rules.forbiddenWords, "a()\n\(text)\n") == [2]) }

    @Test(
        "what only looks like it is not",
        arguments: [
            "HostProcess()", "deepsleep(1)", "let a = \"fatalError()\"", "// usleep(5)", "preconditionFailure()",
            "sleep()",
            "import struct Foundation.ProcessInfo",
        ])
    func allowed(text: String) { #expect(lines(Rules.forbiddenWords, text) == []) }

    @Test("forcing is found", arguments: ["try! a()", "a as! B", "a!.b", "a()!", "a[0]! + 1", "f(a!)"])
    func forcing(text: String) { #expect(lines(Rules.forcing, text) == [1]) }

    @Test("a negation or a reason is not", arguments: ["a != b", "!a", "if !a() {}", "a! // Holds: …", "a !== b"])
    func notForcing(text: String) { #expect(lines(Rules.forcing, text) == []) }

    @Test("notes to oneself are found", arguments: ["TO" + "DO later", "FIX" + "ME", "MA" + "RK: - Parts"])
    func notes(word: String) { #expect(lines(Rules.notes, "let a = 1\nlet b = 2 // \(word)\n") == [2]) }

    @Test("names that say nothing are found")
    func names() {
        #expect(lines(Rules.names, "", path: "Sources/Bus/SocketManager.swift") == [1])
        #expect(lines(Rules.names, "", path: "Sources/Utilities/A.swift") == [1])
        #expect(lines(Rules.names, "", path: "Sources/Bus/Inbox.swift") == [])
    }

    @Test("an unproven @unchecked Sendable is found")
    func sendable() {
        #expect(lines(Rules.uncheckedSendable, "final class A: @unchecked Sendable {\n}\n") == [1])
        #expect(lines(Rules.uncheckedSendable, "final class A: @unchecked Sendable {\n// Safe: one thread.\n}\n") == [])
    }

    @Test("a test that is switched off without a reason is found")
    func disabled() {
        #expect(lines(Rules.disabledTests, "@Test(.disabled())") == [1])
        #expect(lines(Rules.disabledTests, "@Test(.disabled(\"needs a second machine\"))") == [])
    }
}
