/// What a ring that is of no use any more holds beyond its tail. The pages of one from an earlier start of the machine came to the disk each in
/// its own time, if at all, so nothing of it can be trusted to be what a node said; but where its records still make sense, they tell whether the
/// journal lacks any.
public struct RingRest: Sendable, Equatable {
    /// The place of one record.
    public struct Place: Sendable, Equatable {
        /// The node's start it belongs to.
        public let run: Int64
        /// Its number within that run, from 1.
        public let n: Int64
    }

    /// The records in order; nil when they make no sense.
    public let records: [Place]?
    /// Where the file is kept that is no ring, or whose head was overwritten; nil: it was a ring.
    public let keptAt: String?

    init(keptAt path: String) {
        records = nil
        keptAt = path
    }

    init(of ring: borrowing RingFile) {
        keptAt = nil
        let head = ring.head.load()
        var position = ring.tail.load()
        var records: [Place] = []
        while position != head {
            var header = RingRecordHeader(length: 0, mark: 0, run: 0, n: 0, fullSize: 0, timeMicroseconds: 0)
            withUnsafeMutableBytes(of: &header) { ring.copyOut($0, from: position) }
            let space = RingRecordHeader.space(Int(header.length))
            guard head &- position <= UInt64(RingFile.capacity), header.mark == RingRecordHeader.mark,
                space <= head &- position
            else {
                self.records = nil
                return
            }
            records.append(Place(run: header.run, n: header.n))
            position &+= space
        }
        self.records = records
    }
}
