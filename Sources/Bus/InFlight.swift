import Linux
import Wire

/// The requests that wait for their reply, with their deadlines in a binary heap. Those answered in time leave their
/// place in the heap behind, and it is made anew when more than half of it is such places: no step costs more than a
/// logarithm on average.
struct InFlight {
    private struct Due {
        let deadline: Instant
        let number: UInt64
    }

    private let settings: BusSettings
    private var requests: [UInt64: PendingRequest] = [:]
    private var counts: [ClientIdentity: Int] = [:]
    private var bytes = 0
    private var heap: [Due] = []

    init(_ settings: BusSettings) { self.settings = settings }

    var count: Int { requests.count }
    /// Places in the heap, of those in here and of some that were answered.
    var heapCount: Int { heap.count }
    var all: [PendingRequest] { requests.values.sorted { $0.number < $1.number } }

    /// When the first deadline passes, or a little earlier.
    var nextDeadline: Instant? { heap.first?.deadline }

    /// Why a request of this client cannot be taken; nil when it can.
    func refusal(_ client: ClientIdentity, size: Int) -> BusError? {
        let own = counts[client] ?? 0
        if own >= settings.maxInFlightPerClient {
            return BusError(
                .overloaded, "\(own) of your requests are not answered yet; wait for replies", ["limit": "client"])
        }
        if requests.count >= settings.maxInFlight || bytes + size > settings.maxInFlightBytes {
            return BusError(
                .overloaded, "\(requests.count) requests of \(bytes) bytes are not answered yet; retry later",
                ["limit": "all"])
        }
        return nil
    }

    mutating func insert(_ request: PendingRequest) {
        requests[request.number] = request
        counts[request.client, default: 0] += 1
        bytes += request.size
        heap.append(Due(deadline: request.deadline, number: request.number))
        siftUp(heap.count - 1)
    }

    mutating func remove(_ number: UInt64) -> PendingRequest? {
        guard let request = requests.removeValue(forKey: number) else { return nil }
        bytes -= request.size
        let left = (counts[request.client] ?? 1) - 1
        counts[request.client] = left > 0 ? left : nil
        if heap.count > 64 && heap.count > 2 * requests.count { rebuild() }
        return request
    }

    /// The requests whose deadline has passed, still in here.
    mutating func takeDue(_ now: Instant) -> [PendingRequest] {
        var due: [PendingRequest] = []
        while let first = heap.first, first.deadline <= now {
            if let request = requests[first.number] { due.append(request) }
            let last = heap.removeLast()
            if !heap.isEmpty {
                heap[0] = last
                siftDown(0)
            }
        }
        return due
    }

    private mutating func rebuild() {
        heap = requests.values.map { Due(deadline: $0.deadline, number: $0.number) }
        // A list in order is a heap.
        heap.sort { $0.deadline < $1.deadline }
    }

    private mutating func siftUp(_ start: Int) {
        var at = start
        while at > 0, heap[at].deadline < heap[(at - 1) / 2].deadline {
            heap.swapAt(at, (at - 1) / 2)
            at = (at - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var at = start
        while true {
            var least = at
            for child in [2 * at + 1, 2 * at + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline { least = child }
            if least == at { return }
            heap.swapAt(at, least)
            at = least
        }
    }
}
