// The C ABI of libfiber_ffi, the embedded Nervos Fiber node: structs, constants and the type of every function.
//
// There are no prototypes. The host loads the library by path, looks each symbol up and casts it to `<function>_fn`, so
// that a library of an earlier generation (fiber_ckb_* and fiber_prepare_ckb* came last) loads too, and nothing here
// has to be linked.
//
// Layout is that of x86_64 and arm64 LP64. Tests/FiberABITests holds every size, offset, constant and signature against
// a description of the ABI that was made from the upstream header.
#ifndef NODEBUS_FIBER_FFI_H
#define NODEBUS_FIBER_FFI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A running node. Created by fiber_start, borrowed by every call, consumed by fiber_stop.
typedef struct FiberHandle FiberHandle;

/// What a call came to. The text is in fiber_last_error_message, on the same thread.
typedef enum FiberFfiStatus {
    /// The call is done (prepare: accepted; connect: dial queued; payment: session created).
    FIBER_FFI_STATUS_OK = 0,
    /// A required pointer is NULL.
    FIBER_FFI_STATUS_NULL_POINTER = 1,
    /// A bad argument, or any failure that the running node reports.
    FIBER_FFI_STATUS_INVALID_ARGUMENT = 2,
    /// fiber_start failed after its argument checks.
    FIBER_FFI_STATUS_STARTUP_FAILED = 3,
    /// Defined, but not reachable through the C ABI: fiber_stop frees the handle whatever it returns.
    FIBER_FFI_STATUS_ALREADY_STOPPED = 4,
    /// A Rust panic was caught on the calling thread, or the runtime thread panicked.
    FIBER_FFI_STATUS_PANIC = 5,
    /// fiber_open_channel only: the CKB backend is not ready.
    FIBER_FFI_STATUS_NOT_READY = 6,
} FiberFfiStatus;

/// The currency of an invoice; it has to follow the chain of the node. 0 is always Fibd, not "the chain's".
typedef int32_t FiberInvoiceCurrency;
static const FiberInvoiceCurrency FIBER_INVOICE_CURRENCY_DEFAULT = 0;
static const FiberInvoiceCurrency FIBER_INVOICE_CURRENCY_FIBB = 1;
static const FiberInvoiceCurrency FIBER_INVOICE_CURRENCY_FIBT = 2;
static const FiberInvoiceCurrency FIBER_INVOICE_CURRENCY_FIBD = 3;

/// How a preimage becomes a payment hash. 0 leaves it to the node (ckb_hash).
typedef int32_t FiberHashAlgorithm;
static const FiberHashAlgorithm FIBER_HASH_ALGORITHM_DEFAULT = 0;
static const FiberHashAlgorithm FIBER_HASH_ALGORITHM_CKB_HASH = 1;
static const FiberHashAlgorithm FIBER_HASH_ALGORITHM_SHA256 = 2;

/// Which payments fiber_list_payments answers.
typedef int32_t FiberPaymentStatusFilter;
static const FiberPaymentStatusFilter FIBER_PAYMENT_STATUS_FILTER_ALL = 0;
static const FiberPaymentStatusFilter FIBER_PAYMENT_STATUS_FILTER_CREATED = 1;
static const FiberPaymentStatusFilter FIBER_PAYMENT_STATUS_FILTER_INFLIGHT = 2;
static const FiberPaymentStatusFilter FIBER_PAYMENT_STATUS_FILTER_SUCCESS = 3;
static const FiberPaymentStatusFilter FIBER_PAYMENT_STATUS_FILTER_FAILED = 4;

/// Called for every event, one at a time, on a thread of the library. `event_json` is valid only inside the callback,
/// which copies and returns: no call that takes a handle, and never fiber_stop, may be made from it.
typedef void (*fiber_event_callback)(const char *event_json, void *user_data);

/// Called with the progress of a preparation, never on the calling thread. `result_json` is valid only inside the
/// callback; `user_data` has to live until the terminal call (`ready` or `failed`) has returned.
typedef void (*fiber_ckb_prepare_callback)(FiberFfiStatus status, const char *result_json, void *user_data);

