// swift-tools-version: 6.0
import PackageDescription

// Layers, lowest first; the tidy test holds every import against them.
let package = Package(
    name: "nodebus",
    products: [
        .executable(name: "nodebus", targets: ["nodebus"]),
        .executable(name: "nodebus-fiber", targets: ["nodebus-fiber"]),
        .library(name: "fiber_sim", type: .dynamic, targets: ["FiberSim"]),
        .library(name: "NodeBusClient", targets: ["NodeBusClient"]),
    ],
    targets: [
        // C
        // Without pkg-config: Debian's libzmq.pc names an -isystem directory of Kerberos, which the package manager refuses with a
        // warning on every build; header and library stand in the default places.
        .systemLibrary(name: "CZeroMQ", providers: [.apt(["libzmq3-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .target(name: "CFiber"),
        .target(name: "CLinux"),
        // Wrappers
        .target(name: "Linux", dependencies: ["CLinux"]),
        .target(name: "ZeroMQ", dependencies: ["CZeroMQ"]),
        .target(name: "SQLite", dependencies: ["CSQLite"]),
        .target(name: "YAML", dependencies: ["CYAML"]),
        // Contract
        .target(name: "Wire"),
        // Parts
        .target(name: "HostLink", dependencies: ["Wire", "Linux"]),
        .target(name: "Journal", dependencies: ["Wire", "SQLite", "Linux"]),
        .target(name: "Accounts", dependencies: ["Wire", "SQLite", "Linux"]),
        .target(name: "Supervision", dependencies: ["Wire"]),
        .target(name: "Bus", dependencies: ["Wire", "ZeroMQ", "Linux"]),
        // Node runtimes
        .target(name: "FiberRuntime", dependencies: ["Wire", "HostLink", "Linux", "CFiber"]),
        // Supervisor
        .target(
            name: "Supervisor",
            dependencies: [
                "Wire", "HostLink", "Journal", "Accounts", "Supervision", "Bus", "YAML", "Linux", "ZeroMQ", "SQLite",
            ]),
        // For clients
        .target(name: "NodeBusClient", dependencies: ["Wire", "ZeroMQ"]),
        // Programs
        .executableTarget(name: "nodebus", dependencies: ["Supervisor", "NodeBusClient", "ZeroMQ", "Wire", "Linux"]),
        .executableTarget(name: "nodebus-fiber", dependencies: ["FiberRuntime", "HostLink", "Wire", "Linux"]),
        // The simulated node: a library with the native one's C ABI; it shares nothing with the host but the wrappers.
        .target(name: "FiberSim", dependencies: ["CFiber", "SQLite", "YAML", "Linux"]),
        // Tests
        .testTarget(name: "HostLinkTests", dependencies: ["HostLink", "Wire", "Linux"]),
        .testTarget(name: "TidyTests"),
        .testTarget(name: "LinuxTests", dependencies: ["Linux"]),
        .testTarget(name: "SupervisionTests", dependencies: ["Supervision", "Wire"]),
        .testTarget(name: "WireTests", dependencies: ["Wire"]),
        .testTarget(
            name: "FiberRuntimeTests", dependencies: ["FiberRuntime", "HostLink", "Wire", "Linux", "CFiber"]),
        .testTarget(name: "FiberABITests", dependencies: ["CFiber"], exclude: ["Resources"]),
        .testTarget(name: "YAMLTests", dependencies: ["YAML"]),
        .testTarget(name: "ZeroMQTests", dependencies: ["ZeroMQ", "Linux"]),
        .testTarget(name: "BusTests", dependencies: ["Bus", "Wire", "ZeroMQ", "Linux"]),
        .testTarget(name: "ConfigurationTests", dependencies: ["Supervisor"]),
        .testTarget(
            name: "ClientTests", dependencies: ["NodeBusClient", "Supervisor", "Wire", "ZeroMQ", "Linux", "nodebus"]),
        .testTarget(name: "JournalTests", dependencies: ["Journal", "Wire", "SQLite"]),
        .testTarget(name: "AccountsTests", dependencies: ["Accounts", "Wire", "SQLite", "Linux"]),
    ],
    swiftLanguageModes: [.v6]
)
