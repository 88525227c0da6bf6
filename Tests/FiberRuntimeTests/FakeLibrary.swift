import CFiber
import Glibc
import Linux

@testable import FiberRuntime

/// A library of functions that record what they were called with and answer what a test says. The handle is the
/// recorder itself; what has no handle (last error, free) is shared, so its users run one after the other.
final class FakeLibrary: Sendable {
    struct State {
        /// The members of the last struct that are not zero, as text.
        var arguments: [String: String] = [:]
        var status = FIBER_FFI_STATUS_OK
        /// What comes back through the output pointer, NUL-terminated by us; nil leaves it NULL.
        var output: [UInt8]?
    }

    let state = Lock(State())
    static let lastError = Lock("")
    static let freed = Lock<[UnsafeMutableRawPointer]>([])
    static let given = Lock<[UnsafeMutableRawPointer]>([])

    init(status: FiberFfiStatus = FIBER_FFI_STATUS_OK, text: String = "", output: [UInt8]? = Array("{}".utf8)) {
        state.withLock {
            $0.status = status
            $0.output = output
        }
        FakeLibrary.lastError.withLock { $0 = text }
        FakeLibrary.freed.withLock { $0 = [] }
        FakeLibrary.given.withLock { $0 = [] }
    }

    var handle: OpaquePointer { OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    /// Whether every string that was given out was freed exactly once.
    var freedAll: Bool { FakeLibrary.freed.withLock { $0 } == FakeLibrary.given.withLock { $0 } }

    static func answer(_ handle: OpaquePointer?, _ arguments: [String: String], _ output: NativeOutput?)
        -> FiberFfiStatus
    {
        guard let handle else { return FIBER_FFI_STATUS_NULL_POINTER }
        let fake = Unmanaged<FakeLibrary>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
        return fake.state.withLock { state in
            state.arguments = arguments
            if let output, let bytes = state.output, let copy = malloc(bytes.count + 1) {
                copy.copyMemory(from: bytes, byteCount: bytes.count)
                copy.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
                given.withLock { $0.append(copy) }
                output.pointee = copy.assumingMemoryBound(to: CChar.self)
            }
            return state.status
        }
    }

    /// The members of a C struct that are not zero: texts as they are, amounts in decimal.
    static func members<Options>(_ options: UnsafePointer<Options>?) -> [String: String] {
        guard let options else { return [:] }
        var members: [String: String] = [:]
        for child in Mirror(reflecting: options.pointee).children {
            guard let label = child.label else { continue }
            switch child.value {
            case let text as UnsafePointer<CChar>?: members[label] = text.map { String(cString: $0) }
            case let amount as FiberU128:
                let units = UInt128(amount.high) << 64 | UInt128(amount.low)
                if units != 0 { members[label] = String(units) }
            default:
                let text = "\(child.value)"
                if text != "0" { members[label] = text }
            }
        }
        return members
    }

    /// What a library of the first generation has.
    static let firstGeneration = Library(
        version: { nil },
        start: { _, _ in FIBER_FFI_STATUS_STARTUP_FAILED },
        stop: { _ in FIBER_FFI_STATUS_OK },
        stringFree: { text in
            guard let text else { return }
            FakeLibrary.freed.withLock { $0.append(UnsafeMutableRawPointer(text)) }
            free(text)
        },
        lastErrorMessage: { buffer, size in
            FakeLibrary.lastError.withLock { text in
                let bytes = Array(text.utf8)
                if let buffer, size > 0 {
                    let count = min(bytes.count, size - 1)
                    for index in 0..<count { buffer[index] = CChar(bitPattern: bytes[index]) }
                    buffer[count] = 0
                }
                return bytes.count
            }
        },
        nodeInfo: { FakeLibrary.answer($0, [:], $1) },
        listPeers: { FakeLibrary.answer($0, [:], $1) },
        connectPeer: { FakeLibrary.answer($0, FakeLibrary.members($1), nil) },
        disconnectPeer: { FakeLibrary.answer($0, FakeLibrary.text($1), nil) })

    /// All functions but the simulator's own.
    static let library: Library = {
        var library = firstGeneration
        library.ckbReadiness = { FakeLibrary.answer($0, [:], $1) }
        library.ckbBalance = { FakeLibrary.answer($0, [:], $1) }
        library.openChannel = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        library.acceptChannel = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        library.openChannelWithExternalFunding = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        library.submitSignedFundingTx = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        library.abandonChannel = { FakeLibrary.answer($0, FakeLibrary.text($1), nil) }
        library.listChannels = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        library.shutdownChannel = { FakeLibrary.answer($0, FakeLibrary.members($1), nil) }
        library.updateChannel = { FakeLibrary.answer($0, FakeLibrary.members($1), nil) }
        library.newInvoice = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        library.parseInvoice = { FakeLibrary.answer($0, FakeLibrary.text($1), $2) }
        library.getInvoice = { FakeLibrary.answer($0, FakeLibrary.text($1), $2) }
        library.cancelInvoice = { FakeLibrary.answer($0, FakeLibrary.text($1), $2) }
        library.settleInvoice = { handle, hash, preimage in
            let preimage = preimage.map { ["preimage": String(cString: $0)] } ?? [:]
            return FakeLibrary.answer(handle, FakeLibrary.text(hash).merging(preimage) { $1 }, nil)
        }
        library.sendPayment = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        library.buildRouter = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        library.sendPaymentWithRouter = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        library.getPayment = { FakeLibrary.answer($0, FakeLibrary.text($1), $2) }
        library.listPayments = { FakeLibrary.answer($0, FakeLibrary.members($1), $2) }
        return library
    }()

    static func text(_ text: UnsafePointer<CChar>?) -> [String: String] {
        text.map { ["text": String(cString: $0)] } ?? [:]
    }
}
