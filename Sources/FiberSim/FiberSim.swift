// FiberSim
