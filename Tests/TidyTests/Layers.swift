/// The layers of the project: what each module may import of ours. Package.swift says the same to the compiler, which does not refuse
/// an import that some other dependency happens to bring in.
enum Layers {
    static let allowed: [String: Set<String>] = [
        // Wrappers
        "Linux": ["CLinux"],
        "ZeroMQ": ["CZeroMQ"],
        "SQLite": ["CSQLite"],
        "YAML": ["CYAML"],
        // Contract
        "Wire": [],
        // Parts
        "Supervision": ["Wire"],
        "HostLink": ["Wire", "Linux"],
        "Journal": ["Wire", "SQLite", "Linux"],
        "Accounts": ["Wire", "SQLite", "Linux"],
        "Bus": ["Wire", "ZeroMQ", "Linux"],
        // Node runtimes
        "FiberRuntime": ["Wire", "HostLink", "Linux", "CFiber"],
        // For clients
        "NodeBusClient": ["Wire", "ZeroMQ"],
        // Supervisor: alone in knowing both the disk and the bus
        "Supervisor": [
            "Wire", "HostLink", "Journal", "Accounts", "Supervision", "Bus", "YAML", "Linux", "ZeroMQ", "SQLite",
        ],
        // Programs
        "nodebus": ["Supervisor", "NodeBusClient", "Wire", "ZeroMQ", "Linux"],
        "nodebus-fiber": ["FiberRuntime", "HostLink", "Wire", "Linux"],
        // The simulated node, which shares nothing with the host that loads it
        "FiberSim": ["CFiber", "SQLite", "YAML", "Linux"],
    ]

    /// What comes with the toolchain and may be imported anywhere, but not by a module that must be pure.
    static let system: Set<String> = [
        "Glibc", "Synchronization", "Foundation", "FoundationEssentials", "Dispatch",
    ]
    /// No I/O, no clock, no threads.
    static let pure: Set<String> = ["Supervision"]

    /// The modules of C, which import nothing.
    static let c: Set<String> = ["CFiber", "CLinux", "CSQLite", "CYAML", "CZeroMQ"]
}