/// An amount: low and high half of an unsigned 128-bit integer.
typedef struct FiberU128 {
    uint64_t low;
    uint64_t high;
} FiberU128;

/// Options of fiber_start, fiber_prepare_ckb* and fiber_ckb_funding_address. `database_prefix` NULL means the directory
/// of the config file.
typedef struct FiberStartOptions {
    const char *config_path;
    const char *database_prefix;
    const char *log_level;
    fiber_event_callback event_callback;
    void *event_callback_user_data;
} FiberStartOptions;

/// Options of fiber_connect_peer: exactly one of `address` and `pubkey`. `addr_type` (NULL, tcp, ws, wss) goes with
/// `pubkey`, `save` with `address`.
typedef struct FiberConnectPeerOptions {
    const char *address;
    const char *pubkey;
    const char *addr_type;
    int save;
} FiberConnectPeerOptions;

/// Options of fiber_ckb_discover_history_start_block. `struct_size` is sizeof, `flags` 0; a value counts only when its
/// `has_` flag is not 0.
typedef struct FiberCkbDiscoverHistoryStartBlockOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *rpc_url;
    const char *lock_args;
    const char *pubkey;
    const char *address;
    uint64_t safety_blocks;
    int has_safety_blocks;
    uint64_t max_indexer_lag;
    int has_max_indexer_lag;
} FiberCkbDiscoverHistoryStartBlockOptions;

/// Options of fiber_open_channel. `struct_size` is sizeof, `flags` 0; a value counts only when its `has_` flag is not
/// 0.
typedef struct FiberOpenChannelOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *pubkey;
    FiberU128 funding_amount;
    int has_public;
    int public_;
    int has_one_way;
    int one_way;
    const char *funding_udt_type_script_json;
    const char *shutdown_script_json;
    uint64_t commitment_delay_epoch;
    int has_commitment_delay_epoch;
    uint64_t commitment_fee_rate;
    int has_commitment_fee_rate;
    uint64_t funding_fee_rate;
    int has_funding_fee_rate;
    uint64_t tlc_expiry_delta;
    int has_tlc_expiry_delta;
    FiberU128 tlc_min_value;
    int has_tlc_min_value;
    FiberU128 tlc_fee_proportional_millionths;
    int has_tlc_fee_proportional_millionths;
    FiberU128 max_tlc_value_in_flight;
    int has_max_tlc_value_in_flight;
    uint64_t max_tlc_number_in_flight;
    int has_max_tlc_number_in_flight;
} FiberOpenChannelOptions;

/// Options of fiber_accept_channel. `struct_size` is sizeof, `flags` 0; a value counts only when its `has_` flag is not
/// 0.
typedef struct FiberAcceptChannelOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *temporary_channel_id;
    FiberU128 funding_amount;
    const char *shutdown_script_json;
    FiberU128 max_tlc_value_in_flight;
    int has_max_tlc_value_in_flight;
    uint64_t max_tlc_number_in_flight;
    int has_max_tlc_number_in_flight;
    FiberU128 tlc_min_value;
    int has_tlc_min_value;
    FiberU128 tlc_fee_proportional_millionths;
    int has_tlc_fee_proportional_millionths;
    uint64_t tlc_expiry_delta;
    int has_tlc_expiry_delta;
} FiberAcceptChannelOptions;

/// Options of fiber_open_channel_with_external_funding. `struct_size` is sizeof, `flags` 0; a value counts only when
/// its `has_` flag is not 0.
typedef struct FiberOpenChannelWithExternalFundingOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *pubkey;
    FiberU128 funding_amount;
    int has_public;
    int public_;
    const char *funding_udt_type_script_json;
    const char *shutdown_script_json;
    const char *funding_lock_script_json;
    const char *funding_lock_script_cell_deps_json;
    uint64_t commitment_delay_epoch;
    int has_commitment_delay_epoch;
    uint64_t commitment_fee_rate;
    int has_commitment_fee_rate;
    uint64_t funding_fee_rate;
    int has_funding_fee_rate;
    uint64_t tlc_expiry_delta;
    int has_tlc_expiry_delta;
    FiberU128 tlc_min_value;
    int has_tlc_min_value;
    FiberU128 tlc_fee_proportional_millionths;
    int has_tlc_fee_proportional_millionths;
    FiberU128 max_tlc_value_in_flight;
    int has_max_tlc_value_in_flight;
    uint64_t max_tlc_number_in_flight;
    int has_max_tlc_number_in_flight;
} FiberOpenChannelWithExternalFundingOptions;

