import FiberRuntime

// The first thing `run` does is to block the signals that it handles.
HostProcess.run(Array(CommandLine.arguments.dropFirst()))
