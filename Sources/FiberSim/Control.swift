import CFiber

/// The commands of `fiber_sim_control`.
enum Control {
    private static let commands: [String: @Sendable (Members) throws -> JSON] = [
        "chain": chain, "counters": counters, "emit": emit, "fault": fault, "hash": hash, "invoice": invoice,
        "open": open, "pay": pay, "peers": peers,
    ]

    /// Performs the one command that the text holds.
    static func perform(_ text: String) throws -> String {
        let request: JSON
        do { request = try JSON(parsing: text) } catch { throw Refusal.invalid("simulator: invalid request: \(error)") }
        let known = commands.keys.sorted().joined(separator: ", ")
        guard case .object(let members) = request, members.count == 1, let (name, value) = members.first else {
            throw Refusal.invalid("simulator: a request is an object with one command: \(known)")
        }
        guard let command = commands[name] else {
            throw Refusal.invalid("simulator: no command \"\(name)\"; known are \(known)")
        }
        guard case .object(let arguments) = value else {
            throw Refusal.invalid("simulator: \(name) takes an object")
        }
        return try command(Members(command: name, members: arguments)).text
    }

    private static func chain(_ members: Members) throws -> JSON {
        try members.refuseUnknown(besides: ["behind", "advance_seconds", "fault"])
        let (behind, seconds) = (
            try members.members["behind"].map { _ in try members.number("behind", 0...1_000_000) },
            try members.number("advance_seconds", 0...31_536_000, default: 0)
        )
        let fault = try members.members["fault"].map { _ in
            guard let fault = SimulatedChain.Fault(rawValue: try members.text("fault")) else {
                throw Refusal.invalid("simulator: chain.fault is one of \(SimulatedChain.Fault.names)")
            }
            return fault
        }
        guard let node = Handles.running else { throw Refusal.invalid("simulator: no node is running") }
        return try node.inspect { node in
            node.chain.advance(by: .seconds(seconds))
            if let behind { node.chain.fallBehind(by: behind) }
            if let fault { node.chain.fault = fault }
            let heights = node.chain.heights(at: node.chain.time)
            return ["tip_block_number": JSON(heights.tip), "indexed_block_number": JSON(heights.indexed)]
        }
    }

    private static func counters(_ members: Members) throws -> JSON {
        try members.refuseUnknown(besides: [])
        let node = Lifecycle.latest
        let reading = node?.counters.reading ?? Counters.Reading()
        let digits = String(reading.hash, radix: 16)
        return [
            "events_offered": .integer(Int64(reading.offered)), "events_returned": .integer(Int64(reading.returned)),
            "hash": .string(String(repeating: "0", count: 8 - digits.count) + digits),
            "strings_live": JSON(LentStrings.count), "calls": .object(CallCounts.byName.mapValues { JSON($0) }),
            "payments_made": JSON(node?.paymentsMade ?? 0),
        ]
    }

    private static func emit(_ members: Members) throws -> JSON {
        try members.refuseUnknown(besides: ["count", "per_second", "bytes", "kind"])
        let count = try members.number("count", 1...Emission.countLimit)
        let emission = Emission(
            kind: try members.text("kind", default: "DebugEvent"), count: count,
            perSecond: try members.number("per_second", 0...Emission.rateLimit, default: 0),
            bytes: try members.number("bytes", 0...Emission.bytesLimit, default: 0))
        guard let node = Handles.running else { throw Refusal.invalid("simulator: no node is running") }
        guard let events = node.events else {
            throw Refusal.invalid("simulator: the node was started without an event callback")
        }
        try events.begin(emission)
        return ["count": JSON(count)]
    }

    private static func fault(_ members: Members) throws -> JSON {
        try members.refuseUnknown(besides: ["call", "nth", "do", "when"])
        let when = try members.text("when", default: "before")
        guard let moment = Faults.Moment(rawValue: when) else {
            throw Refusal.invalid("simulator: fault.when is before or after")
        }
        try Faults.arm(
            FaultDescription(
                call: try members.text("call"), nth: try members.number("nth", 1...1_000_000_000, default: 1),
                action: try members.text("do"), moment: moment))
        return ["armed": .bool(true)]
    }

    private static func invoice(_ members: Members) throws -> JSON {
        try members.refuseUnknown(besides: ["peer", "amount"])
        let (peer, amount) = (try members.text("peer"), try members.number("amount", 1...Int.max))
        guard let node = Handles.running else { throw Refusal.invalid("simulator: no node is running") }
        return try node.inspect { node in
            let invoice = try node.invoice(from: peer, amount: UInt128(amount))
            return [
                "invoice": .string(invoice.text(currency: node.configuration.chain.currency)),
                "payment_hash": JSON(invoice.hash),
            ]
        }
    }

    /// A hold invoice needs a hash, and the simulation's is nobody else's.
    private static func hash(_ members: Members) throws -> JSON {
        try members.refuseUnknown(besides: ["preimage"])
        return ["payment_hash": JSON(try Hash256(parsing: members.text("preimage")).simulatedPaymentHash)]
    }

    private static func open(_ members: Members) throws -> JSON {
        try members.refuseUnknown(besides: ["peer", "amount", "public"])
        let (peer, amount) = (try members.text("peer"), try members.number("amount", 1...Int.max))
        let isPublic = try members.bool("public", default: true)
        guard let node = Handles.running else { throw Refusal.invalid("simulator: no node is running") }
        return try node.inspect { node in
            let id = try node.peerOpens(peer, funding: UInt128(amount), isPublic: isPublic)
            return ["temporary_channel_id": JSON(id)]
        }
    }

    private static func pay(_ members: Members) throws -> JSON {
        try members.refuseUnknown(besides: ["peer", "invoice", "amount"])
        let (peer, amount) = (try members.text("peer"), try members.amount("amount"))
        let invoice = try members.members["invoice"] == nil ? nil : members.text("invoice")
        guard let node = Handles.running else { throw Refusal.invalid("simulator: no node is running") }
        return try node.inspect { node in
            ["payment_hash": JSON(try node.receive(from: peer, invoice: invoice, amount: amount))]
        }
    }

    private static func peers(_ members: Members) throws -> JSON {
        try members.refuseUnknown(besides: [])
        guard let node = Handles.running else { throw Refusal.invalid("simulator: no node is running") }
        return try node.inspect { node in
            let peers = node.configuration.simulation.peers.map { peer -> JSON in
                [
                    "name": .string(peer.name), "pubkey": JSON(peer.pubkey), "address": .string(peer.address),
                    "connected": .bool(node.peers[peer.pubkey]?.isConnected ?? false),
                ]
            }
            return ["peers": .array(peers)]
        }
    }
}
