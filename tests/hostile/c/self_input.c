/* Reads its own output. */
#include "hostile.h"

HOSTILE_WITH_INPUT("self_input", 0, "own", "SELECT x FROM self_input.output", hostile_run)
