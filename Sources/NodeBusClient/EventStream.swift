import Wire
import ZeroMQ

/// Events without hole or repeat, from a position on: the journal read in pages, joined with what is published live.
///
/// It subscribes first and reads then. From there on a `prev` that it does not know, or a heartbeat's head above what
/// it has, is a hole, and it reads again. A supervisor that goes away is waited for. Events of one topic come in order;
/// those of an account do too, but for a hole that is filled later than events of other topics came.
public final class EventStream {
    /// What the stream gives.
    public enum Item: Sendable, Equatable {
        /// An event of one of the prefixes.
        case event(Event)
        /// Something to tell the person who watches.
        case notice(Notice)
    }

    /// What is no event and yet should be known.
    public enum Notice: Sendable, Equatable {
        /// The supervisor cannot be heard; it is waited for.
        case lost
        /// It can be heard again.
        case back
        /// Events of this range are no longer kept.
        case truncated(Profile, from: Int64, to: Int64)
        /// The journal's history was lost or went back: a new epoch.
        case historyChanged(Profile, epoch: String)
        /// The journal cannot be read for now; it is tried again.
        case unreadable(Profile, ClientError)
    }

    /// How far one account's events were given.
    private struct Position {
        /// Everything up to here was given, or is of no prefix.
        var cursor: Int64
        var epoch: String?
        /// The last event given live of each topic, where above `cursor`.
        var given: [String: Int64] = [:]

        func has(_ topic: String, _ seq: Int64) -> Bool { seq <= max(cursor, given[topic] ?? 0) }
    }

    private let commands: CommandClient
    private let subscriber: EventSubscriber
    private let prefixes: [String]
    private var positions: [Profile: Position] = [:]
    /// Accounts whose journal has to be read before anything live is taken.
    private var behind: [Profile] = []
    private var ready: [Item] = []
    private var readyIndex = 0
    private var isLost = false
    private var isUnreadable = false
    private var lastHeard = ContinuousClock.now
    private var retryAt = ContinuousClock.now
    /// The bus's interval, once it is known.
    private var heartbeat: Duration?

    /// Starts a stream of the events whose topic starts with one of `prefixes`, waiting at most a few seconds for the
    /// supervisor.
    ///
    /// `since` is a seq of the account that the prefixes name, or of the active one: what came after it is given first.
    /// Without it the stream starts now. `heartbeat` is the bus's interval, otherwise learnt from the first one; after
    /// three silent ones the supervisor counts as lost. A position that the journal does not have is refused
    /// (`history_truncated`, `history_changed`).
    public init(
        commands: CommandClient, events endpoint: String, prefixes: [String], since: Int64?,
        heartbeat: Duration? = nil, context: Context, queueLimit: Int32 = 10_000
    ) throws(ClientError) {
        self.commands = commands
        self.prefixes = prefixes.isEmpty ? [""] : prefixes
        self.heartbeat = heartbeat
        let named = Set(self.prefixes.compactMap(EventStream.profile))
        // A prefix shorter than an account has its heartbeats in it anyway.
        let heartbeats = named.map { "\($0)/\(Topic.supervisor)/\(Event.heartbeat)" }
        subscriber = try EventSubscriber(
            endpoint: endpoint, prefixes: self.prefixes + heartbeats, context: context, queueLimit: queueLimit)
        guard case .connected? = try subscriber.next(timeout: CommandClient.connectTimeout) else {
            throw .noSupervisor(endpoint: endpoint)
        }
        var profiles = Array(named)
        if profiles.isEmpty, let active = try activeProfile() { profiles = [active] }
        if let since {
            guard profiles.count == 1, let profile = profiles.first else {
                throw .refused(.parameter("since", "belongs to one account; name it in the prefix: NETWORK/ACCOUNT/"))
            }
            try start(profile, ["after": .integer(since)])
        } else {
            for profile in profiles { try start(profile, ["from": "now"]) }
        }
    }

