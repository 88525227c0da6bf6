import CFiber
import Wire

/// One parameter of a native call: what the bus is told of it, and which member of the C struct it goes to.
struct Field<Options>: Sendable {
    let parameter: MethodDescription.Parameter
    /// A preimage: never repeated in an error.
    var isSecret: Bool { parameter.type.isSecret }
    /// Sets the member, and its `has_` flag, from a value that the parameter's type has checked.
    let fill: @Sendable (JSON, inout Options, inout CStrings) -> Void

    typealias Text = WritableKeyPath<Options, UnsafePointer<CChar>?> & Sendable
    typealias Number = WritableKeyPath<Options, UInt64> & Sendable
    typealias Wide = WritableKeyPath<Options, FiberU128> & Sendable
    typealias Flag = WritableKeyPath<Options, Int32> & Sendable

    private init(
        _ name: String, _ type: ParameterType, required: Bool = false, _ summary: String,
        fill: @escaping @Sendable (JSON, inout Options, inout CStrings) -> Void
    ) {
        parameter = MethodDescription.Parameter(name, type, required: required, summary)
        self.fill = fill
    }

    /// Text, a hash, a public key, or one of some words that travel as text.
    static func text(
        _ name: String, _ target: Text, _ type: ParameterType, required: Bool = false, _ summary: String
    ) -> Field {
        Field(name, type, required: required, summary) { value, options, strings in
            if let text = value.text { options[keyPath: target] = strings.hold(text) }
        }
    }

    /// An object or a list, which travels as JSON text.
    static func json(
        _ name: String, _ target: Text, _ type: ParameterType, required: Bool = false, _ summary: String
    ) -> Field {
        Field(name, type, required: required, summary) { value, options, strings in
            options[keyPath: target] = strings.hold(value.encoded)
        }
    }

    /// A request that is one JSON object with this parameter as its only member.
    static func whole(_ name: String, _ target: Text, _ type: ParameterType, _ summary: String) -> Field {
        Field(name, type, summary) { value, options, strings in
            options[keyPath: target] = strings.hold(JSON.object([JSON.Member(name, value)]).encoded)
        }
    }

    /// An amount that is always there. `udtWhen` names the parameter whose presence makes it one of a UDT, or can: one
    /// that is required where only the node knows.
    static func amount(_ name: String, _ target: Wide, required: Bool, udtWhen: String, _ summary: String) -> Field {
        Field(name, .amount(udtWhen: udtWhen), required: required, summary) { value, options, _ in
            if let amount = value.wide { options[keyPath: target] = amount }
        }
    }

    /// An amount that may be left out.
    static func amount(_ name: String, _ target: Wide, has: Flag, udtWhen: String, _ summary: String) -> Field {
        Field(name, .amount(udtWhen: udtWhen), summary) { value, options, _ in
            guard let amount = value.wide else { return }
            options[keyPath: target] = amount
            options[keyPath: has] = 1
        }
    }

    /// A number whose member has 128 bits, though it is no amount.
    static func wide(_ name: String, _ target: Wide, has: Flag, _ summary: String) -> Field {
        Field(name, .integer(min: 0, max: .max), summary) { value, options, _ in
            guard let number = value.unsigned else { return }
            options[keyPath: target] = FiberU128(low: number, high: 0)
            options[keyPath: has] = 1
        }
    }

    /// A number of 64 bits.
    static func integer(
        _ name: String, _ target: Number, has: Flag, in range: ClosedRange<UInt64> = 0...UInt64.max, _ summary: String
    ) -> Field {
        Field(name, .integer(min: range.lowerBound, max: range.upperBound), summary) { value, options, _ in
            guard let number = value.unsigned else { return }
            options[keyPath: target] = number
            options[keyPath: has] = 1
        }
    }

    /// A member of the struct that must be left alone.
    static func refused(_ name: String, why: String, _ summary: String) -> Field {
        Field(name, .refused(why: why), summary) { _, _, _ in }
    }

    /// Yes or no, with a default of our own in the struct.
    static func flag(_ name: String, _ target: Flag, _ summary: String) -> Field {
        Field(name, .boolean, summary) { value, options, _ in
            if let isSet = value.bool { options[keyPath: target] = isSet ? 1 : 0 }
        }
    }

    /// Yes or no; left out, the node decides.
    static func flag(_ name: String, _ target: Flag, has: Flag, _ summary: String) -> Field {
        Field(name, .boolean, summary) { value, options, _ in
            guard let isSet = value.bool else { return }
            options[keyPath: target] = isSet ? 1 : 0
            options[keyPath: has] = 1
        }
    }

    /// One of some words, each with its number in the C ABI.
    static func choice(_ name: String, _ target: Flag, _ words: [(String, Int32)], _ summary: String) -> Field {
        Field(name, .choice(words.map(\.0)), summary) { value, options, _ in
            guard let word = words.first(where: { $0.0 == value.text }) else { return }
            options[keyPath: target] = word.1
        }
    }
}

extension JSON {
    /// A checked integer parameter; those above Int64.max keep their digits.
    fileprivate var unsigned: UInt64? {
        switch self {
        case .integer(let value): UInt64(exactly: value)
        case .number(let digits): UInt64(digits)
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// A checked amount parameter.
    fileprivate var wide: FiberU128? {
        guard let units = text.flatMap({ UInt128($0) }) else { return nil }
        return FiberU128(low: UInt64(truncatingIfNeeded: units), high: UInt64(truncatingIfNeeded: units >> 64))
    }
}

/// A C struct of options that starts with its own size.
protocol SizedOptions {
    init()
    var struct_size: UInt32 { get set }
}

extension SizedOptions {
    /// All zero but the size: what the `…_INIT` macros of the header make.
    static func sized() -> Self {
        var options = Self()
        options.struct_size = UInt32(MemoryLayout<Self>.size)
        return options
    }
}

extension FiberOpenChannelOptions: SizedOptions {}
extension FiberAcceptChannelOptions: SizedOptions {}
extension FiberOpenChannelWithExternalFundingOptions: SizedOptions {}
extension FiberSubmitSignedFundingTxOptions: SizedOptions {}
extension FiberShutdownChannelOptions: SizedOptions {}
extension FiberUpdateChannelOptions: SizedOptions {}
extension FiberBuildRouterOptions: SizedOptions {}
extension FiberSendPaymentWithRouterOptions: SizedOptions {}
extension FiberListPaymentsOptions: SizedOptions {}
extension FiberListChannelsOptions: SizedOptions {}
extension FiberNewInvoiceOptions: SizedOptions {}
extension FiberSendPaymentOptions: SizedOptions {}

/// The arguments of a function that takes none besides the handle.
struct NoArguments {}

/// The argument of a function that takes one text.
struct OneText {
    var text: UnsafePointer<CChar>?
}
