import Accounts
import Glibc
import Linux

/// A program that is asked for a passphrase: run beside everything else, with a deadline, an end to what it may write, and no shell. What it
/// writes to stderr is thrown away: it could hold what it should not. Used by the main thread.
final class PassphraseCommand {
    /// The run that waits for it.
    let run: Int64
    /// Until when it may take.
    let deadline: Instant
    private let source: PassphraseSource
    private let child: ChildProcess
    private let output: Descriptor
    private var bytes: [UInt8] = []
    private var outputHasEnded = false

    /// Starts it. On the main thread only (see `ChildProcess.spawn`).
    init(_ words: [String], source: PassphraseSource, run: Int64, environment: [String], deadline: Instant)
        throws(SystemError)
    {
        self.run = run
        self.source = source
        self.deadline = deadline
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .last("pipe") }
        output = Descriptor(taking: ends[0])
        let theirs = Descriptor(taking: ends[1])
        try output.setNonBlocking()
        let nothing = try Descriptor.open("/dev/null", O_WRONLY)
        child = try ChildProcess.spawn(
            path: words.first ?? "", arguments: Array(words.dropFirst()), environment: environment,
            standardOutput: theirs.raw, standardError: nothing.raw, inherited: [])
    }

    /// Readable when it wrote something; -1 when it will not any more.
    var outputDescriptor: Int32 { outputHasEnded ? -1 : output.raw }
    /// Readable when it has ended.
    var exitDescriptor: Int32 { child.descriptor }

    /// What has come of it; nil: nothing yet.
    func look(_ now: Instant) -> Result<[UInt8], PassphraseRefusal>? {
        let end = child.reap()
        // Also after its end: what it wrote last stands in the pipe.
        readOutput()
        guard bytes.count <= Keys.passphraseLimit + 1 else {
            if end == nil { kill() }
            return .failure(PassphraseRefusal(.invalid, "\(source.name) wrote more than a passphrase can be"))
        }
        switch end {
        case .exited(0)?:
            do { return .success(try source.check(bytes)) } catch { return .failure(error) }
        case .exited(let status)?: return unavailable("ended with status \(status)")
        case .signalled(let signal)?: return unavailable("was ended by signal \(signal)")
        case nil:
            guard now >= deadline else { return nil }
            kill()
            return unavailable("did not end in time")
        }
    }

    private func unavailable(_ what: String) -> Result<[UInt8], PassphraseRefusal> {
        .failure(
            PassphraseRefusal(
                .unavailable, "\(source.name) \(what); run it by hand, as the supervisor's user, to see why"))
    }

    private func readOutput() {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !outputHasEnded, bytes.count <= Keys.passphraseLimit + 1 {
            let count = read(output.raw, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { return }
            guard count > 0 else { return outputHasEnded = true }
            bytes += chunk[..<count]
        }
    }

    /// Kills it and what it started, and takes its end in. A killed process ends at once, unless a device holds it.
    func kill() {
        // It leads a process group of its own, and is not reaped yet, so the number is still its.
        Glibc.kill(-child.pid, SIGKILL)
        var entry = pollfd(fd: child.descriptor, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 1000)
        _ = child.reap()
    }
}
