import Accounts
import Bus
import Glibc
import Journal
import Linux
import Wire

/// The reading thread: answers `events.read`, long polls included, on connections of its own, so that no reader holds up the journal, the bus
/// or a command.
final class EventReader: Sendable {
    /// Where an account's files stand.
    typealias Locate = @Sendable (Profile) -> Prefix

    private struct Inbox: Sendable {
        var requests: [PendingRequest] = []
        var isStopping = false
        var shut: Set<Profile> = []
        /// Whoever waits until what was shut last is closed.
        var shutting: [Shutting] = []
    }

    /// Raised once an account's journal is closed here.
    private final class Shutting: Sendable {
        let isDone: Flag
        init() throws(SystemError) { isDone = try Flag() }
    }

    private let inbox = Lock(Inbox())
    private let wake: WakeDescriptor
    private let finished: Flag

    /// Starts the thread. `active` tells the profile that is meant when a request names none.
    init(active: @escaping @Sendable () -> Profile?, locate: @escaping Locate) throws(SystemError) {
        wake = try WakeDescriptor()
        finished = try Flag()
        try startThread("reader") { [self] in
            ReaderLoop(owner: self, active: active, locate: locate).run()
            finished.raise()
        }
    }

    /// Hands over a request. Never waits.
    func put(_ request: PendingRequest) {
        inbox.withLock { $0.requests.append(request) }
        wake.wake()
    }

    /// Says that a journal has grown: long polls look again.
    func journalGrew() { wake.wake() }

    /// Closes the journal of an account, whose reads find none from here on; false when a read held it until the deadline, and nothing has
    /// changed.
    func shut(_ profile: Profile, by deadline: Instant) -> Bool {
        guard let shutting = try? Shutting() else { return false }
        inbox.withLock { inbox in
            inbox.shut.insert(profile)
            inbox.shutting.append(shutting)
        }
        wake.wake()
        if shutting.isDone.wait(until: deadline) { return true }
        open(profile)
        return false
    }

    /// Lets the journal of an account be read again.
    func open(_ profile: Profile) { inbox.withLock { _ = $0.shut.remove(profile) } }

    /// Ends the thread; waiting long polls are answered `shutting_down`.
    func stop(by deadline: Instant) {
        inbox.withLock { $0.isStopping = true }
        wake.wake()
        _ = finished.wait(until: deadline)
    }

    private final class ReaderLoop {
        private struct Waiting {
            let request: PendingRequest
            let profile: Profile
            var query: JournalReader.Query
            let until: Instant
            /// How long the active account's first start may take to make its journal.
            let patience = Instant.now + .seconds(5)
            /// When to look again at the latest.
            var next: Instant
            /// How far it has looked, once it has.
            var position: Int64 = 0
            var hasLooked = false
        }

        private let owner: EventReader
        private let active: @Sendable () -> Profile?
        private let locate: Locate
        private var readers: [Profile: JournalReader] = [:]
        private var shut: Set<Profile> = []
        private var waiting: [Waiting] = []

        init(owner: EventReader, active: @escaping @Sendable () -> Profile?, locate: @escaping Locate) {
            self.owner = owner
            self.active = active
            self.locate = locate
        }

        func run() {
            while true {
                owner.wake.clear()
                let work = owner.inbox.withLock { inbox in
                    defer {
                        inbox.requests = []
                        inbox.shutting = []
                    }
                    return inbox
                }
                shut = work.shut
                for profile in shut { readers[profile] = nil }
                for waiting in work.shutting { waiting.isDone.raise() }
                if work.isStopping {
                    let refusal = RPCReply.failure(BusError(.shuttingDown, "the supervisor is going down"))
                    for request in work.requests + waiting.map(\.request) { request.answer(refusal) }
                    return
                }
                for request in work.requests where request.claim() { take(request) }
                var still: [Waiting] = []
                for var entry in waiting where !answer(&entry) { still.append(entry) }
                waiting = still
                sleep()
            }
        }