/// Options of fiber_submit_signed_funding_tx. `struct_size` is sizeof, `flags` 0.
typedef struct FiberSubmitSignedFundingTxOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *channel_id;
    const char *signed_funding_tx_json;
} FiberSubmitSignedFundingTxOptions;

/// Options of fiber_list_channels. `struct_size` is sizeof, `flags` 0; a value counts only when its `has_` flag is not
/// 0.
typedef struct FiberListChannelsOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *pubkey;
    int has_include_closed;
    int include_closed;
    int has_only_pending;
    int only_pending;
} FiberListChannelsOptions;

/// Options of fiber_shutdown_channel. `struct_size` is sizeof, `flags` 0; a value counts only when its `has_` flag is
/// not 0.
typedef struct FiberShutdownChannelOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *channel_id;
    const char *close_script_json;
    uint64_t fee_rate;
    int has_fee_rate;
    int has_force;
    int force;
} FiberShutdownChannelOptions;

/// Options of fiber_update_channel. `struct_size` is sizeof, `flags` 0; a value counts only when its `has_` flag is not
/// 0.
typedef struct FiberUpdateChannelOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *channel_id;
    int has_enabled;
    int enabled;
    uint64_t tlc_expiry_delta;
    int has_tlc_expiry_delta;
    FiberU128 tlc_minimum_value;
    int has_tlc_minimum_value;
    FiberU128 tlc_fee_proportional_millionths;
    int has_tlc_fee_proportional_millionths;
} FiberUpdateChannelOptions;

/// Options of fiber_send_payment. `struct_size` is sizeof, `flags` 0; a value counts only when its `has_` flag is not
/// 0.
typedef struct FiberSendPaymentOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *target_pubkey;
    FiberU128 amount;
    int has_amount;
    const char *payment_hash;
    uint64_t final_tlc_expiry_delta;
    int has_final_tlc_expiry_delta;
    uint64_t tlc_expiry_limit;
    int has_tlc_expiry_limit;
    const char *invoice;
    uint64_t timeout;
    int has_timeout;
    FiberU128 max_fee_amount;
    int has_max_fee_amount;
    uint64_t max_fee_rate;
    int has_max_fee_rate;
    uint64_t max_parts;
    int has_max_parts;
    const char *trampoline_hops_json;
    int has_keysend;
    int keysend;
    const char *udt_type_script_json;
    int has_allow_self_payment;
    int allow_self_payment;
    const char *custom_records_json;
    const char *hop_hints_json;
    int has_dry_run;
    int dry_run;
} FiberSendPaymentOptions;

/// Options of fiber_build_router. `struct_size` is sizeof, `flags` 0; a value counts only when its `has_` flag is not
/// 0.
typedef struct FiberBuildRouterOptions {
    uint32_t struct_size;
    uint32_t flags;
    FiberU128 amount;
    int has_amount;
    const char *udt_type_script_json;
    const char *hops_info_json;
    uint64_t final_tlc_expiry_delta;
    int has_final_tlc_expiry_delta;
} FiberBuildRouterOptions;

/// Options of fiber_send_payment_with_router. `struct_size` is sizeof, `flags` 0; a value counts only when its `has_`
/// flag is not 0.
typedef struct FiberSendPaymentWithRouterOptions {
    uint32_t struct_size;
    uint32_t flags;
    const char *payment_hash;
    const char *router_json;
    const char *invoice;
    const char *custom_records_json;
    int has_keysend;
    int keysend;
    const char *udt_type_script_json;
    int has_dry_run;
    int dry_run;
} FiberSendPaymentWithRouterOptions;

