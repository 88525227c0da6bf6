import Testing
import Wire

@Test(
    "a request is read whole",
    arguments: [
        #"{"jsonrpc":"2.0","id":1,"method":"bus.ping"}"#,
        #"{"jsonrpc":"2.0","id":-5,"method":"bus.ping","params":{}}"#,
        #" {"method":"bus.ping","id":"abc","jsonrpc":"2.0","params":{"a":[1]},"timeout_ms":5} "#,
    ])
func goodRequest(text: String) throws {
    let request = try RPCRequest.decode(Array(text.utf8))
    #expect(request.method == "bus.ping")
    #expect(try RPCRequest.decode(request.bytes) == request)
}

@Test(
    "a bad request is refused under the id it has",
    arguments: [
        ("", -32700, "null"), ("{", -32700, "null"), (#"{"id":1,"id":2}"#, -32700, "null"),
        (
            #"{"jsonrpc":"2.0","id":1,"method":"a.b","params":"# + String(repeating: "[", count: 70) + "}", -32700,
            "null"
        ),
        ("[]", -32600, "null"), ("1", -32600, "null"), ("{}", -32600, "null"),
        (#"{"jsonrpc":"2.0","method":"a.b"}"#, -32600, "null"),
        (#"{"jsonrpc":"2.0","id":null,"method":"a.b"}"#, -32600, "null"),
        (#"{"jsonrpc":"2.0","id":1.5,"method":"a.b"}"#, -32600, "null"),
        (#"{"jsonrpc":"1.0","id":7,"method":"a.b"}"#, -32600, "7"), (#"{"jsonrpc":"2.0","id":"x"}"#, -32600, "\"x\""),
        (#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, "7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"a.b","params":[]}"#, -32602, "7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"a.b","params":null}"#, -32602, "7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"a.b","extra":1}"#, -32600, "7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"a.b","timeout_ms":0}"#, -32600, "7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"a.b","timeout_ms":3600001}"#, -32600, "7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"a.b","idempotency_key":"k"}"#, -32600, "7"),
        (#"{"jsonrpc":"2.0","id":""# + String(repeating: "x", count: 65) + #"","method":"a.b"}"#, -32600, "null"),
    ])
func badRequest(text: String, code: Int, id: String) {
    #expect {
        try RPCRequest.decode(Array(text.utf8))
    } throws: { error in
        guard let refusal = error as? RPCRequest.Refusal else { return false }
        return refusal.error.code.rawValue == code && refusal.id.encoded == id
    }
}

@Test("every error carries its name and whether to try again", arguments: BusError.Code.allCases)
func errorData(code: BusError.Code) {
    let error = BusError(code, "what happened", ["path": "x"])
    #expect(error.json["data"]?["name"]?.text == code.name)
    #expect(error.json["data"]?["retryable"]?.bool == code.isRetryable)
    #expect(BusError(parsing: error.json) == error)
}

@Test("a timeout may be tried again only when nothing was begun") func timeouts() {
    #expect(BusError(.timeout, "", ["outcome": "not_started"]).isRetryable)
    #expect(!BusError(.timeout, "", ["outcome": "unknown"]).isRetryable)
}
