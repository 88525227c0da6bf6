import Accounts
import Glibc
import Linux
import Supervision
import Wire

/// The node encrypts a plaintext key where it stands, not atomically: whoever kills it at that moment can destroy the key. We do not kill it
/// then, and have a copy for when somebody else does (`KeyCopyStep`).
extension Supervisor {
    /// How long a kill waits for it. The encryption takes seconds (scrypt), a start that hangs for ever.
    private static let keyPatience = Duration.seconds(10)
    private static let keyLookInterval = Duration.milliseconds(100)

    /// Kills the host, or sees to it that it is killed once its key is encrypted.
    func killHost() {
        guard let host else { return }
        let first = killWait?.pid == host.pid ? killWait : nil
        let since = first?.since ?? .now
        guard host.keyWasPlain, keyMayBeWritten(prefix), Instant.now < since + Supervisor.keyPatience else {
            killWait = nil
            return host.kill()
        }
        if first == nil {
            Log.write(
                .warning, "host", "not killed yet: its node may be encrypting the key", ["pid": "\(host.pid)"])
        }
        killWait = KillWait(pid: host.pid, since: since, next: .now + Supervisor.keyLookInterval)
    }

    /// Kills an orphan in the same way.
    func killOrphan(_ pid: Int32) {
        guard let prefix = orphan?.prefix, orphan?.process.pid == pid else { return }
        let since = killWait?.pid == pid ? killWait?.since ?? .now : .now
        guard keyMayBeWritten(prefix), Instant.now < since + Supervisor.keyPatience else {
            killWait = nil
            Log.write(.warning, "supervisor", "an orphaned host did not end in time and is killed", ["pid": "\(pid)"])
            orphan?.process.signal(SIGKILL)
            return
        }
        killWait = KillWait(pid: pid, since: since, next: .now + Supervisor.keyLookInterval)
    }

    /// Looks again at a kill that waits.
    func lookAtKill() {
        guard let wait = killWait, Instant.now >= wait.next else { return }
        if host?.pid == wait.pid {
            killHost()
        } else if orphan?.process.pid == wait.pid {
            killOrphan(wait.pid)
        } else {
            killWait = nil
        }
    }

    /// Half written it looks damaged, so only an encrypted one, or none, is sure to be left alone.
    private func keyMayBeWritten(_ prefix: Prefix) -> Bool {
        switch try? Keys(prefix).state() {
        case .plaintext, .damaged: true
        case .encrypted, .missing, .invalid, nil: false
        }
    }

    /// Makes the copy of a key that the node will encrypt, or puts the key back that an earlier start has destroyed; answers what the key is then.
    func secureKey(_ keys: Keys, _ key: KeyState, _ copy: KeyState) throws(AccountsError) -> KeyState {
        switch KeyCopyStep(.start, key: key, copy: copy) {
        case .keep: try keys.keepCopy()
        case .restore:
            try restoreKey(keys, "is \(key.word)")
            return .plaintext
        case .nothing, .forget: break
        }
        return key
    }

    /// Takes it that a host gives up; whether the key that its node refused could be put back. A node that encrypted the key itself and then
    /// refused it would only do so again.
    func takeRefusedKey(_ fault: Fault) -> Bool {
        guard ["passphrase_wrong", "key_invalid"].contains(fault.reason), let host, !host.keyWasPlain else {
            return false
        }
        let keys = Keys(prefix)
        do {
            let step = KeyCopyStep(.refused, key: try keys.state(), copy: try keys.copyState())
            guard step == .restore else { return false }
            try restoreKey(keys, "was refused by the node")
            return true
        } catch {
            Log.write(.error, "node", "the key that the node refused cannot be put back: \(error)")
            return false
        }
    }

    private func restoreKey(_ keys: Keys, _ fate: String) throws(AccountsError) {
        let kept = try keys.restoreCopy()
        let message =
            "the key at \(prefix.node)/ckb/key \(fate); the copy from before the node encrypted it is in its place again"
            + (kept.map { ", and what stood there is kept at \($0)" } ?? "")
        note("KeyRestored", .warning, message, machine.run)
    }

    /// Publishes what a node that has started has made of its key, and deletes the copy that is not needed any more.
    func tellKey(_ run: Int64) {
        let path = "\(prefix.node)/ckb/key"
        let keys = Keys(prefix)
        do {
            let state = try keys.state()
            let step = KeyCopyStep(.ready, key: state, copy: try keys.copyState())
            if step == .forget { try keys.forgetCopy() }
            switch state {
            case .encrypted:
                // With a copy, it was encrypted by a start that did not come so far as to say so.
                guard step == .forget || host?.keyWasPlain ?? false else { return }
                let message =
                    "the node has encrypted the key at \(path); it is worth nothing without the passphrase, so keep both"
                note("KeyEncrypted", .info, message, run)
            case .plaintext:
                let message =
                    "the key at \(path) is still plaintext, though the node has started: whoever reads the file has the money"
                note("KeyPlaintext", .warning, message, run)
            case .missing, .invalid, .damaged:
                Log.write(.error, "node", "the node has started, and its key is not what it should be", ["at": path])
            }
        } catch {
            Log.write(.error, "node", "the key cannot be looked at: \(error)")
        }
    }

    private func note(_ kind: String, _ level: Log.Level, _ message: String, _ run: Int64) {
        Log.write(level, "node", kind, ["run": "\(run)", "says": message])
        pump?.put(EventPump.Note(kind: kind, payload: ["message": .string(message)], run: run))
    }
}

/// A kill that waits for a key to be written.
struct KillWait {
    let pid: Int32
    let since: Instant
    let next: Instant
}
