import Wire

/// The topics of one account and the last seq of each. A value: the journal works on a copy and keeps it once the transaction is in.
struct TopicTable {
    /// What stays the same of a topic: frame 1 and most of frame 2.
    struct Entry {
        let topic: Topic
        let frame: [UInt8]
        let tail: HeaderTail

        init(_ topic: Topic) {
            self.topic = topic
            frame = Array(topic.description.utf8)
            tail = HeaderTail(topic)
        }
    }

    /// Most kinds a node may bring up in one account; lifecycle kinds and the two below do not count.
    static let nativeKindLimit = 1000
    /// Kinds that stand in for what cannot be published as it is; always allowed.
    static let malformed = "Malformed"
    static let oversized = "Oversized"

    /// By id: the first topic has id 1.
    private(set) var entries: [Entry] = []
    /// The last seq of each, in the same order; 0: none.
    private(set) var last: [Int64] = []
    private var index: [Key: Int] = [:]
    private var nativeKinds = 0

    private struct Key: Hashable {
        let source: String
        let kind: String

        /// By bytes: String's own equality takes two spellings of "é" for one, and topics do not.
        static func == (left: Key, right: Key) -> Bool {
            left.kind.utf8.elementsEqual(right.kind.utf8) && left.source.utf8.elementsEqual(right.source.utf8)
        }
    }

    /// The place of a topic that is known.
    func find(source: String, kind: String) -> Int? { index[Key(source: source, kind: kind)] }

    /// The place of a topic of ours or of one that stands in, made when it is new.
    mutating func place(_ profile: Profile, source: String, kind: String) -> Int {
        find(source: source, kind: kind) ?? add(Topic(profile: profile, source: source, kind: kind), last: 0)
    }

    /// The place of a native kind, made when it is new, or why it cannot have one.
    mutating func nativePlace(_ profile: Profile, source: String, kind: String) -> Result<Int, Refusal> {
        if let found = find(source: source, kind: kind) { return .success(found) }
        let topic = Topic(profile: profile, source: source, kind: kind)
        guard topic.fits else { return .failure(Refusal(reason: "its topic is over 255 bytes")) }
        guard nativeKinds < TopicTable.nativeKindLimit else {
            return .failure(Refusal(reason: "the account has \(TopicTable.nativeKindLimit) kinds already"))
        }
        return .success(add(topic, last: 0))
    }

    /// Why a kind has no topic.
    struct Refusal: Error { let reason: String }

    /// Adds a topic at the end.
    @discardableResult
    mutating func add(_ topic: Topic, last seq: Int64) -> Int {
        let place = entries.count
        entries.append(Entry(topic))
        last.append(seq)
        index[Key(source: topic.source, kind: topic.kind)] = place
        let standsIn = topic.kind == TopicTable.malformed || topic.kind == TopicTable.oversized
        if topic.source != Topic.supervisor && !standsIn { nativeKinds += 1 }
        return place
    }

    /// Makes `seq` the last of a topic; answers the one before.
    mutating func advance(_ place: Int, to seq: Int64) -> Int64 {
        let prev = last[place]
        precondition(seq > prev, "the sequence of a topic rises")
        last[place] = seq
        return prev
    }
}
