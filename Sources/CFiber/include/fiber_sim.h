// What libfiber_sim exports beyond the C ABI of fiber_ffi.h. No other library has it: a host that finds the symbol runs
// a simulated node.
#ifndef NODEBUS_FIBER_SIM_H
#define NODEBUS_FIBER_SIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// `fiber_sim_control`: one command to the simulator, JSON in and JSON out. It takes no handle and may be called before
/// fiber_start. Returns a FiberFfiStatus and sets the last error like every call of the ABI; *out_json is freed with
/// fiber_string_free.
///
/// - `{"emit":{"count":N,"per_second":N,"bytes":N,"kind":"..."}}`: N events with `kind` and a running `number` through
///   the callback, from now on. `per_second` 0 is as fast as it can.
/// - `{"fault":{"call":"fiber_...","nth":N,"do":"...","when":"before"}}`: the nth call from now does hang, abort, segv,
///   exit, slow:DURATION, status:N or dead-actor. With `when` "after" its work is done and only the answer is missing.
///   `call` "event" does hang, abort, segv, exit, slow:DURATION, not-json, no-kind, bad-utf8, huge, ten-threads or
///   after-stop.
/// - `{"chain":{"behind":N,"advance_seconds":N,"fault":"..."}}`: the indexer falls N blocks behind; the chain's time
///   moves forward; `fault` is none, tip-rpc, no-indexer, indexer-rpc or stale. Answers the two heights.
/// - `{"counters":{}}`: events offered and returned and their hash (kept in `<database_prefix>/sim-counters`, see
///   Counters.swift), live strings, calls by name, payment sessions begun.
/// - `{"peers":{}}`: the peers inside the library.
/// - `{"invoice":{"peer":"bob","amount":N}}`: an invoice of a peer over N shannons, so that there is something to pay.
/// - `{"open":{"peer":"bob","amount":N,"public":true}}`: a peer asks for a channel in which it puts N shannons; the
///   answer is the temporary id.
/// - `{"pay":{"peer":"bob","invoice":"fibt...","amount":N}}`: a peer pays an invoice of this node, or N shannons without
///   one; the answer is the payment hash.
/// - `{"hash":{"preimage":"0x..."}}`: the payment hash that this preimage has in the simulation, for hold invoices.
typedef int32_t (*fiber_sim_control_fn)(const char *request_json, char **out_json);

#ifdef __cplusplus
}
#endif
#endif