    /// The account that a prefix names in full.
    static func profile(of prefix: String) -> Profile? {
        let parts = prefix.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 ? Profile(network: String(parts[0]), account: String(parts[1])) : nil
    }

    private func activeProfile() throws(ClientError) -> Profile? {
        let status = try commands.callJSON("bus.status", timeout: .seconds(5))
        guard let network = status["network"]?.text, let account = status["account"]?.text else { return nil }
        return Profile(network: network, account: account)
    }

    private func start(_ profile: Profile, _ from: JSON) throws(ClientError) {
        let page: EventPage
        do throws(ClientError) { page = try read(profile, from) } catch {
            // An account without a journal has said nothing yet.
            guard case .refused(let refusal) = error, refusal.code == .notFound, from["after"] == nil else {
                throw error
            }
            return
        }
        let start = from["after"]?.integer ?? page.next
        positions[profile] = Position(cursor: start, epoch: page.epoch)
        take(page, of: profile)
        if page.next < page.head { behind.append(profile) }
    }

    /// The next item; nil when there is none within `timeout`.
    public func next(timeout: Duration) throws(ClientError) -> Item? {
        let deadline = ContinuousClock.now + timeout
        while true {
            if readyIndex < ready.count {
                defer { readyIndex += 1 }
                return ready[readyIndex]
            }
            ready.removeAll(keepingCapacity: true)
            readyIndex = 0
            let now = ContinuousClock.now
            if let profile = behind.first, now >= retryAt {
                try catchUp(profile)
                continue
            }
            let silence = heartbeat.map { lastHeard + $0 * 3 + .milliseconds(500) }
            var until = min(deadline, isLost ? deadline : silence ?? deadline)
            if !behind.isEmpty { until = min(until, retryAt) }
            if let delivery = try subscriber.next(timeout: max(.zero, until - now)) {
                take(delivery)
            } else if !isLost, let silence, ContinuousClock.now >= silence {
                lose()
            } else if ContinuousClock.now >= deadline {
                return nil
            }
        }
    }

    private func take(_ delivery: EventSubscriber.Delivery) {
        lastHeard = .now
        switch delivery {
        case .disconnected: lose()
        case .connected:
            hear()
            // What was published in between did not reach us.
            behind = Array(positions.keys)
        case .event(let event):
            hear()
            if Event.isHeartbeat(event.topic) { takeHeartbeat(event) }
            if let position = event.position {
                takeLive(event, position)
            } else if matches(event.topic) {
                ready.append(.event(event))
            }
        }
    }

    private func lose() {
        if !isLost { ready.append(.notice(.lost)) }
        isLost = true
    }

    private func hear() {
        guard isLost else { return }
        isLost = false
        ready.append(.notice(.back))
        behind = Array(positions.keys)
        retryAt = .now
    }

    private func takeHeartbeat(_ event: Event) {
        let header = try? JSON.parse(event.header)
        let payload = try? JSON.parse(event.payload)
        if let milliseconds = (payload?["interval_ms"] ?? header?["interval_ms"])?.integer, milliseconds > 0 {
            heartbeat = .milliseconds(milliseconds)
        }
        guard let profile = EventStream.profile(of: event.topic),
            let head = (payload?["head"] ?? header?["head"])?.integer,
            let epoch = (payload?["epoch"] ?? header?["epoch"])?.text
        else { return }
        guard positions[profile] != nil else {
            positions[profile] = Position(cursor: head, epoch: epoch)
            return
        }
        adopt(epoch, of: profile)
        if let position = positions[profile], head > position.cursor { fallBehind(profile) }
    }

