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
/// `{"emit":{"count":N,"per_second":N,"bytes":N,"kind":"..."}}`, `{"fault":{"call":"...","nth":N,"do":"..."}}`,
/// `{"counters":{}}`, `{"peers":{}}`.
typedef int32_t (*fiber_sim_control_fn)(const char *request_json, char **out_json);

#ifdef __cplusplus
}
#endif
#endif
