/* The output of a plugin that is not there. */
#include "hostile.h"

HOSTILE_WITH_INPUT("unknown_plugin", 0, "nobody", "SELECT x FROM nobody.output", hostile_run)
