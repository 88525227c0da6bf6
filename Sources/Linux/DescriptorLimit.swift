import Glibc

/// How many descriptors this process may have open (RLIMIT_NOFILE).
public enum DescriptorLimit {
    /// More than this is of no use here, and makes those slow who walk through all descriptors.
    private static let enough: UInt = 1 << 20

    /// Raises the limit as far as the hard limit lets it, and answers what it is then.
    public static func raise() -> UInt {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        let wanted = min(UInt(limit.rlim_max), enough)
        guard UInt(limit.rlim_cur) < wanted else { return UInt(limit.rlim_cur) }
        var raised = limit
        raised.rlim_cur = rlim_t(wanted)
        return setrlimit(resource, &raised) == 0 ? wanted : UInt(limit.rlim_cur)
    }
}
