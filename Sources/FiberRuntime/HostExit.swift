/// How the host process ends. The exit status tells the supervisor (and whoever reads its log) why there is no node
/// any more.
public enum HostExit: Int32, Sendable, CaseIterable {
    /// The node was stopped in order.
    case stopped = 0
    /// The command line is not one that a supervisor makes.
    case usage = 2
    /// `fiber_start` failed; the fatal before it says why.
    case startFailed = 40
    /// The native library could not be loaded; the fatal before it names what is missing.
    case libraryNotLoadable = 41
    /// What came over the link, or what was inherited, is not what a supervisor sends. A node that ran was stopped in
    /// order first.
    case linkBroken = 42
    /// The stop took longer than the stop timeout; native code was left in the middle of whatever it did.
    case stopTimedOut = 43
    /// The node died inside the live process: a panic, dead actors, or its network stopped without an order.
    case nodeDied = 44
    /// The supervisor was gone before the host was up; nothing was started.
    case supervisorGone = 45
    /// `fiber_stop` returned, but with a failure. The handle is gone all the same.
    case stopFailed = 46
}