/// Options of fiber_list_payments. `struct_size` is sizeof, `flags` 0.
typedef struct FiberListPaymentsOptions {
    uint32_t struct_size;
    uint32_t flags;
    FiberPaymentStatusFilter status;
    uint64_t limit;
    int has_limit;
    const char *after;
} FiberListPaymentsOptions;

/// Options of fiber_new_invoice. `struct_size` is sizeof, `flags` 0; a value counts only when its `has_` flag is not 0.
typedef struct FiberNewInvoiceOptions {
    uint32_t struct_size;
    uint32_t flags;
    FiberU128 amount;
    const char *description;
    FiberInvoiceCurrency currency;
    const char *payment_preimage;
    const char *payment_hash;
    uint64_t expiry;
    int has_expiry;
    const char *fallback_address;
    uint64_t final_expiry_delta;
    int has_final_expiry_delta;
    const char *udt_type_script_json;
    FiberHashAlgorithm hash_algorithm;
    int has_allow_mpp;
    int allow_mpp;
    int has_allow_trampoline_routing;
    int allow_trampoline_routing;
} FiberNewInvoiceOptions;

// Initialisers for C: struct_size set, everything else zero. (Swift: the zeroed struct, then struct_size =
// MemoryLayout<T>.size.)
#define FIBER_OPEN_CHANNEL_OPTIONS_INIT {.struct_size = sizeof(FiberOpenChannelOptions)}
#define FIBER_CKB_DISCOVER_HISTORY_START_BLOCK_OPTIONS_INIT \
    {.struct_size = sizeof(FiberCkbDiscoverHistoryStartBlockOptions)}
#define FIBER_ACCEPT_CHANNEL_OPTIONS_INIT {.struct_size = sizeof(FiberAcceptChannelOptions)}
#define FIBER_OPEN_CHANNEL_WITH_EXTERNAL_FUNDING_OPTIONS_INIT \
    {.struct_size = sizeof(FiberOpenChannelWithExternalFundingOptions)}
#define FIBER_SUBMIT_SIGNED_FUNDING_TX_OPTIONS_INIT {.struct_size = sizeof(FiberSubmitSignedFundingTxOptions)}
#define FIBER_LIST_CHANNELS_OPTIONS_INIT {.struct_size = sizeof(FiberListChannelsOptions)}
#define FIBER_SHUTDOWN_CHANNEL_OPTIONS_INIT {.struct_size = sizeof(FiberShutdownChannelOptions)}
#define FIBER_UPDATE_CHANNEL_OPTIONS_INIT {.struct_size = sizeof(FiberUpdateChannelOptions)}
#define FIBER_SEND_PAYMENT_OPTIONS_INIT {.struct_size = sizeof(FiberSendPaymentOptions)}
#define FIBER_BUILD_ROUTER_OPTIONS_INIT {.struct_size = sizeof(FiberBuildRouterOptions)}
#define FIBER_SEND_PAYMENT_WITH_ROUTER_OPTIONS_INIT {.struct_size = sizeof(FiberSendPaymentWithRouterOptions)}
#define FIBER_LIST_PAYMENTS_OPTIONS_INIT {.struct_size = sizeof(FiberListPaymentsOptions)}
#define FIBER_NEW_INVOICE_OPTIONS_INIT {.struct_size = sizeof(FiberNewInvoiceOptions)}

// The functions, in the order of the description. Strings that come back through a `char **` belong to the library:
// copy, then fiber_string_free once.

typedef const char *(*fiber_version_fn)(void);
typedef FiberFfiStatus (*fiber_ckb_funding_address_fn)(const FiberStartOptions *options, char **out_address);
typedef FiberFfiStatus (*fiber_ckb_discover_history_start_block_fn)(
    const FiberCkbDiscoverHistoryStartBlockOptions *options, uint64_t *out_height);
typedef FiberFfiStatus (*fiber_prepare_ckb_fn)(
    const FiberStartOptions *options, fiber_ckb_prepare_callback callback, void *callback_user_data);
