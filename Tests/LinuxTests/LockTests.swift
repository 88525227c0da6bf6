import Linux
import Testing

@Test("a lock hands its value to one at a time")
func lockCounts() async {
    let counter = Lock(0)
    await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 { group.addTask { for _ in 0..<1000 { counter.withLock { $0 += 1 } } } }
    }
    #expect(counter.withLock { $0 } == 8000)
}
