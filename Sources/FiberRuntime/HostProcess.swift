import Glibc
import HostLink
import Linux
import Wire

/// The process around a host: from its first line to its exit.
public enum HostProcess {
    /// Runs `nodebus-fiber`. Its arguments are those of the command line, without the program.
    public static func run(_ commandLine: [String]) -> Never {
        let signals: SignalDescriptor
        do { signals = try SignalDescriptor(blocking: [SIGTERM, SIGINT, SIGHUP]) } catch {
            end(.linkBroken, "signals cannot be taken in: \(error)")
        }
        Hardening.ignoreBrokenPipes()
        Hardening.keepMemoryPrivate()
        Hardening.keepFilesPrivate()
        guard let arguments = HostArguments(commandLine: commandLine) else { explain(commandLine) }
        guard Hardening.end(by: SIGTERM, with: arguments.supervisorPID) else {
            end(
                .supervisorGone, "the supervisor (pid \(arguments.supervisorPID)) is not my parent; nothing was started"
            )
        }
        let link = HostEnd(socket: inherited(HostArguments.Inherited.link, "the link"))
        boundSends(HostArguments.Inherited.link)
        let ring = inheritedRing(run: arguments.run)
        takeSecret()
        let library = load(arguments, link)
        let calls = FiberCalls.offered(by: library)
        let native: NativeThread
        do { native = try NativeThread(library: library, calls: calls, link: link) } catch {
            end(.linkBroken, "no descriptors left: \(error)")
        }
        let sink = EventSink(ring: ring) { native.reportWake.wake() }
        link.send(
            .hello(
                Hello(
                    driver: "fiber", source: "fiber", library: arguments.library, libraryVersion: library.versionText,
                    isSimulated: library.isSimulated, methods: calls.map(\.description))))
        let host = FiberHost(arguments: arguments, signals: signals, link: link, native: native, sink: sink)
        host.run()
    }

    /// One line on standard error, which is a file of the supervisor's.
    static func say(_ line: String) {
        let bytes = Array("nodebus-fiber: \(line)\n".utf8)
        _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    }

    /// Ends the process at once, past exit handlers and destructors: a node's threads may still be running in what
    /// they would take down.
    static func end(_ exit: HostExit, _ line: String) -> Never {
        say(line)
        // What a node that stopped has printed may still be in a buffer; of one that did not, a thread may hold the
        // buffer's lock.
        if exit == .stopped { fflush(nil) }
        _exit(exit.rawValue)
    }

    private static func explain(_ commandLine: [String]) -> Never {
        let what = "nodebus-fiber is the process that holds a Fiber node (host link \(Hello.linkVersion)). "
        let how = "It is started by the supervisor: run `nodebus run`.\n"
        let isAsked = ["--help", "-h", "--version"].contains(commandLine.first ?? "")
        let text = Array((what + how).utf8)
        _ = text.withUnsafeBytes { write(isAsked ? 1 : 2, $0.baseAddress, $0.count) }
        _exit(isAsked ? HostExit.stopped.rawValue : HostExit.usage.rawValue)
    }

    /// An inherited descriptor, made sure to be open and not to be inherited further.
    private static func inherited(_ raw: Int32, _ what: String) -> Descriptor {
        guard fcntl(raw, F_SETFD, FD_CLOEXEC) == 0 else {
            end(.linkBroken, "\(what) was not inherited: \(SystemError.last("descriptor \(raw)"))")
        }
        return Descriptor(taking: raw)
    }

    /// The longest wait for a supervisor that takes no bytes, though its main thread never waits: after that it
    /// counts as gone.
    private static func boundSends(_ raw: Int32) {
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(raw, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private static func inheritedRing(run: Int64) -> RingWriter {
        let recordWake = inherited(HostArguments.Inherited.recordWake, "the ring's wake descriptor").release()
        let spaceWake = inherited(HostArguments.Inherited.spaceWake, "the ring's wake descriptor").release()
        let file = inherited(HostArguments.Inherited.ring, "the ring").release()
        // The lock is only held: it goes with the process, whatever way that ends.
        _ = inherited(HostArguments.Inherited.lock, "the account's lock").release()
        do {
            return RingWriter(
                ring: try RingFile.inherited(file), recordWake: WakeDescriptor(taking: recordWake),
                spaceWake: WakeDescriptor(taking: spaceWake), run: run)
        } catch {
            end(.linkBroken, "the ring cannot be mapped: \(error)")
        }
    }

    /// Puts the passphrase where the library looks for it. Here and not in the supervisor's spawn: /proc/PID/environ
    /// shows what a process was started with, not what it set since. Before the first native call: setenv is not safe
    /// beside running threads.
    private static func takeSecret() {
        let file = inherited(HostArguments.Inherited.secret, "the passphrase's file")
        guard var secret = try? file.readAll(limit: 64 << 10) else {
            end(.linkBroken, "the passphrase's file cannot be read")
        }
        defer {
            secret.withUnsafeMutableBytes { bytes in
                if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
            }
        }
        guard !secret.isEmpty else { return }
        guard !secret.contains(0) else { end(.linkBroken, "the passphrase holds a NUL") }
        secret.append(0)
        secret.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                if let start = text.baseAddress { setenv("FIBER_SECRET_KEY_PASSWORD", start, 1) }
            }
        }
    }

    private static func load(_ arguments: HostArguments, _ link: HostEnd) -> Library {
        do {
            let library = try Library.load(arguments.library)
            let kind = library.isSimulated ? "a SIMULATED node" : "a node"
            say("run \(arguments.run) of \(kind), library \(arguments.library) (\(library.versionText))")
            return library
        } catch {
            link.send(.fatal(Fatal(reason: error.reason, message: error.description, isPermanent: true)))
            end(.libraryNotLoadable, "\(error.reason): \(error)")
        }
    }
}
