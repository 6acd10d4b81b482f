/* Reads cycle_b, which reads cycle_a. */
#include "hostile.h"

HOSTILE_WITH_INPUT("cycle_a", 0, "other", "SELECT x FROM cycle_b.output", hostile_run)
