// The header against the description of the ABI in Resources/fiber-abi.json. Both are ours to keep in step; the description was made from
// the upstream header, so what disagrees with it disagrees with the library.
import CFiber
import Foundation
import Testing

@Suite("the C header of Fiber")
struct HeaderTests {
    private let description: Description
    private let header: String

    init() throws {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        let json = try Data(contentsOf: here.appending(path: "Resources/fiber-abi.json"))
        description = try JSONDecoder().decode(Description.self, from: json)
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "Sources/CFiber/include/fiber_ffi.h"), encoding: .utf8)
        header = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            .replacingOccurrences(of: "( ", with: "(").replacingOccurrences(of: "\\ ", with: "")
    }

    @Test("every struct has the described size, alignment and members")
    func structs() throws {
        #expect(description.structs.map(\.name) == importedStructs.map(\.name))
        for (expected, imported) in zip(description.structs, importedStructs) {
            #expect(imported.size == expected.size, "size of \(expected.name)")
            #expect(imported.stride == expected.size, "stride of \(expected.name)")
            #expect(imported.alignment == expected.align, "alignment of \(expected.name)")
            let fields = expected.fields.map { ImportedField(name: $0.name, offset: $0.offset, size: $0.size) }
            #expect(imported.fields == fields, "members of \(expected.name)")
        }
    }

    @Test("every constant has the described value")
    func constants() {
        let expected = description.enums.flatMap(\.values).map { "\($0.name) = \($0.value)" }
        #expect(importedConstants.map { "\($0.name) = \($0.value)" } == expected)
        #expect(MemoryLayout<FiberFfiStatus>.size == 4)
        #expect(MemoryLayout<FiberInvoiceCurrency>.size == 4)
        #expect(MemoryLayout<FiberHashAlgorithm>.size == 4)
        #expect(MemoryLayout<FiberPaymentStatusFilter>.size == 4)
    }

    @Test("every function and callback has a type with the described signature, and there are no others")
    func signatures() {
        #expect(description.functions.count == 33)
        for function in description.functions {
            let line = signature(function.returns, "\(function.name)_fn", function.params)
            #expect(header.contains(line), "\(line)")
        }
        for callback in description.callback_types {
            let line = signature(callback.returns, callback.name, callback.params)
            #expect(header.contains(line), "\(line)")
        }
        #expect(header.components(separatedBy: "_fn)(").count - 1 == description.functions.count)
    }

    @Test("every described initialiser for C is there")
    func initialisers() {
        for macro in description.initializer_macros {
            let line = "#define \(macro.name) {.struct_size = sizeof(\(macro.struct))}"
            #expect(header.contains(line), "\(line)")
        }
    }

    private func signature(_ returns: String, _ name: String, _ parameters: [Description.Parameter]) -> String {
        func declared(_ type: String, _ name: String) -> String {
            type.hasSuffix("*") ? type + name : "\(type) \(name)"
        }
        let list = parameters.map { declared($0.c_type, $0.name) }.joined(separator: ", ")
        return "typedef \(declared(returns, "(*\(name))"))(\(list.isEmpty ? "void" : list));"
    }
}

/// The part of fiber-abi.json that a header can be held against; names as in the file.
private struct Description: Decodable {
    struct Struct: Decodable {
        let name: String
        let size: Int
        let align: Int
        let fields: [Field]
    }
    struct Field: Decodable {
        let name: String
        let offset: Int
        let size: Int
    }
    struct Enumeration: Decodable { let values: [Constant] }
    struct Constant: Decodable {
        let name: String
        let value: Int
    }
    struct Function: Decodable {
        let name: String
        let returns: String
        let params: [Parameter]
    }
    struct Parameter: Decodable {
        let name: String
        let c_type: String
    }
    struct Macro: Decodable {
        let name: String
        let `struct`: String
    }
    let structs: [Struct]
    let enums: [Enumeration]
    let functions: [Function]
    let callback_types: [Function]
    let initializer_macros: [Macro]
}
