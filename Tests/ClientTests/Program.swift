import Glibc
import Linux
import Supervisor
import Testing

/// The built command line, run as a program.
struct CommandLineRun {
    let code: Int32
    let out: String
    let err: String

    var lines: [String] { out.split(separator: "\n").map(String.init) }
    var firstError: String { err.split(separator: "\n").first.map(String.init) ?? "" }
}

/// A running `nodebus`, with its output in files of a scratch directory.
final class RunningProgram {
    private let child: ChildProcess
    private let world: World

    init(_ world: World, _ arguments: [String], environment: [String] = [], standardOutput: Int32? = nil) throws {
        self.world = world
        let out = try Descriptor.open("\(world.directory)/out", O_WRONLY | O_CREAT | O_TRUNC)
        let err = try Descriptor.open("\(world.directory)/err", O_WRONLY | O_CREAT | O_TRUNC)
        let inherited = ["LD_LIBRARY_PATH"].compactMap { (name: String) in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        child = try ChildProcess.spawn(
            path: "\(Program.directory)/nodebus", arguments: arguments, environment: environment + inherited,
            standardOutput: standardOutput ?? out.raw, standardError: err.raw, inherited: [])
    }

    func signal(_ signal: Int32) { child.signal(signal) }

    var out: String { read("out") }
    var err: String { read("err") }

    private func read(_ name: String) -> String {
        guard let file = try? Descriptor.open("\(world.directory)/\(name)", O_RDONLY),
            let bytes = try? file.readAll(limit: 1 << 24)
        else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Waits for its end, at most 20 s.
    func end() throws -> CommandLineRun {
        let deadline = Instant.now + .seconds(20)
        while true {
            if let end = child.reap() {
                guard case .exited(let code) = end else { throw Ended(how: end) }
                return CommandLineRun(code: code, out: out, err: err)
            }
            guard Instant.now < deadline else {
                child.signal(SIGKILL)
                throw TooLate()
            }
            var entry = pollfd(fd: child.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&entry, 1, 1000)
        }
    }

    struct Ended: Error { let how: ChildProcess.End }
}

extension World {
    func run(_ arguments: [String], environment: [String] = []) throws -> CommandLineRun {
        try RunningProgram(self, arguments, environment: environment).end()
    }

    /// `arguments`, then where the two sockets are.
    func bus(_ arguments: [String]) -> [String] {
        arguments + ["--commands", commands] + (arguments.first == "watch" ? ["--events", events] : [])
    }
}
