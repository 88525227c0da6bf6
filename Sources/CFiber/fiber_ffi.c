#include "fiber_ffi.h"
