/// The bus's own methods. The node's are described by its host.
public enum BusMethods {
    /// All of them.
    public static let all: [MethodDescription] = [
        MethodDescription("bus.ping", "Answers at once; tells that the bus is there.", result: "{}"),
        MethodDescription(
            "bus.version", "The supervisor's version and that of the wire contract.", result: "version, wire"),
        MethodDescription(
            "bus.status",
            "What runs, since when, and where the journal stands; answers whatever the node or disk is doing.",
            result:
                "state, network, account, run, pid, since, restarts, last_exit, epoch, head, journal, simulated, host, …"
        ),
        MethodDescription(
            "bus.methods", "Every method that can be called now, with its parameters.", result: "methods"),
        MethodDescription(
            "bus.shutdown", "Stops the node in order, then the supervisor.", result: "state", effect: .change),
        MethodDescription(
            "bus.switch", "Stops the node and starts that of another account; answers when it is ready.",
            [
                .init("network", .text(maxBytes: 63), required: true, "the network to switch to"),
                .init("account", .text(maxBytes: 63), required: true, "the account to switch to"),
                .init(
                    "on_failure", .choice(["rollback", "stay"]),
                    "when the new node does not come up: bring the old one back (default), or stay and keep trying"),
            ], result: "state, run, changed", effect: .change),
        MethodDescription(
            "node.start", "Starts the node; answers when it is ready. A node that is ready already is left alone.",
            result: "state, run, changed", effect: .change),
        MethodDescription(
            "node.stop", "Stops the node; answers when its host has ended. A stopped node is left alone.",
            result: "state, run, changed", effect: .change),
        MethodDescription(
            "node.restart", "Stops the node and starts it again; answers when it is ready.",
            result: "state, run, changed",
            effect: .change),
        MethodDescription(
            "network.list", "The configured networks.",
            result: "networks: name, host, library, config, simulated, chain, currency (of invoices), active"),
        MethodDescription(
            "account.list", "The accounts that exist, and which one is active.",
            [.init("network", .text(maxBytes: 63), "only those of this network")], result: "accounts"),
        MethodDescription(
            "account.create",
            "Makes an account; on a simulated network with a random key and passphrase, else a key is imported next.",
            accountParameters, result: accountResult, effect: .change),
        MethodDescription(
            "account.remove",
            "Takes an account that is not active away; its files are moved below .removed, and kept there.",
            accountParameters + [
                .init("purge", .boolean, "delete its files, key and channels included, instead of keeping them")
            ], result: "network, account, purged, moved_to", effect: .change),
        MethodDescription(
            "account.import_key",
            "Gives an account its key, while no node runs on it; the node encrypts it with the passphrase when it starts.",
            accountParameters + [
                .init("key", .secret(.text(maxBytes: 1024)), required: true, "32 bytes in hex, 0x allowed"),
                .init("replace", .boolean, "put it in the place of the key that is there (default: refuse)"),
            ], result: "network, account, key_state, kept", effect: .change),
        MethodDescription("events.read", "Reads the journal in pages.", eventsReadParameters, result: eventsReadResult),
        MethodDescription(
            "events.schema",
            "The kinds of events that a node is known to publish, each as a JSON Schema of its payload.",
            [
                .init("source", .choice(["fiber"]), "whose events (default: fiber)"),
                .init("kind", .text(maxBytes: EventClass.kindLimit), "only this kind"),
            ], result: "source, schemas: by kind"),
        MethodDescription(
            "rpc.discover", "Every method that can be called now, as an OpenRPC document.",
            result: "openrpc, info, methods, components"),
    ]

    private static let accountResult = "network, account, created, simulated, active, has_key, key_state"
    private static let accountParameters: [MethodDescription.Parameter] = [
        .init("network", .text(maxBytes: 63), required: true, "the account's network, as in the configuration"),
        .init("account", .text(maxBytes: 63), required: true, "the account's name: \(Profile.nameRule)"),
    ]

    private static let eventsReadResult = "events, next, head, oldest, epoch"
    private static let eventsReadParameters: [MethodDescription.Parameter] = [
        .init("after", .integer(min: 0, max: 1 << 53), "a seq; events above it are read (0: from the first one)"),
        .init("epoch", .text(maxBytes: 8), "with after: the epoch the seq belongs to"),
        .init(
            "from", .choice(["oldest", "now"]), "instead of after: the oldest event kept, or the end of the journal"),
        .init("limit", .integer(min: 1, max: 10_000), "at most so many events (default 1000)"),
        .init("kinds", .texts, "only events of these kinds"),
        .init("network", .text(maxBytes: 63), "the journal's network (default: the active one)"),
        .init("account", .text(maxBytes: 63), "the journal's account (default: the active one)"),
        .init("wait_ms", .integer(min: 0, max: 60_000), "wait so long for an event when there is none (default 0)"),
    ]
}
