import CFiber
import Wire

extension FiberCalls {
    /// What becomes of a channel that is there.
    static let channelChanges: [NativeCall] = [
        NativeCall(
            "update_channel",
            """
            Changes our terms of a public channel. What is left out stays as it is, unlike with the C function, which \
            enables a disabled channel again whenever enabled is left out.
            """,
            options: FiberUpdateChannelOptions.sized, fields: updateChannel, output: .nothing, result: "{}",
            effect: .change, find: "fiber.list_channels",
            check: { (given, _) throws(BusError) in
                guard given.members?.count ?? 0 > 1 else { throw .parameter("enabled", "or another term is required") }
            }
        ) { library in
            guard let call = library.updateChannel, let listChannels = library.listChannels else { return nil }
            return { (handle, options, _) throws(BusError) in
                // No other call of the bus comes between the two: one thread makes them all. Only ours change this.
                if options.has_enabled == 0 {
                    var list = FiberListChannelsOptions.sized()
                    var text: UnsafeMutablePointer<CChar>?
                    let status = listChannels(handle, &list, &text)
                    let channels = library.take(text).flatMap { try? JSON.parse($0) }?["channels"]?.elements
                    guard status == FIBER_FFI_STATUS_OK else { return status }
                    options.has_enabled = 1
                    options.enabled = try isEnabled(options.channel_id, channels ?? []) ? 1 : 0
                }
                return call(handle, &options)
            }
        },
        NativeCall(
            "shutdown_channel",
            """
            Closes a channel, and answers when the peer has been asked: fiber.list_channels shows ShuttingDown, \
            ChannelClosed tells the end. With force, without the peer: the money comes back after the commitment delay \
            (about four hours per epoch), and no event tells.
            """,
            options: FiberShutdownChannelOptions.sized,
            fields: [
                .text("channel_id", \.channel_id, .hash, required: true, "the channel; not its temporary id"),
                .flag("force", \.force, has: \.has_force, "close without the peer (default false)"),
                .json(
                    "close_script", \.close_script_json, .object,
                    "without force: the lock script that gets our balance (default: the node's own)"),
                .integer(
                    "fee_rate", \.fee_rate, has: \.has_fee_rate,
                    "without force: shannons per 1000 weight (default 1000)"),
            ], output: .nothing, result: "{}", effect: .money, find: "fiber.list_channels with include_closed true",
            check: { (given, _) throws(BusError) in
                guard given["force"] == true else { return }
                for other in ["close_script", "fee_rate"] where given[other] != nil {
                    throw .parameter(other, "cannot be given with force")
                }
            }
        ) { library in
            guard let call = library.shutdownChannel else { return nil }
            return { handle, options, _ in call(handle, &options) }
        },
        NativeCall(
            "abandon_channel",
            """
            Gives up the opening of a channel. Refused once our signature is out or the channel is ready: then only \
            fiber.shutdown_channel ends it.
            """,
            options: { OneText() },
            fields: [.text("channel_id", \.text, .hash, required: true, "the channel; its temporary id will do")],
            output: .nothing, result: "{}", effect: .change, find: "fiber.list_channels with only_pending true"
        ) { library in
            guard let call = library.abandonChannel else { return nil }
            return { handle, argument, _ in call(handle, argument.text) }
        },
    ]

    private static let updateChannel: [Field<FiberUpdateChannelOptions>] = [
        .text(channelID, \.channel_id, .hash, required: true, "the channel; it must be public"),
        .flag("enabled", \.enabled, has: \.has_enabled, "whether it forwards payments (default: as it is)"),
        .integer(
            "tlc_expiry_delta", \.tlc_expiry_delta, has: \.has_tlc_expiry_delta,
            "milliseconds, at least 9600000 (default: as it is)"),
        .amount(
            "tlc_minimum_value", \.tlc_minimum_value, has: \.has_tlc_minimum_value, udtWhen: channelID,
            "the smallest payment we forward, in shannons or raw UDT units (default: as it is)"),
        .wide(
            "tlc_fee_proportional_millionths", \.tlc_fee_proportional_millionths,
            has: \.has_tlc_fee_proportional_millionths, "our fee for forwarding, in millionths (default: as it is)"),
    ]

    private static let channelID = "channel_id"

    /// What a channel's `enabled` is now.
    private static func isEnabled(_ id: UnsafePointer<CChar>?, _ channels: [JSON]) throws(BusError) -> Bool {
        let id = id.map { String(cString: $0) }
        guard let channel = channels.first(where: { $0[channelID]?.text == id }) else {
            throw .parameter(channelID, "is none of a channel that is open; fiber.list_channels has them")
        }
        guard let isEnabled = channel["enabled"]?.bool else {
            throw .parameter("enabled", "must be given: this node does not tell what it is now")
        }
        return isEnabled
    }
}
