import Accounts
import Bus
import Journal
import Linux
import Supervision
import Wire

/// The methods `account.…`: carried out at once, by the main thread.
extension Supervisor {
    func takeAccountRequest(_ request: PendingRequest) {
        guard request.claim() else { return }
        do throws(BusError) {
            switch request.method {
            case "account.create": request.answer(.result(try createAccount(request.parameters)))
            case "account.remove": try removeAccount(request)
            case "account.import_key": request.answer(.result(try importKey(request.parameters)))
            default: request.answer(.result(try listAccounts(request.parameters["network"]?.text)))
            }
        } catch {
            request.answer(.failure(error))
        }
    }

    /// The profile that `network` and `account` name, and its network, which is configured.
    private func namedProfile(_ parameters: JSON) throws(BusError) -> (Profile, Configuration.NetworkSettings) {
        let name = parameters["network"]?.text ?? ""
        guard let profile = Profile(network: name, account: parameters["account"]?.text ?? "") else {
            throw .parameter(Profile.isName(name) ? "account" : "network", "must be \(Profile.nameRule)")
        }
        guard let network = configuration.network(named: profile.network) else {
            throw BusError(.notFound, "there is no network \(profile.network); network.list tells which there are")
        }
        return (profile, network)
    }

    /// The profile that `network` and `account` name: of a configured network, and of an account that there is.
    func existingProfile(_ parameters: JSON) throws(BusError) -> Profile {
        let (profile, _) = try namedProfile(parameters)
        guard try account(profile)?.step == .there else {
            throw BusError(.notFound, "there is no account \(profile); account.create makes it")
        }
        return profile
    }

    private func account(_ profile: Profile) throws(BusError) -> Registry.Account? {
        do { return try ground.registry.account(profile) } catch { throw busError(error) }
    }

    private func createAccount(_ parameters: JSON) throws(BusError) -> JSON {
        let (profile, network) = try namedProfile(parameters)
        do { try ground.accounts.create(profile, isSimulated: network.isSimulated) } catch { throw busError(error) }
        reader.open(profile)
        Log.info("accounts", "created", ["account": profile.description, "simulated": "\(network.isSimulated)"])
        guard let made = try account(profile) else { throw BusError(.internalError, "the account went at once") }
        return describe(made)
    }

    private func removeAccount(_ request: PendingRequest) throws(BusError) {
        let profile = try existingProfile(request.parameters)
        guard profile != self.profile else {
            throw BusError(.conflict, "\(profile) is the active account; switch to another one first")
        }
        try refuseInSwitch(profile)
        let purges = request.parameters["purge"]?.bool ?? false
        // SQLite deletes a log beside the path that its last reader knew: nobody may have the journal open when another one comes to that path.
        guard reader.shut(profile, by: .now + .seconds(2)) else {
            throw BusError(.conflict, "the journal of \(profile) is being read; try again")
        }
        let place: String
        do {
            place = try ground.accounts.remove(
                profile, purge: purges, lastSeq: lastSeq(of: profile), under: ground.rootLock)
        } catch {
            reader.open(profile)
            throw busError(error)
        }
        Log.info("accounts", "removed", ["account": profile.description, "at": place])
        let names: JSON = ["network": .string(profile.network), "account": .string(profile.account)]
        guard purges else {
            return request.answer(.result(names.with("purged", false).with("moved_to", .string(place))))
        }
        let root = ground.root
        let answer: @Sendable () -> Void = {
            do throws(AccountsError) {
                try root.purge()
                request.answer(.result(names.with("purged", true).with("moved_to", nil)))
            } catch {
                Log.write(.error, "accounts", error.description)
                request.answer(.failure(busError(error)))
            }
        }
        // Its files may be many, and nobody waits for them but the caller.
        do { try startThread("purge", answer) } catch { answer() }
    }

    /// Deletes what an earlier supervisor was to delete and did not, beside everything else.
    func finishPurges() {
        let root = ground.root
        try? startThread("purge") {
            do throws(AccountsError) { try root.purge() } catch { Log.write(.error, "accounts", error.description) }
        }
    }

