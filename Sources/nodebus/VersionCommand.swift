import Supervisor

extension Command {
    /// `nodebus version`
    static let version = Command(
        name: "version", summary: "prints the version", operands: "", options: [],
        details: """
            Prints the version of this program and of the wire contract (the v of an event's header). The running
            supervisor's is what nodebus call bus.version answers.
            """,
        exitCodes: [.done]
    ) { (_: Options) throws(Failure) -> ExitCode in
        Output.shared.print("nodebus \(Version.supervisor), wire \(Version.wire)")
        return Output.shared.finish()
    }
}
