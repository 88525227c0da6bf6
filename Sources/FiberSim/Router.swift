import CFiber

/// What the simulated network asks for passing a payment on. Inside the library every peer has a channel with every
/// other, of any size.
enum Router {
    /// Milliseconds.
    static let expiryDelta: UInt64 = 14_400_000

    /// A thousandth, rounded up.
    static func fee(on amount: UInt128) -> UInt128 { amount / 1000 + (amount % 1000 == 0 ? 0 : 1) }

    /// The outpoint of the channel between two peers.
    static func outpoint(_ one: Pubkey, _ other: Pubkey) -> String {
        let ends = [one.description, other.description].sorted().map { Array($0.utf8) }
        return Hash256(SimulatedDigest.of(ends)).outpoint
    }

    /// The outpoint that a member names, in the node's form of 36 bytes.
    static func outpoint(parsing value: JSON) throws -> String {
        let bytes = try RequestParameters.hexBytes(value)
        guard bytes.count == 36 else {
            throw Refusal.invalidOptions("invalid length of an outpoint: \(bytes.count), expected 36 bytes")
        }
        return "0x" + bytes.hex
    }
}

/// A step of a route.
struct RouterHop: Sendable {
    let target: Pubkey
    let outpoint: String
    /// What the target gets.
    let amount: UInt128
    /// Relative, in milliseconds.
    let expiry: UInt64

    var json: JSON {
        [
            "target": JSON(target), "channel_outpoint": .string(outpoint), "amount_received": JSON(hex: amount),
            "incoming_tlc_expiry": JSON(hex: expiry),
        ]
    }
}

extension RouterHop {
    /// Reads a step as fiber_build_router wrote it.
    init(_ value: JSON) throws {
        for field in ["target", "channel_outpoint", "amount_received", "incoming_tlc_expiry"] where value[field] == nil
        {
            throw Refusal.invalidOptions("missing field `\(field)`")
        }
        let key = value["target"]?.string ?? ""
        do { target = try Pubkey(parsing: key) } catch {
            throw Refusal.invalidOptions("invalid pubkey hex '\(key)'")
        }
        outpoint = try Router.outpoint(parsing: value["channel_outpoint"] ?? .null)
        amount = try RequestParameters.hexAmount(value["amount_received"])
        expiry = try RequestParameters.hexNumber(value["incoming_tlc_expiry"])
    }
}

/// What fiber_build_router is asked for.
struct BuildRouterRequest: Sendable {
    struct Hop: Sendable {
        let pubkey: Pubkey
        let outpoint: String?
    }

    let parameters: RequestParameters
    let udt: JSON?
    let hops: [Hop]

    init(_ parameters: RequestParameters) throws {
        self.parameters = parameters
        udt = try parameters.script("udt_type_script")
        hops = try (parameters.list("hops_info") ?? []).map { hop in
            guard let key = hop["pubkey"] else { throw Refusal.invalidOptions("missing field `pubkey`") }
            do {
                let pubkey = try Pubkey(parsing: key.string ?? "")
                let outpoint = hop["channel_outpoint"].flatMap { $0 == .null ? nil : $0 }
                return Hop(pubkey: pubkey, outpoint: try outpoint.map(Router.outpoint(parsing:)))
            } catch let refusal as Refusal where refusal.text.contains("pubkey") {
                throw Refusal.invalidOptions("invalid pubkey hex '\(key.string ?? key.text)'")
            }
        }
    }
}

extension SimNode {
    /// A route over these hops; the last is the target.
    func buildRouter(_ request: BuildRouterRequest) throws -> JSON {
        let parameters = request.parameters
        func refuse(_ text: String) -> Refusal { .rpc("InvalidParameter: \(text)", request: parameters.json) }
        let noPath = Refusal.rpc(Self.noPath, request: parameters.json)
        let amount = parameters.amount("amount") ?? 1
        guard amount > 0, amount <= UInt128.max / 2000 else { throw refuse(UnstatedText.routerAmount) }
        guard let first = request.hops.first, request.hops.count <= 24 else { throw refuse(UnstatedText.routerHops) }
        let delta = parameters.number("final_tlc_expiry_delta") ?? 86_400_000
        guard (9_600_000...1_209_600_000).contains(delta) else { throw refuse(UnstatedText.finalExpiryDelta) }

        var hops: [RouterHop] = []
        var (carried, expiry) = (amount, delta)
        for (index, hop) in request.hops.enumerated().reversed() where index > 0 {
            let previous = request.hops[index - 1].pubkey
            let outpoint = Router.outpoint(previous, hop.pubkey)
            guard peers[hop.pubkey] != nil, previous != hop.pubkey, hop.outpoint ?? outpoint == outpoint else {
                throw noPath
            }
            hops.insert(RouterHop(target: hop.pubkey, outpoint: outpoint, amount: carried, expiry: expiry), at: 0)
            carried += Router.fee(on: carried)
            expiry += Router.expiryDelta
        }
        let channel = channels.first { channel in
            channel.pubkey == first.pubkey && first.outpoint ?? channel.outpoint == channel.outpoint
                && canPay(channel, carried, request.udt)
        }
        guard let channel else { throw noPath }
        hops.insert(RouterHop(target: first.pubkey, outpoint: channel.outpoint, amount: carried, expiry: expiry), at: 0)
        return ["router_hops": .array(hops.map(\.json))]
    }
}
