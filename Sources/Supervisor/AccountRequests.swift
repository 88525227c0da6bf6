import Accounts
import Bus
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
        Log.info("accounts", "created", ["account": profile.description, "simulated": "\(network.isSimulated)"])
        guard let made = try account(profile) else { throw BusError(.internalError, "the account went at once") }
        return describe(made)
    }

    private func listAccounts(_ network: String?) throws(BusError) -> JSON {
        if let network, configuration.network(named: network) == nil {
            throw BusError(.notFound, "there is no network \(quoted(network)); network.list tells which there are")
        }
        do {
            return ["accounts": .array(try ground.registry.accounts(network: network).map(describe))]
        } catch {
            throw busError(error)
        }
    }

    private func describe(_ account: Registry.Account) -> JSON {
        [
            "network": .string(account.profile.network), "account": .string(account.profile.account),
            "created": .string(Timestamp.text(account.createdMicroseconds)),
            "simulated": .bool(account.isSimulated), "active": .bool(account.profile == profile),
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
