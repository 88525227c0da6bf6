import CFiber

/// Begins to open a channel; the answer is its temporary id.
@c(fiber_open_channel)
public func fiberOpenChannel(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberOpenChannelOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_open_channel, handle, options, out) { options in
        let request = try OpenChannelRequest(RequestParameters(options))
        return { node in try node.openChannel(request) }
    }
}

/// The channels, newest first, as JSON.
@c(fiber_list_channels)
public func fiberListChannels(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberListChannelsOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_list_channels, handle, options, out) { options in
        let request = try ListChannelsRequest(RequestParameters(options))
        return { node in try node.listChannels(request).text }
    }
}

/// Accepts a channel that a peer asked for; the answer is its final id.
@c(fiber_accept_channel)
public func fiberAcceptChannel(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberAcceptChannelOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_accept_channel, handle, options, out) { options in
        let request = try AcceptChannelRequest(RequestParameters(options))
        return { node in try node.acceptChannel(request) }
    }
}

/// Gives up an opening.
@c(fiber_abandon_channel)
public func fiberAbandonChannel(_ handle: OpaquePointer?, _ channelID: UnsafePointer<CChar>?) -> FiberFfiStatus {
    call(.fiber_abandon_channel, handle) {
        let id = try Hash256(parsing: Text.required(channelID, "channel_id"))
        return { node in try node.abandonChannel(id) }
    }
}

/// Asks for the end of a channel; the answer is that the request is out.
@c(fiber_shutdown_channel)
public func fiberShutdownChannel(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberShutdownChannelOptions>?
) -> FiberFfiStatus {
    call(.fiber_shutdown_channel, handle) {
        let options = try FiberShutdownChannelOptions.checked(required(options, "options"))
        let request = try ShutdownRequest(RequestParameters(options))
        return { node in try node.shutdownChannel(request) }
    }
}

/// Changes the terms of a public channel.
@c(fiber_update_channel)
public func fiberUpdateChannel(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberUpdateChannelOptions>?
) -> FiberFfiStatus {
    call(.fiber_update_channel, handle) {
        let options = try FiberUpdateChannelOptions.checked(required(options, "options"))
        let request = try UpdateChannelRequest(RequestParameters(options))
        return { node in try node.updateChannel(request) }
    }
}

/// Begins to open a channel that somebody else funds; the answer is the transaction to be signed, as JSON.
@c(fiber_open_channel_with_external_funding)
public func fiberOpenChannelWithExternalFunding(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberOpenChannelWithExternalFundingOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_open_channel_with_external_funding, handle, options, out) { options in
        let request = try OpenChannelRequest(RequestParameters(options))
        return { node in try node.openChannelWithExternalFunding(request).text }
    }
}

/// Takes the signed transaction of such a channel; the answer is its hash, as JSON.
@c(fiber_submit_signed_funding_tx)
public func fiberSubmitSignedFundingTx(
    _ handle: OpaquePointer?, _ options: UnsafePointer<FiberSubmitSignedFundingTxOptions>?,
    _ out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> FiberFfiStatus {
    answer(.fiber_submit_signed_funding_tx, handle, options, out) { options in
        let request = try SubmitFundingRequest(RequestParameters(options))
        return { node in try node.submitSignedFunding(request).text }
    }
}