    private func takeLive(_ event: Event, _ header: EventHeader) {
        guard matches(event.topic) else { return }
        let profile = header.topic.profile
        // The first word of an account that became active: nothing of it was promised before.
        if positions[profile] == nil { positions[profile] = Position(cursor: header.seq - 1, epoch: header.epoch) }
        // The page to come holds it.
        if behind.contains(profile) { return }
        adopt(header.epoch, of: profile)
        guard var position = positions[profile], !position.has(event.topic, header.seq) else { return }
        if header.seq == position.cursor + 1 {
            position.cursor = header.seq
            position.given[event.topic] = nil
        } else if position.has(event.topic, header.prev) {
            position.given[event.topic] = header.seq
        } else {
            return fallBehind(profile)
        }
        positions[profile] = position
        ready.append(.event(event))
    }

    private func fallBehind(_ profile: Profile) {
        if !behind.contains(profile) { behind.append(profile) }
    }

    private func adopt(_ epoch: String, of profile: Profile) {
        guard let known = positions[profile]?.epoch, known != epoch else { return }
        positions[profile]?.epoch = epoch
        ready.append(.notice(.historyChanged(profile, epoch: epoch)))
    }

    private func matches(_ topic: String) -> Bool {
        // Heartbeats are for programs: they are given only where a prefix reaches into their last word.
        let least = Event.isHeartbeat(topic) ? topic.utf8.count - Event.heartbeat.utf8.count + 1 : 0
        return prefixes.contains { $0.utf8.count >= least && topic.utf8.starts(with: $0.utf8) }
    }

    private func read(_ profile: Profile, _ from: JSON) throws(ClientError) -> EventPage {
        let parameters = from.with("network", .string(profile.network)).with("account", .string(profile.account))
        let result = try commands.call("events.read", parameters.with("limit", 1000), timeout: .seconds(10))
        guard let page = EventPage(parsing: result) else {
            throw .unreadable(endpoint: commands.endpoint, method: "events.read")
        }
        return page
    }

    private func catchUp(_ profile: Profile) throws(ClientError) {
        guard let position = positions[profile] else { return behind.removeAll { $0 == profile } }
        var from: JSON = ["after": .integer(position.cursor)]
        if let epoch = position.epoch { from = from.with("epoch", .string(epoch)) }
        do throws(ClientError) {
            let page = try read(profile, from)
            isUnreadable = false
            take(page, of: profile)
            if page.next >= page.head { behind.removeAll { $0 == profile } }
        } catch {
            try recover(profile, position, error)
        }
    }

    private func take(_ page: EventPage, of profile: Profile) {
        guard var position = positions[profile] else { return }
        for event in page.events {
            guard let header = event.position, !position.has(event.topic, header.seq) else { continue }
            if matches(event.topic) { ready.append(.event(event)) }
        }
        position.cursor = max(position.cursor, page.next)
        position.given = position.given.filter { $0.value > position.cursor }
        position.epoch = page.epoch
        positions[profile] = position
    }

    private func recover(_ profile: Profile, _ position: Position, _ error: ClientError) throws(ClientError) {
        retryAt = .now + .milliseconds(500)
        switch error {
        case .noSupervisor, .lost, .unanswered: lose()
        case .tooLarge, .transport: throw error
        case .unreadable: fail(profile, error)
        case .refused(let refusal):
            let data = JSON.object(refusal.data)
            if refusal.code == .historyTruncated, let oldest = data["oldest"]?.integer, oldest > position.cursor + 1 {
                ready.append(.notice(.truncated(profile, from: position.cursor + 1, to: oldest - 1)))
                positions[profile]?.cursor = oldest - 1
                retryAt = .now
            } else if refusal.code == .historyChanged, let head = data["head"]?.integer,
                let epoch = data["epoch"]?.text, epoch != position.epoch || head < position.cursor
            {
                adopt(epoch, of: profile)
                positions[profile]?.cursor = min(position.cursor, head)
                retryAt = .now
            } else {
                fail(profile, error)
            }
        }
    }

    /// Says once that reading fails, until it succeeds again.
    private func fail(_ profile: Profile, _ error: ClientError) {
        if !isUnreadable { ready.append(.notice(.unreadable(profile, error))) }
        isUnreadable = true
    }
}
