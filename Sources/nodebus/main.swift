// nodebus: the supervisor and the command line that talks to it. Every command is one value of `Command`, in a file of
// its own; Command.swift says what a command is, Options.swift how its words are read, Terminal.swift how it prints.
// Start here; then read Command.swift.

import Glibc
import Linux
import Supervisor

StandardStream.fillGaps()
// A reader that went away then shows as EPIPE, and `| head` ends a command quietly.
Hardening.ignoreBrokenPipes()
exit(start(Array(CommandLine.arguments.dropFirst())).rawValue)

/// Finds the command and runs it.
private func start(_ words: [String]) -> ExitCode {
    do throws(Failure) {
        switch words.first {
        case nil: throw .usage("a command is missing", see: nil)
        case "--help", "-h", "help": return try help(Array(words.dropFirst()))
        case "--version": return try Command.version.start([])
        case let name?: return try Command.named(name).start(Array(words.dropFirst()))
        }
    } catch {
        return error.report()
    }
}

/// `nodebus --help`, `nodebus help COMMAND`.
private func help(_ words: [String]) throws(Failure) -> ExitCode {
    guard let name = words.first else {
        Output.shared.print(Command.overview)
        return Output.shared.finish()
    }
    return try Command.named(name).start(["--help"])
}
