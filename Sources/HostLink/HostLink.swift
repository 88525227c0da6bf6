// HostLink
