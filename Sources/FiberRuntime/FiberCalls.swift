import CFiber
import Wire

/// The node's calls as the bus offers them, each described and bound in one place. A new one is one entry here and,
/// for a function not used yet, one line in `Library`.
///
/// Where a native default is a trap, ours differs and the parameter says so.
enum FiberCalls {
    /// All of them, in the order of help texts.
    static let all: [NativeCall] =
        [nodeInfo] + backend + peers + channels + externalFunding + channelChanges + invoices + payments + [sim]

    /// Those that this library has.
    static func offered(by library: Library) -> [NativeCall] { all.filter { $0.isOffered(by: library) } }

    private static let nodeInfo = NativeCall(
        "node_info", "The node's identity, version, addresses, terms and counts.", options: { NoArguments() },
        fields: [], output: .json,
        result: "version, pubkey, node_name, addresses, chain_hash, channel_count, peers_count, …"
    ) { library in { handle, _, out in library.nodeInfo(handle, out) } }

    private static let backend: [NativeCall] = [
        NativeCall(
            "ckb_readiness",
            "Whether the CKB backend is in step with the chain. Can take 20 seconds when the backend does not answer.",
            options: { NoArguments() }, fields: [], output: .json,
            result:
                "ready, mode, tip_block_number, indexed_block_number, lag, max_acceptable_lag, wait_estimate, reason"
        ) { library in
            guard let call = library.ckbReadiness else { return nil }
            return { handle, _, out in call(handle, out) }
        },
        NativeCall(
            "ckb_balance",
            """
            What the node's key has on the chain, in plain cells; UDTs are not counted, cells of a transaction under way \
            are. Costly (the key is decrypted each time): not to be asked often.
            """,
            options: { NoArguments() }, fields: [], output: .json,
            result: "ready, address, lock_args, cell_count, capacity_shannons, capacity_ckb, lag, …"
        ) { library in
            guard let call = library.ckbBalance else { return nil }
            return { handle, _, out in call(handle, out) }
        },
    ]

    /// What the simulator takes is JSON as a whole, so the parameters go on together.
    private static let sim = NativeCall(
        "sim", "Controls the simulated node: exactly one of these parameters.", options: { SimRequest() },
        fields: [
            .part("emit", "sends events: count, per_second (0: as fast as it can), bytes, kind"),
            .part("fault", "arms a fault: call, nth (from 1), do: hang, status:N, slow:2s, abort, segv, exit, …"),
            .part("counters", "answers the counters; takes {}"),
            .part("peers", "answers the simulated peers; takes {}"),
            .part("invoice", "answers an invoice of a simulated peer: peer (its name), amount (in shannons)"),
            .part("open", "a simulated peer asks for a channel: peer (its name), amount (in shannons), public"),
            .part("pay", "a simulated peer pays: peer (its name), invoice (of this node) or amount (in shannons)"),
            .part("hash", "answers the payment hash of a preimage, for a hold invoice: preimage"),
            .part("chain", "moves the chain: behind (blocks), advance_seconds, fault (none, tip-rpc, stale, …)"),
        ], output: .json, result: "what the simulator answers", effect: .change,
        check: { (given, _) throws(BusError) in
            guard given.members?.count == 1 else {
                throw .parameter("emit", "or exactly one of the others is required")
            }
        }
    ) { library in
        guard let control = library.simControl else { return nil }
        return { _, request, out in
            FiberFfiStatus(rawValue: UInt32(bitPattern: control(request.text, out)))
        }
    }
}

/// The request to the simulator.
private struct SimRequest {
    var text: UnsafePointer<CChar>?
}

extension Field<SimRequest> {
    fileprivate static func part(_ name: String, _ summary: String) -> Field {
        .whole(name, \.text, .object, summary)
    }
}
