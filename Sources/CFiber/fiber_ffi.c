// The package manager wants a source file in every C target; compiling the headers here also shows that they are complete as C.
#include "fiber_ffi.h"
#include "fiber_sim.h"
