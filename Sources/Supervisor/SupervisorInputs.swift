import Accounts
import Bus
import HostLink
import Linux
import Supervision
import Wire

/// What comes in: from other threads, from the host, from clients.
extension Supervisor {
    func take(_ item: MainInbox.Item) {
        switch item {
        case .request(let request): take(request)
        case .startRecorded(let run):
            if case .starting(.recording(run: run)) = machine.state { tell(.startRecorded) }
        case .accountClosed: accountClosed()
        case .headRose(let head): headRose(head)
        case .journalStalled(let why):
            Log.write(.error, "journal", "stalled; events wait in the ring and nothing is published", ["because": why])
            board.update { $0.journalIsStalled = true }
            bus.announce(kind: "JournalStalled", payload: ["reason": .string(why)])
        case .journalResumed:
            Log.info("journal", "the disk takes events again")
            board.update { $0.journalIsStalled = false }
        case .ringBroken(let what):
            ringIsBroken = true
            tell(.hostBroke("the host wrote nonsense into its ring: \(what)"))
        }
    }

    private func take(_ request: PendingRequest) {
        switch request.method {
        case "node.start": askMachine(.start, request)
        case "node.stop": askMachine(.stop, request)
        case "node.restart": askMachine(.restart, request)
        case "bus.switch": askSwitch(request)
        case "bus.shutdown":
            guard request.claim() else { return }
            request.answer(.result(["state": "stopping"]))
            shutDown("bus.shutdown")
        case "network.list": if request.claim() { request.answer(.result(listNetworks())) }
        case "account.list", "account.create", "account.remove", "account.import_key": takeAccountRequest(request)
        default:
            guard case .ready = machine.state else {
                if request.claim() { request.answer(.failure(noNode)) }
                return
            }
            calls.add(request)
        }
    }

    private func askMachine(_ what: Input.Request, _ request: PendingRequest) {
        guard request.claim() else { return }
        let id = nextRequestID()
        requests[id] = request
        tell(.request(what, id: id))
    }

    /// Why no node takes a call now.
    var noNode: BusError {
        machine.plan == nil
            ? CallQueue.notRunning(machine.stateName) : BusError(.switching, "a switch is on; try again after it")
    }

    private func askSwitch(_ request: PendingRequest) {
        guard request.claim() else { return }
        do throws(BusError) {
            let to = try existingProfile(request.parameters)
            if to != profile { try checkRoom(to) }
            let onFailure = request.parameters["on_failure"]?.text.flatMap(SwitchPlan.OnFailure.init) ?? .rollback
            let id = nextRequestID()
            requests[id] = request
            tell(.switchTo(to, onFailure: onFailure, id: id))
        } catch {
            request.answer(.failure(error))
        }
    }

    /// Refuses an account whose files could not be written, before anything is stopped for it: room for a ring and as much again.
    private func checkRoom(_ profile: Profile) throws(BusError) {
        do { try root.prefix(profile).checkRoom(bytes: Int64(2 * RingFile.capacity)) } catch { throw busError(error) }
    }

    private func listNetworks() -> JSON {
        [
            "networks": .array(
                configuration.networks.map {
                    [
                        "name": .string($0.name), "host": .string($0.host.rawValue), "library": .string($0.library),
                        "config": .string($0.config), "simulated": .bool($0.isSimulated),
                        "chain": $0.chain.map { .string($0) } ?? .null,
                        "currency": $0.currency.map { .string($0) } ?? .null,
                        "active": .bool($0.name == profile.network),
                    ]
                })
        ]
    }

    /// Sends the next native call when the host is free.
    func sendNextCall() {
        guard case .ready = machine.state, let host, let call = calls.next() else { return }
        host.send(call)
    }

    func listenToHost() {
        guard let host else { return }
        host.flush()
        do {
            for message in try host.receive() { try take(message, host) }
        } catch {
            Log.write(.error, "host", "broke the rules of the link", ["how": error.description])
            tell(.hostBroke("the host broke the rules of the link: \(error)"))
        }
    }

    private func take(_ message: HostMessage, _ host: LivingHost) throws(LinkError) {
        switch message {
        case .hello(let hello):
            guard hello.driver == network.host.rawValue, hello.isSimulated == network.isSimulated else {
                throw LinkError(description: "it calls itself \(hello.driver), simulated \(hello.isSimulated)")
            }
            pump?.setSource(hello.source)
            bus.describe(source: hello.source, hello.methods)
            board.update {
                $0.host = [
                    "driver": .string(hello.driver), "library": .string(hello.library),
                    "version": .string(hello.libraryVersion),
                ]
            }
        case .ready: tell(.hostReady)
        case .reply(let id, let outcome):
            guard calls.finish(id, outcome) else { throw LinkError(description: "a reply to no call") }
            sendNextCall()
        case .fatal(let fatal):
            Log.write(.error, "host", fatal.message, ["reason": fatal.reason])
            let fault = Fault(reason: fatal.reason, message: fatal.message, isPermanent: fatal.isPermanent)
            tell(takeRefusedKey(fault) ? .keyRefused(fault) : .hostFatal(fault))
        }
    }

    func reapHost() {
        guard let ended = host, let end = ended.reap() else { return }
        // What it said last stands in its link still, and what its node said in the ring, which the journal thread empties first.
        listenToHost()
        lastLines = ended.lastLines
        host = nil
        record(host: nil)
        bus.describe(source: network.host.rawValue, [])
        tell(.hostExited(end))
    }
}