        private func sleep() {
            var entry = pollfd(fd: owner.wake.raw, events: Int16(POLLIN), revents: 0)
            let next = waiting.map { $0.next.millisecondsFromNow() }.min()
            poll(&entry, 1, next ?? 60_000)
        }

        private func take(_ request: PendingRequest) {
            do throws(BusError) {
                let profile = try profile(request.parameters)
                let query = try EventReader.query(request.parameters)
                let wait = Duration.milliseconds(request.parameters["wait_ms"]?.integer ?? 0)
                let until = Instant.now + wait
                waiting.append(Waiting(request: request, profile: profile, query: query, until: until, next: until))
            } catch {
                request.answer(.failure(error))
            }
        }

        private func profile(_ parameters: JSON) throws(BusError) -> Profile {
            let current = active()
            guard let network = parameters["network"]?.text ?? current?.network,
                let account = parameters["account"]?.text ?? current?.account
            else { throw BusError(.notFound, "no account is active yet; name network and account") }
            guard Profile.isName(network) else { throw .parameter("network", "must be \(Profile.nameRule)") }
            guard Profile.isName(account), let profile = Profile(network: network, account: account) else {
                throw .parameter("account", "must be \(Profile.nameRule)")
            }
            return profile
        }

        /// Answers when there is an event, or when the wait is over; true once answered. Otherwise `entry` goes on from where it looked.
        private func answer(_ entry: inout Waiting) -> Bool {
            do throws(BusError) {
                let reader = try reader(entry.profile)
                entry.next = entry.until
                if entry.hasLooked, Instant.now < entry.until, try reader.head() == entry.position { return false }
                while true {
                    let page = try reader.page(entry.query)
                    let isOver = Instant.now >= entry.until
                    guard page.isEmpty && !isOver else {
                        entry.request.answer(.verbatim(page.json))
                        return true
                    }
                    // `now` and `oldest` become the position they meant; a page that looked at only some of the rows goes on at once.
                    entry.query.position = .after(page.next, epoch: nil)
                    entry.hasLooked = true
                    entry.position = page.next
                    if page.isLast { return false }
                }
            } catch {
                if error.code == .notFound, entry.profile == active(), Instant.now < entry.patience {
                    // It is told of the first event in it; this is for a start that never comes so far.
                    entry.next = entry.patience
                    return false
                }
                entry.request.answer(.failure(error))
                return true
            }
        }

        private func reader(_ profile: Profile) throws(BusError) -> JournalReader {
            guard !shut.contains(profile) else { throw absent(profile) }
            if let reader = readers[profile], !reader.isOutdated { return reader }
            readers[profile] = nil
            let prefix = locate(profile)
            do {
                try prefix.check()
            } catch {
                throw error.code == .missing ? absent(profile) : BusError(.storage, error.description)
            }
            do {
                let reader = try JournalReader(path: prefix.journal, profile: profile)
                readers[profile] = reader
                return reader
            } catch {
                throw error.code == .missing ? absent(profile) : BusError(.storage, error.description)
            }
        }

        private func absent(_ profile: Profile) -> BusError {
            BusError(.notFound, "there is no account \(profile) with a journal; account.list tells which there are")
        }
    }

    /// The query that checked parameters ask for.
    static func query(_ parameters: JSON) throws(BusError) -> JournalReader.Query {
        let after = parameters["after"]?.integer
        let from = parameters["from"]?.text
        if after != nil && from != nil { throw .parameter("from", "cannot stand beside after: give one of them") }
        let epoch = parameters["epoch"]?.text
        if epoch != nil && after == nil { throw .parameter("epoch", "belongs to after, which is missing") }
        let position: JournalReader.Position
        switch (after, from) {
        case (let seq?, _): position = .after(seq, epoch: epoch)
        case (nil, "oldest"): position = .oldest
        case (nil, "now"): position = .now
        default: throw .parameter("after", "is required: a seq, or from: \"oldest\" or \"now\" instead")
        }
        let kinds = parameters["kinds"]?.elements?.compactMap(\.text)
        return JournalReader.Query(
            position, limit: Int(parameters["limit"]?.integer ?? 1000), kinds: kinds.map { Set($0) })
    }
}
