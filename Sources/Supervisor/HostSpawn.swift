import Accounts
import Glibc
import HostLink
import Linux
import Supervision
import Wire

/// Starting a host: the key is looked at, the passphrase fetched, the process spawned. A start that only a person can help is refused here,
/// before a node touches anything.
extension Supervisor {
    func spawn(_ run: Int64) {
        do throws(StartRefusal) {
            let keys = Keys(prefix)
            let keyState = try startableKey(keys)
            let source = network.passphrase.filled(for: profile)
            let passphrase: [UInt8]?
            do { passphrase = try source.read(keys) } catch { throw StartRefusal(error, profile) }
            if let passphrase { try launch(run, passphrase, keyState) } else { try ask(source, run) }
        } catch {
            tell(.spawnFailed(error.fault))
        }
    }

    /// Runs the command that gives the passphrase; `lookAtPassphrase` goes on with it.
    private func ask(_ source: PassphraseSource, _ run: Int64) throws(StartRefusal) {
        guard case .command(let words) = source else { preconditionFailure("only a command has to be waited for") }
        do throws(SystemError) {
            passphraseCommand?.kill()
            let limit = min(.seconds(10), configuration.supervision.startTimeout / 2)
            passphraseCommand = try PassphraseCommand(
                words, source: source, run: run, environment: LivingHost.environment, deadline: .now + limit)
        } catch {
            let refusal = PassphraseRefusal(.unavailable, "\(source.name) cannot be run: \(error.reason)")
            throw StartRefusal(refusal, profile)
        }
    }

    /// Takes what the command for the passphrase has given, once it has, and starts the host with it.
    func lookAtPassphrase() {
        guard let command = passphraseCommand else { return }
        guard case .starting(.recording(run: command.run)) = machine.state else {
            // The start was given up meanwhile.
            command.kill()
            passphraseCommand = nil
            return
        }
        guard let outcome = command.look(.now) else { return }
        passphraseCommand = nil
        do throws(StartRefusal) {
            switch outcome {
            case .success(let passphrase):
                try launch(command.run, passphrase, startableKey(Keys(prefix)))
            case .failure(let refusal): throw StartRefusal(refusal, profile)
            }
        } catch {
            tell(.spawnFailed(error.fault))
        }
    }

    /// What the account's key is, when a node can start with it. There is a copy of it then, if the node will encrypt it.
    private func startableKey(_ keys: Keys) throws(StartRefusal) -> KeyState {
        let found: (key: KeyState, copy: KeyState)
        do {
            try keys.tidy()
            found = (try keys.state(), try keys.copyState())
        } catch {
            throw StartRefusal(reason: "key_unreadable", "the account's key cannot be read: \(error)")
        }
        let state: KeyState
        do { state = try secureKey(keys, found.key, found.copy) } catch {
            throw StartRefusal(
                reason: "storage", "the account's key cannot be kept safe from a start that is cut short: \(error)",
                isPermanent: Supervisor.needsAPerson(error))
        }
        let path = "\(prefix.node)/ckb/key"
        let command = "nodebus account import-key \(profile)"
        switch state {
        case .plaintext, .encrypted: return state
        case .missing:
            throw StartRefusal(
                reason: "key_missing", "account \(profile) has no key at \(path); import it with \(command)")
        case .invalid(let why):
            throw StartRefusal(
                reason: "key_invalid", "the key of account \(profile) at \(path) cannot be used: \(why)")
        case .damaged(let why):
            throw StartRefusal(
                reason: "key_damaged",
                "the key of account \(profile) at \(path) is damaged: \(why). Lost with it, unless there is a copy of the "
                    + "key or of this file, is the money on chain that the key controls; the channels are not. The file "
                    + "is left as it is; put the copy back, or import the key with \(command) --replace")
        }
    }

    private func launch(_ run: Int64, _ passphrase: [UInt8], _ keyState: KeyState) throws(StartRefusal) {
        do {
            if ringIsBroken { try replaceRing() }
            guard let ring, let accountLock else { preconditionFailure("a run begins only on an open account") }
            let arguments = HostArguments(
                library: network.library, config: network.config, dataDirectory: prefix.node, run: run,
                supervisorPID: getpid(),
                stopTimeoutMilliseconds: configuration.supervision.stopTimeout.milliseconds)
            let started = try LivingHost(
                LivingHost.Order(
                    program: Program.directory + "/nodebus-" + network.host.rawValue, arguments: arguments,
                    ringDescriptors: ring.inherited, lockDescriptor: accountLock.lock.descriptor,
                    secret: passphrase, logDirectory: prefix.log, keyWasPlain: keyState == .plaintext))
            host = started
            record(host: started.pid)
            bus.openJournal(profile: profile, epoch: board.epoch ?? "", head: board.head, run: run)
            tell(.spawned(pid: started.pid))
            Log.info("host", "started", ["pid": "\(started.pid)", "run": "\(run)", "account": profile.description])
        } catch {
            throw StartRefusal(
                reason: "spawn_failed", "the host could not be started: \(error)",
                isPermanent: Supervisor.needsAPerson(error))
        }
    }

    private func replaceRing() throws(SystemError) {
        let file = try RingFile.create(path: prefix.ring, bootIdentity: bootIdentity())
        let fresh = RingReader(ring: file, recordWake: try WakeDescriptor(), spaceWake: try WakeDescriptor())
        pump?.replaceRing(fresh)
        ring = fresh
        ringIsBroken = false
    }
}

/// Why no host was started.
private struct StartRefusal: Error {
    let fault: Fault

    init(reason: String, _ message: String, isPermanent: Bool = true) {
        fault = Fault(reason: reason, message: message, isPermanent: isPermanent)
    }

    init(_ refusal: PassphraseRefusal, _ profile: Profile) {
        // A vault that does not answer may answer later; a file that is not there is put there by a person.
        self.init(
            reason: refusal.reason.rawValue, "account \(profile) has no passphrase: \(refusal.message)",
            isPermanent: refusal.reason != .unavailable)
    }
}
