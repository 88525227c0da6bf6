import Glibc
import NodeBusClient
import Supervisor
import Wire
import ZeroMQ

private let sinceOption = Option(
    name: "--since", value: "SEQ", summary: "first what the journal holds after SEQ (0: all of it)")
private let countOption = Option(name: "--count", value: "N", summary: "end after N events")

extension Command {
    /// `nodebus watch`
    static let watch = Command(
        name: "watch", summary: "prints events as they come", operands: "[PREFIX …]",
        options: [.config, .commands, .events, sinceOption, countOption, .json],
        details: """
            Prints events whose topic (NETWORK/ACCOUNT/SOURCE/Kind) starts with one of the prefixes, one line each,
            without hole or repeat: what is lost on the way is read from the journal. Without a prefix it prints
            everything but heartbeats. A supervisor that goes away is said on stderr and waited for. Ctrl-C ends it
            (exit code 130).

            With --json a line is {"topic":…,"header":…,"payload":…}, header and payload as they were published.

            Examples:
              nodebus watch
              nodebus watch dev/demo/fiber/Channel dev/demo/supervisor/
              nodebus watch --since 0 --json > history.jsonl
              nodebus watch --count 1 dev/demo/fiber/ChannelReady
            """,
        exitCodes: [.done, .refused, .noSupervisor, .configurationUnreadable, .configurationFaulty]
    ) { (options: Options) throws(Failure) -> ExitCode in
        signal(SIGINT) { _ in _exit(130) }
        let since = try options.integer(sinceOption, least: 0)
        var left = try options.integer(countOption, least: 1) ?? Int64.max
        let (commands, events) = (try options.commandEndpoint(), try options.eventEndpoint())
        let printer = EventPrinter(isJSON: options.has(.json))
        try withBus { (context: Context) throws(ClientError) in
            let stream = try EventStream(
                commands: CommandClient(endpoint: commands, context: context), events: events,
                prefixes: options.operands, since: since, context: context)
            while left > 0 {
                var item = try stream.next(timeout: .zero)
                if item == nil {
                    // Nothing more is there: what was gathered is shown before the wait.
                    Output.shared.flush()
                    item = try stream.next(timeout: .seconds(1))
                }
                switch item {
                case .event(let event)?:
                    printer.print(event)
                    left -= 1
                case .notice(let notice)?:
                    Output.shared.flush()
                    printError("nodebus: \(words(notice, events))")
                case nil: Output.shared.endIfReaderIsGone()
                }
            }
        }
        return Output.shared.finish()
    }

    private static func words(_ notice: EventStream.Notice, _ endpoint: String) -> String {
        switch notice {
        case .lost: "lost the supervisor at \(endpoint); waiting for it"
        case .back: "the supervisor is back"
        case .truncated(let profile, let from, let to):
            "events \(from) to \(to) of \(profile) are no longer kept"
        case .historyChanged(let profile, let epoch):
            "the history of \(profile) was lost or went back; from here on it has the epoch \(epoch)"
        case .unreadable(let profile, let error):
            "the journal of \(profile) cannot be read for now, trying again: \(visible(error.description))"
        }
    }
}

/// Prints one event a line.
private struct EventPrinter {
    let isJSON: Bool
    private let colours = Output.shared.colours

    init(isJSON: Bool) { self.isJSON = isJSON }

    func print(_ event: Event) {
        if isJSON { return Output.shared.print(event.line) }
        let header = try? JSON.parse(event.header)
        // Milliseconds are enough for the eye: 2026-11-30T01:02:03.123.
        let time = visible(String((header?["time"]?.text ?? "-").prefix(23))).padded(to: 23)
        let number = event.position.map { "\($0.seq)" } ?? "-"
        let seq = String(repeating: " ", count: max(0, 7 - number.count)) + number
        let topic = visible(event.topic).padded(to: 40)
        let payload = visible(String(decoding: event.payload, as: UTF8.self).replacing("\n", with: " "))
        let room = Output.shared.width.map { max(20, $0 - 23 - 2 - seq.count - 2 - topic.count - 2) }
        let shown = room.map { payload.count > $0 ? "\(payload.prefix($0 - 1))…" : payload } ?? payload
        guard colours else { return Output.shared.print("\(time)  \(seq)  \(topic)  \(shown)") }
        Output.shared.print(
            "\(Colour.dim.paint(time))  \(seq)  \(colour(event).paint(topic))  \(Colour.dim.paint(shown))")
    }

    private func colour(_ event: Event) -> Colour {
        let parts = event.topic.split(separator: "/")
        switch parts.last {
        case "NodeExited", "NodeFailed", "NodeUnresponsive", "EventsLost", "JournalStalled", "SwitchFailed",
            "Malformed":
            return .red
        case "NodeReady": return .green
        default: return parts.dropLast().last == "supervisor" || parts.first == "bus" ? .yellow : .cyan
        }
    }
}
