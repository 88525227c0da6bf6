import Wire

/// Gives events their place: seq, prev, topic, what is stored and what is published. Pure: a value that the journal copies, advances, writes down
/// in one transaction, and only then keeps, so that a transaction that fails leaves no trace.
struct Sequencer {
    let profile: Profile
    var epoch: String
    var head: Int64
    var ring: RingPosition
    var lastRun: Int64
    var openRun: Int64?
    var topics = TopicTable()

    /// One event with its place, ready to be stored and published.
    struct Placed {
        let seq: Int64
        let prev: Int64
        let topic: Int
        let run: Int64
        let timeMicroseconds: Int64
        /// What is stored, in `Placement.payloads`.
        let stored: Range<Int>
        /// What is published, in `Placement.payloads`; other than `stored` only for a payload over the limit.
        let published: Range<Int>
        let header: Range<Int>
    }

    /// An intake with every event in its place.
    struct Placement {
        var payloads: [UInt8]
        var headers: [UInt8] = []
        var events: [Placed] = []
    }

    /// A record that cannot be taken.
    struct Refusal: Error { let reason: String }

    /// Places every record that the ring position does not cover yet.
    mutating func place(_ intake: Intake) throws(Refusal) -> Placement {
        var placement = Placement(payloads: intake.bytes)
        placement.events.reserveCapacity(intake.records.count)
        placement.headers.reserveCapacity(intake.records.count * 256)
        for record in intake.records {
            switch record.origin {
            case .supervisor(let kind):
                guard (0...lastRun).contains(record.run) else {
                    throw Refusal(reason: "\(kind) is of run \(record.run), and the last run is \(lastRun)")
                }
                let topic = topics.place(profile, source: Topic.supervisor, kind: kind)
                add(record, topic, stored: record.range, to: &placement)
            case .native(let source, let n, let fullSize):
                // A run from nowhere would move the ring position past everything that is still to come.
                guard (1...max(1, lastRun)).contains(record.run), lastRun > 0, n > 0 else {
                    throw Refusal(reason: "record \(n) is of run \(record.run), and the last run is \(lastRun)")
                }
                let position = RingPosition(run: record.run, n: n)
                guard position > ring else { continue }
                ring = position
                placeNative(record, source, fullSize, intake.bytes, &placement)
            }
        }
        return placement
    }

    private mutating func placeNative(
        _ record: Intake.Record, _ source: String, _ fullSize: Int, _ bytes: [UInt8], _ placement: inout Placement
    ) {
        precondition(source != Topic.supervisor, "only we are the supervisor; the host link refuses such a host")
        bytes.withUnsafeBytes { all in
            let message = UnsafeRawBufferPointer(rebasing: all[record.range])
            var kind = TopicTable.malformed
            let replacement: [UInt8]
            if fullSize > message.count {
                kind = TopicTable.oversized
                replacement = Payload.oversized(size: fullSize, message)
            } else {
                switch topic(of: message, source) {
                case .success(let topic):
                    add(record, topic, stored: record.range, to: &placement)
                    return
                case .failure(let refusal): replacement = Payload.malformed(refusal.reason, message)
                }
            }
            let stored = placement.append(replacement)
            add(record, topics.place(profile, source: source, kind: kind), stored: stored, to: &placement)
        }
    }

    private mutating func topic(of message: UnsafeRawBufferPointer, _ source: String)
        -> Result<Int, TopicTable.Refusal>
    {
        switch EventClass.of(message) {
        case .kind(let kind): topics.nativePlace(profile, source: source, kind: kind)
        case .malformed(let reason): .failure(TopicTable.Refusal(reason: reason))
        }
    }

    private mutating func add(
        _ record: Intake.Record, _ topic: Int, stored: Range<Int>, to placement: inout Placement
    ) {
        let seq = head + 1
        let prev = topics.advance(topic, to: seq)
        head = seq
        let start = placement.headers.count
        topics.entries[topic].tail.write(
            epoch: epoch, seq: seq, prev: prev, timeMicroseconds: record.timeMicroseconds, run: record.run,
            to: &placement.headers)
        let published =
            stored.count > Payload.limit ? placement.append(Payload.omitted(size: stored.count)) : stored
        placement.events.append(
            Placed(
                seq: seq, prev: prev, topic: topic, run: record.run, timeMicroseconds: record.timeMicroseconds,
                stored: stored, published: published, header: start..<placement.headers.count))
    }
}

extension Sequencer.Placement {
    /// Adds a payload of ours behind those of the intake.
    fileprivate mutating func append(_ payload: [UInt8]) -> Range<Int> {
        let start = payloads.count
        payloads += payload
        return start..<payloads.count
    }
}
