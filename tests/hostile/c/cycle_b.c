/* Reads cycle_a, which reads cycle_b. */
#include "hostile.h"

HOSTILE_WITH_INPUT("cycle_b", 0, "other", "SELECT x FROM cycle_a.output", hostile_run)
