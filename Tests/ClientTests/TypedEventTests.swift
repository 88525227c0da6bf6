import NodeBusClient
import Testing
import Wire

@Suite struct TypedEvents {
    private func event(_ source: String, _ payload: String) throws -> Event {
        let topic = Topic(profile: try #require(Profile("dev/demo")), source: source, kind: "PeerConnected")
        let header = EventHeader(epoch: "5f0c2a9e", seq: 1, prev: 0, timeMicroseconds: 1, topic: topic, run: 1)
        return Event(topic: topic.description, header: header.bytes, payload: Array(payload.utf8))
    }

    @Test("what a Fiber node says comes typed, known or not")
    func typed() throws {
        var connected = FiberEvent.PeerConnected()
        connected.address = "/ip4/127.0.0.1/tcp/1"
        let known = #"{"kind":"PeerConnected","addr":"/ip4/127.0.0.1/tcp/1"}"#
        #expect(try event("fiber", known).fiber == .peerConnected(connected))
        let later: JSON = ["kind": "Moonrise", "phase": 3]
        #expect(try event("fiber", later.encoded).fiber == .unknown(kind: "Moonrise", payload: later))
    }

    @Test("what another source says does not, nor what was left out for its size")
    func untyped() throws {
        #expect(try event("any", #"{"kind":"PeerConnected"}"#).fiber == nil)
        #expect(try event("supervisor", #"{"kind":"PeerConnected"}"#).fiber == nil)
        #expect(try event("fiber", #"{"omitted":true,"size":2000000}"#).fiber == nil)
        #expect(Event(topic: "bus/Heartbeat", header: Array("{}".utf8), payload: Array("{}".utf8)).fiber == nil)
    }
}
