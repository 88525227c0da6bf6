/// The second frame of an event's message (design: version 1). Members stand in a fixed order, so that an event reads the same, byte for byte,
/// live and replayed.
public struct EventHeader: Sendable, Equatable {
    /// The history the sequence belongs to: 8 hex digits.
    public var epoch: String
    /// The event's place in its account's sequence, from 1.
    public var seq: Int64
    /// The seq of the last event on the same topic; 0: none.
    public var prev: Int64
    /// When it was said: microseconds since 1970, UTC.
    public var timeMicroseconds: Int64
    /// What it is about.
    public var topic: Topic
    /// The node's start, counted per account, that it belongs to.
    public var run: Int64

    /// A header of all its parts.
    public init(epoch: String, seq: Int64, prev: Int64, timeMicroseconds: Int64, topic: Topic, run: Int64) {
        self.epoch = epoch
        self.seq = seq
        self.prev = prev
        self.timeMicroseconds = timeMicroseconds
        self.topic = topic
        self.run = run
    }

    /// The JSON text.
    public var bytes: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(256)
        HeaderTail(topic).write(
            epoch: epoch, seq: seq, prev: prev, timeMicroseconds: timeMicroseconds, run: run, to: &out)
        return out
    }

    /// Reads a header that was received. Extra members are left alone, so that a later version's headers still read.
    public init?(parsing bytes: [UInt8]) {
        guard let json = try? JSON.parse(bytes), json["v"] == 1,
            let epoch = json["epoch"]?.text, let seq = json["seq"]?.integer, let prev = json["prev"]?.integer,
            let time = json["time"]?.text.flatMap(Timestamp.parse),
            let network = json["network"]?.text, let account = json["account"]?.text,
            let profile = Profile(network: network, account: account),
            let source = json["source"]?.text, Topic.isSource(source), let kind = json["kind"]?.text,
            let run = json["run"]?.integer
        else { return nil }
        self.init(
            epoch: epoch, seq: seq, prev: prev, timeMicroseconds: time,
            topic: Topic(profile: profile, source: source, kind: kind), run: run)
    }
}

/// The part of a header that is the same for every event of a topic, kept ready so that the hot path only writes numbers.
public struct HeaderTail: Sendable {
    private let names: [UInt8]

    /// The tail for a topic.
    public init(_ topic: Topic) {
        var out: [UInt8] = []
        out +=
            #","network":"\#(topic.profile.network)","account":"\#(topic.profile.account)","source":"\#(topic.source)","kind":"#
            .utf8
        JSON.writeString(topic.kind, to: &out)
        names = out
    }

    /// Appends a whole header.
    public func write(
        epoch: String, seq: Int64, prev: Int64, timeMicroseconds: Int64, run: Int64, to out: inout [UInt8]
    ) {
        out += #"{"v":1,"epoch":""#.utf8
        out += epoch.utf8
        out += #"","seq":"#.utf8
        HeaderTail.writeNumber(seq, to: &out)
        out += #","prev":"#.utf8
        HeaderTail.writeNumber(prev, to: &out)
        out += #","time":""#.utf8
        Timestamp.write(timeMicroseconds, to: &out)
        out.append(0x22)
        out += names
        out += #","run":"#.utf8
        HeaderTail.writeNumber(run, to: &out)
        out.append(0x7d)
    }

    private static func writeNumber(_ value: Int64, to out: inout [UInt8]) {
        var rest = UInt64(max(0, value))
        let start = out.count
        repeat {
            out.append(0x30 + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        out[start...].reverse()
    }
}

/// Wall time as text: `2026-11-30T01:02:03.123456Z` (RFC 3339, microseconds, UTC).
public enum Timestamp {
    /// The text of a time given in microseconds since 1970.
    public static func text(_ microseconds: Int64) -> String {
        var out: [UInt8] = []
        write(microseconds, to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    /// Appends the text. Years are clamped to 1970…9999.
    static func write(_ microseconds: Int64, to out: inout [UInt8]) {
        let clamped = min(max(0, microseconds), 253_402_300_799_999_999)
        let seconds = clamped / 1_000_000
        let (year, month, day) = date(daysSince1970: seconds / 86400)
        digits(year, 4, &out)
        out.append(0x2d)
        digits(month, 2, &out)
        out.append(0x2d)
        digits(day, 2, &out)
        out.append(0x54)
        digits(seconds / 3600 % 24, 2, &out)
        out.append(0x3a)
        digits(seconds / 60 % 60, 2, &out)
        out.append(0x3a)
        digits(seconds % 60, 2, &out)
        out.append(0x2e)
        digits(clamped % 1_000_000, 6, &out)
        out.append(0x5a)
    }

    /// Reads the text back; nil when it is not exactly of that form.
    public static func parse(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 27, bytes[4] == 0x2d, bytes[7] == 0x2d, bytes[10] == 0x54, bytes[13] == 0x3a,
            bytes[16] == 0x3a, bytes[19] == 0x2e, bytes[26] == 0x5a
        else { return nil }
        func number(_ range: Range<Int>) -> Int64? { Int64(String(decoding: bytes[range], as: UTF8.self)) }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19), let fraction = number(20..<26)
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        let micros = ((days * 24 + hour) * 60 + minute) * 60 + second
        let value = micros * 1_000_000 + fraction
        return Timestamp.text(value) == text ? value : nil
    }

    // Days to date and back in the proleptic Gregorian calendar, by eras of 400 years (H. Hinnant, "chrono-Compatible Low-Level Date
    // Algorithms"): Foundation's calendar would cost more than the rest of an event together.
    private static func date(daysSince1970 days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func digits(_ value: Int64, _ count: Int, _ out: inout [UInt8]) {
        let start = out.count
        var rest = value
        for _ in 0..<count {
            out.append(0x30 + UInt8(rest % 10))
            rest /= 10
        }
        out[start...].reverse()
    }
}
