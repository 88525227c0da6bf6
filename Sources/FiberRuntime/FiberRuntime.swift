// FiberRuntime
