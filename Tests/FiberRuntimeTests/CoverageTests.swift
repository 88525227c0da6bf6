import Foundation
import Testing
import Wire

@testable import FiberRuntime

/// The methods against the description of the ABI: whatever can be done with a handle can be done over the bus, under
/// the native names.
@Suite struct Coverage {
    private struct ABI: Decodable {
        struct Function: Decodable {
            let name: String
            let params: [Parameter]
        }
        struct Parameter: Decodable {
            let name: String
            let c_type: String
            let direction: String
        }
        struct Struct: Decodable {
            let name: String
            let fields: [Member]
        }
        struct Member: Decodable {
            let name: String
            let c_type: String
            let role: String?
            let required: Bool?
            let rpc_field: String?
            let presence_flag: String?
        }
        let functions: [Function]
        let structs: [Struct]
    }

    private let abi: ABI

    init() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.appending(path: "FiberABITests/Resources/fiber-abi.json")
        abi = try JSONDecoder().decode(ABI.self, from: Data(contentsOf: file))
    }

    /// The functions that take a running node. Its end is `node.stop`.
    private var calls: [ABI.Function] {
        abi.functions.filter { $0.params.first?.c_type == "FiberHandle *" && $0.name != "fiber_stop" }
    }

    private func described(_ function: ABI.Function) -> MethodDescription? {
        let name = function.name.replacing("fiber_", with: "fiber.", maxReplacements: 1)
        return FiberCalls.all.first { $0.description.name == name }?.description
    }

    @Test("every function that takes a handle has a method, and there are no others but the simulator's")
    func methods() {
        #expect(calls.count == 24)
        for function in calls { #expect(described(function) != nil, "\(function.name) has no method") }
        #expect(FiberCalls.all.count == calls.count + 1)
    }

    @Test("a description reads back, so no parameter stands in it twice", arguments: FiberCalls.all.map(\.description))
    func readsBack(_ method: MethodDescription) {
        #expect(MethodDescription(parsing: method.json) == method)
    }

    @Test("every member of a struct is a parameter of its native name, and as necessary")
    func parameters() throws {
        for function in calls {
            let method = try #require(described(function))
            var expected: [String: (type: String, required: Bool?)] = [:]
            for argument in function.params.dropFirst() where argument.direction == "in" {
                guard let options = abi.structs.first(where: { argument.c_type.contains($0.name) }) else {
                    expected[argument.name] = (argument.c_type, true)
                    continue
                }
                for member in options.fields where (member.role ?? "value") == "value" {
                    expected[member.rpc_field ?? member.name] = (member.c_type, member.required)
                }
            }
            #expect(Set(method.parameters.map(\.name)) == Set(expected.keys), "\(method.name)")
            for parameter in method.parameters {
                guard let native = expected[parameter.name] else { continue }
                if let required = native.required {
                    #expect(parameter.isRequired == required, "\(method.name) \(parameter.name)")
                }
                #expect(Self.travels(parameter.type, as: native.type), "\(method.name) \(parameter.name)")
            }
        }
    }

    /// Whether a parameter can be what a C type holds.
    private static func travels(_ type: ParameterType, as native: String) -> Bool {
        switch type {
        case .refused: true
        case .text, .hash, .publicKey, .secret, .object, .array, .texts: native == "const char *"
        case .choice: native == "const char *" || native.hasPrefix("Fiber")
        case .boolean: native == "int"
        case .amount: native == "FiberU128"
        case .integer: native == "uint64_t" || native == "FiberU128"
        }
    }
}
