import CFiber
import Glibc
import HostLink
import Wire

/// Where a native function puts its result.
typealias NativeOutput = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// One of the node's calls, whole: what the bus is told of it, and how it is made. `FiberCalls` lists them all.
struct NativeCall: Sendable {
    let description: MethodDescription
    /// Makes the call; nil from a library that lacks the function.
    private let bind: @Sendable (Library) -> Bound?

    /// A call bound to a library that has it.
    typealias Bound = (_ handle: OpaquePointer, _ parameters: JSON) throws(BusError) -> Made

    /// What a call came to.
    struct Made {
        let outcome: CallOutcome
        /// Set when the node is dead inside the live process: the handle must not be used again.
        var nodeDied: NativeFailure?
    }

    /// What a native function answers.
    enum Output: Sendable {
        /// JSON, passed on as it is.
        case json
        /// Bare text, which becomes the one member of an object.
        case text(String)
        /// Nothing, which becomes `{}`.
        case nothing
    }

    /// A call whose parameters fill a struct (or whatever stands for the arguments of one that takes none).
    ///
    /// - `options`: the arguments before any parameter is set, with our defaults where the native ones are traps.
    /// - `fields`: the parameters, in the order of help texts.
    /// - `refusal`: the reason of every refusal, where there is but one, whatever the text.
    /// - `check`: what no parameter's type says by itself, with the given parameters at hand.
    /// - `function`: the library's function; nil when this library lacks it. What it throws, only the running node could
    ///   tell to be wrong.
    init<Options>(
        _ name: String, _ summary: String, options: @escaping @Sendable () -> Options, fields: [Field<Options>],
        output: Output, result: String, effect: MethodDescription.Effect = .read, find: String? = nil,
        refusal: String? = nil,
        check: @escaping @Sendable (JSON, inout Options) throws(BusError) -> Void = { (_, _) throws(BusError) in },
        function:
            @escaping @Sendable (Library) -> (
                (OpaquePointer, inout Options, NativeOutput) throws(BusError) -> FiberFfiStatus
            )?
    ) {
        let description = MethodDescription(
            "fiber." + name, summary, fields.map(\.parameter), result: result, effect: effect, find: find)
        self.description = description
        bind = { library in
            guard let function = function(library) else { return nil }
            return { (handle, parameters) throws(BusError) in
                // Checked again, though the supervisor did: what is read below as an amount or a key must be one.
                let given = try description.check(parameters)
                var arguments = options()
                var strings = CStrings()
                for field in fields {
                    guard let value = given[field.parameter.name] else { continue }
                    field.fill(value, &arguments, &strings)
                }
                try check(given, &arguments)
                var text: UnsafeMutablePointer<CChar>?
                let failure = NativeFailure(try function(handle, &arguments, &text), library)
                strings.release()
                let bytes = library.take(text)
                let known = NativeCall.known(given, fields.filter(\.isSecret).map(\.parameter.name))
                return NativeCall.made(description, failure, bytes, output, known, refusal)
            }
        }
    }

    /// Whether this library has the function.
    func isOffered(by library: Library) -> Bool { bind(library) != nil }

    /// Makes the call. The status and last error are taken, the result copied and freed, before it returns.
    func make(_ library: Library, _ handle: OpaquePointer, _ parameters: JSON) -> Made {
        guard let bound = bind(library) else {
            return Made(outcome: .failure(BusError(.methodNotFound, "this library has no \(description.name)")))
        }
        do { return try bound(handle, parameters) } catch { return Made(outcome: .failure(error)) }
    }

    private static func made(
        _ description: MethodDescription, _ failure: NativeFailure?, _ bytes: [UInt8]?, _ output: Output,
        _ known: Set<String>, _ refusal: String?
    ) -> Made {
        guard let failure else {
            return Made(outcome: outcome(description.name, bytes, output))
        }
        let isDead = failure.isNodeDead(onChannel: description.parameters.contains { $0.name.hasSuffix("channel_id") })
        let error = failure.error(of: description.name, known: known, isNodeDead: isDead, meaning: refusal)
        return Made(outcome: .failure(error), nodeDied: isDead ? failure : nil)
    }

    /// The largest result sent on: a frame holds 64 MiB.
    private static let resultLimit = 60 << 20

    private static func outcome(_ name: String, _ bytes: [UInt8]?, _ output: Output) -> CallOutcome {
        func nonsense(_ what: String) -> CallOutcome {
            .failure(
                BusError(
                    .nodeError, "\(name) succeeded, but its result \(what); the call has had its effect",
                    ["status": "OK", "status_code": 0, "reason": "unreadable_result"]))
        }
        if case .nothing = output { return .result(Array("{}".utf8)) }
        guard let bytes else { return nonsense("is missing") }
        guard bytes.count <= resultLimit else { return nonsense("has \(bytes.count) bytes, more than can be sent") }
        if case .text(let member) = output {
            guard let text = String(validating: bytes, as: UTF8.self) else { return nonsense("is not UTF-8") }
            return .result(JSON.object([JSON.Member(member, .string(text))]).bytes)
        }
        let problem = bytes.withUnsafeBytes { JSON.problem(in: $0, depthLimit: EventClass.depthLimit) }
        if let problem { return nonsense("is not JSON: \(problem)") }
        return .result(bytes)
    }

    /// The long hex among the parameters that is no secret, so that an error may repeat it.
    private static func known(_ given: JSON, _ secret: [String]) -> Set<String> {
        var known: Set<String> = []
        for member in given.members ?? [] where !secret.contains(member.key) {
            guard let text = member.value.text else { continue }
            known.insert(text.hasPrefix("0x") ? String(text.dropFirst(2)) : text)
        }
        return known
    }
}

extension Library {
    /// Copies a returned string and frees it, once. Also to be called when the call failed: a string that is there is
    /// ours to free.
    func take(_ text: UnsafeMutablePointer<CChar>?) -> [UInt8]? {
        guard let text else { return nil }
        let bytes = UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) }
        stringFree(text)
        return bytes
    }
}
