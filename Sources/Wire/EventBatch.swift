/// Events on their way from the journal to PUB: committed together, published in order. The bytes of all of them stand in two buffers, so that
/// an event costs no allocation of its own.
public struct EventBatch: Sendable {
    /// One event, as ranges of the batch's buffers.
    public struct Event: Sendable {
        /// Frame 1, shared by all events of the topic.
        public let topic: [UInt8]
        /// Frame 2, in `headers`.
        public let header: Range<Int>
        /// Frame 3, in `payloads`.
        public let payload: Range<Int>

        /// An event of its parts.
        public init(topic: [UInt8], header: Range<Int>, payload: Range<Int>) {
            self.topic = topic
            self.header = header
            self.payload = payload
        }
    }

    /// Whose journal they are in.
    public let profile: Profile
    /// The epoch they belong to.
    public let epoch: String
    /// The journal's head once they are in: the seq of the last of them.
    public let head: Int64
    /// All headers.
    public let headers: [UInt8]
    /// All payloads.
    public let payloads: [UInt8]
    /// The events, in order.
    public let events: [Event]

    /// A batch of its parts.
    public init(profile: Profile, epoch: String, head: Int64, headers: [UInt8], payloads: [UInt8], events: [Event]) {
        self.profile = profile
        self.epoch = epoch
        self.head = head
        self.headers = headers
        self.payloads = payloads
        self.events = events
    }
}