    /// The last seq of an account that is not active; 0 where its journal cannot tell: the ceiling in the registry is above it.
    private func lastSeq(of profile: Profile) -> Int64 {
        let journal = root.prefix(profile).journal
        do { return try JournalReader(path: journal, profile: profile).head() } catch {
            if (error as? JournalError)?.code != .missing { Log.write(.warning, "accounts", "\(error)") }
            return 0
        }
    }

    private func refuseInSwitch(_ profile: Profile) throws(BusError) {
        guard machine.plan?.from != profile, machine.plan?.to != profile else {
            throw BusError(.switching, "a switch of \(profile) is on; try again after it")
        }
    }

    private func importKey(_ parameters: JSON) throws(BusError) -> JSON {
        let profile = try existingProfile(parameters)
        try refuseInSwitch(profile)
        let key: FundingKey
        do { key = try FundingKey((parameters["key"]?.text ?? "").utf8) } catch {
            throw .parameter("key", error.description)
        }
        let keys = Keys(root.prefix(profile))
        let replaces = parameters["replace"]?.bool ?? false
        let kept: String?
        do {
            kept = try withoutNode(profile) { () throws(AccountsError) in
                try keys.importKey(key, replacing: replaces)
            }
        } catch let error as AccountsError {
            throw busError(error)
        } catch let error as BusError {
            throw error
        } catch {
            throw BusError(.internalError, "the key was not imported")
        }
        Log.info("accounts", "a key was imported", ["account": profile.description, "replaces": "\(replaces)"])
        return [
            "network": .string(profile.network), "account": .string(profile.account), "key_state": "plaintext",
            "kept": kept.map { .string($0) } ?? .null,
        ]
    }

    /// Runs `body` while no node can use the account's files.
    private func withoutNode<Result>(_ profile: Profile, _ body: () throws -> Result) throws -> Result {
        if profile == self.profile, accountLock != nil {
            switch machine.state {
            case .stopped, .backingOff, .failed: return try body()
            case .starting, .ready, .stopping, .closing, .ended:
                throw BusError(.conflict, "a node runs on \(profile); stop it first (node.stop)")
            }
        }
        let prefix = root.prefix(profile)
        switch try AccountLock.tryTake(prefix, under: ground.rootLock) {
        case .taken(let lock):
            let result = try body()
            _ = consume lock
            return result
        case .held(.orphan(let pid)): throw locked(profile, pid)
        case .held(.other(let pid)): throw locked(profile, pid)
        }
    }

    private func locked(_ profile: Profile, _ pid: Int32?) -> BusError {
        let holder = pid.map { "process \($0)" } ?? "another process"
        return BusError(
            .conflict, "\(holder) uses account \(profile); end it first",
            ["pid": pid.map { .integer(Int64($0)) } ?? .null])
    }

    private func listAccounts(_ network: String?) throws(BusError) -> JSON {
        if let network, configuration.network(named: network) == nil {
            throw BusError(.notFound, "there is no network \(quoted(network)); network.list tells which there are")
        }
        do {
            let accounts = try ground.registry.accounts(network: network).filter { $0.step == .there }
            return ["accounts": .array(accounts.map(describe))]
        } catch {
            throw busError(error)
        }
    }

    private func describe(_ account: Registry.Account) -> JSON {
        // By size: the files of an account that is not active are not opened. What cannot be looked at is told when it is to be used.
        let key = try? Keys(root.prefix(account.profile)).state(withoutReading: true)
        return [
            "network": .string(account.profile.network), "account": .string(account.profile.account),
            "created": .string(Timestamp.text(account.createdMicroseconds)),
            "simulated": .bool(account.isSimulated), "active": .bool(account.profile == profile),
            "has_key": .bool(key != .missing && key != nil), "key_state": .string(key?.word ?? "unreadable"),
        ]
    }
}

/// What an error about files or the registry is on the bus.
func busError(_ error: AccountsError) -> BusError {
    switch error.code {
    case .exists: BusError(.conflict, error.description)
    case .locked:
        BusError(.conflict, error.description, ["pid": error.holder.map { .integer(Int64($0)) } ?? .null])
    case .missing: BusError(.notFound, error.description)
    case .storage, .busy, .damaged, .newerSchema, .unsafePath: BusError(.storage, error.description)
    }
}
