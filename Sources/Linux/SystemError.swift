import Glibc

/// A failed system call: which, on what, and the errno it gave.
public struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The errno value.
    public let code: Int32
    /// The call that failed, such as `open`.
    public let call: String
    /// The path or thing it was about; empty when there is none.
    public let subject: String

    /// An error with an explicit errno value.
    public init(code: Int32, call: String, subject: String = "") {
        self.code = code
        self.call = call
        self.subject = subject
    }

    /// The error that errno holds now.
    public static func last(_ call: String, _ subject: String = "") -> SystemError {
        SystemError(code: errno, call: call, subject: subject)
    }

    /// The kernel's words for the errno value.
    public var reason: String { String(cString: strerror(code)) }

    /// `open /x: Permission denied`.
    public var description: String {
        subject.isEmpty ? "\(call): \(reason)" : "\(call) \(subject): \(reason)"
    }
}
