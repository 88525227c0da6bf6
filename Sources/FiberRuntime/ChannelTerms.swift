import CFiber

/// The terms that every way to get a channel takes. `FiberUpdateChannelOptions` names and reads them differently.
protocol ChannelTerms {
    var tlc_expiry_delta: UInt64 { get set }
    var has_tlc_expiry_delta: Int32 { get set }
    var tlc_min_value: FiberU128 { get set }
    var has_tlc_min_value: Int32 { get set }
    var tlc_fee_proportional_millionths: FiberU128 { get set }
    var has_tlc_fee_proportional_millionths: Int32 { get set }
    var max_tlc_value_in_flight: FiberU128 { get set }
    var has_max_tlc_value_in_flight: Int32 { get set }
    var max_tlc_number_in_flight: UInt64 { get set }
    var has_max_tlc_number_in_flight: Int32 { get set }
}

/// What only whoever opens a channel says.
protocol OpenerTerms {
    var commitment_fee_rate: UInt64 { get set }
    var has_commitment_fee_rate: Int32 { get set }
    var funding_fee_rate: UInt64 { get set }
    var has_funding_fee_rate: Int32 { get set }
}

extension FiberOpenChannelOptions: ChannelTerms, OpenerTerms {}
extension FiberOpenChannelWithExternalFundingOptions: ChannelTerms, OpenerTerms {}
extension FiberAcceptChannelOptions: ChannelTerms {}

extension Field where Options: ChannelTerms {
    /// The parameters of the terms. `udtWhen` as for `amount`.
    static func terms(udtWhen udt: String) -> [Field] {
        [
            .integer(
                "tlc_expiry_delta", \.tlc_expiry_delta, has: \.has_tlc_expiry_delta,
                "milliseconds, at least 9600000 (default 14400000)"),
            .amount(
                "tlc_min_value", \.tlc_min_value, has: \.has_tlc_min_value, udtWhen: udt,
                "the smallest payment we forward, in shannons or raw UDT units (default 0)"),
            .wide(
                "tlc_fee_proportional_millionths", \.tlc_fee_proportional_millionths,
                has: \.has_tlc_fee_proportional_millionths, "our fee for forwarding, in millionths (default 1000)"),
            .amount(
                "max_tlc_value_in_flight", \.max_tlc_value_in_flight, has: \.has_max_tlc_value_in_flight, udtWhen: udt,
                "the most that may be in flight, in shannons or raw UDT units; fixed for its life (default: no limit)"
            ),
            .integer(
                "max_tlc_number_in_flight", \.max_tlc_number_in_flight, has: \.has_max_tlc_number_in_flight,
                in: 0...253, "how many payments may be in flight; fixed for the channel's life (default 125)"),
        ]
    }
}

extension Field where Options: OpenerTerms {
    /// The parameters of what only the opener says. (`fiber_ffi` passes
    /// the delay on as a JSON number, and the node takes only a 0x string.)
    static var openerTerms: [Field] {
        [
            .refused(
                "commitment_delay_epoch", why: "the native library hands it on in a form that the node refuses",
                "how long a forced close takes, in epochs of about four hours (always 1)"),
            .integer(
                "commitment_fee_rate", \.commitment_fee_rate, has: \.has_commitment_fee_rate,
                "shannons per 1000 weight (default 1000)"),
            .integer(
                "funding_fee_rate", \.funding_fee_rate, has: \.has_funding_fee_rate,
                "shannons per 1000 weight (default 1000)"),
        ]
    }
}