typedef FiberFfiStatus (*fiber_prepare_ckb_with_history_start_block_fn)(
    const FiberStartOptions *options, uint64_t history_start_block,
    fiber_ckb_prepare_callback callback, void *callback_user_data);
typedef FiberFfiStatus (*fiber_start_fn)(const FiberStartOptions *options, FiberHandle **out_handle);
typedef FiberFfiStatus (*fiber_stop_fn)(FiberHandle *handle);
typedef FiberFfiStatus (*fiber_node_info_fn)(FiberHandle *handle, char **out_json);
typedef FiberFfiStatus (*fiber_ckb_readiness_fn)(FiberHandle *handle, char **out_json);
typedef FiberFfiStatus (*fiber_ckb_balance_fn)(FiberHandle *handle, char **out_json);
typedef FiberFfiStatus (*fiber_list_peers_fn)(FiberHandle *handle, char **out_json);
typedef FiberFfiStatus (*fiber_connect_peer_fn)(FiberHandle *handle, const FiberConnectPeerOptions *options);
typedef FiberFfiStatus (*fiber_disconnect_peer_fn)(FiberHandle *handle, const char *pubkey);
typedef FiberFfiStatus (*fiber_open_channel_fn)(
    FiberHandle *handle, const FiberOpenChannelOptions *options, char **out_temporary_channel_id);
typedef FiberFfiStatus (*fiber_accept_channel_fn)(
    FiberHandle *handle, const FiberAcceptChannelOptions *options, char **out_channel_id);
typedef FiberFfiStatus (*fiber_open_channel_with_external_funding_fn)(
    FiberHandle *handle, const FiberOpenChannelWithExternalFundingOptions *options, char **out_json);
typedef FiberFfiStatus (*fiber_submit_signed_funding_tx_fn)(
    FiberHandle *handle, const FiberSubmitSignedFundingTxOptions *options, char **out_json);
typedef FiberFfiStatus (*fiber_abandon_channel_fn)(FiberHandle *handle, const char *channel_id);
typedef FiberFfiStatus (*fiber_list_channels_fn)(
    FiberHandle *handle, const FiberListChannelsOptions *options, char **out_json);
typedef FiberFfiStatus (*fiber_shutdown_channel_fn)(FiberHandle *handle, const FiberShutdownChannelOptions *options);
typedef FiberFfiStatus (*fiber_update_channel_fn)(FiberHandle *handle, const FiberUpdateChannelOptions *options);
typedef FiberFfiStatus (*fiber_send_payment_fn)(
    FiberHandle *handle, const FiberSendPaymentOptions *options, char **out_json);
typedef FiberFfiStatus (*fiber_build_router_fn)(
    FiberHandle *handle, const FiberBuildRouterOptions *options, char **out_json);
typedef FiberFfiStatus (*fiber_send_payment_with_router_fn)(
    FiberHandle *handle, const FiberSendPaymentWithRouterOptions *options, char **out_json);
typedef FiberFfiStatus (*fiber_get_payment_fn)(FiberHandle *handle, const char *payment_hash, char **out_json);
typedef FiberFfiStatus (*fiber_list_payments_fn)(
    FiberHandle *handle, const FiberListPaymentsOptions *options, char **out_json);
typedef FiberFfiStatus (*fiber_new_invoice_fn)(
    FiberHandle *handle, const FiberNewInvoiceOptions *options, char **out_invoice_address);
typedef FiberFfiStatus (*fiber_parse_invoice_fn)(FiberHandle *handle, const char *invoice, char **out_json);
typedef FiberFfiStatus (*fiber_get_invoice_fn)(FiberHandle *handle, const char *payment_hash, char **out_json);
typedef FiberFfiStatus (*fiber_cancel_invoice_fn)(FiberHandle *handle, const char *payment_hash, char **out_json);
typedef FiberFfiStatus (*fiber_settle_invoice_fn)(
    FiberHandle *handle, const char *payment_hash, const char *payment_preimage);
typedef void (*fiber_string_free_fn)(char *string);
typedef size_t (*fiber_last_error_message_fn)(char *buffer, size_t buffer_len);

#ifdef __cplusplus
}
#endif
#endif
