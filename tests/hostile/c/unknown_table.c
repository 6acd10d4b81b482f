/* A table that does not exist. */
#include "hostile.h"

HOSTILE_WITH_INPUT("unknown_table", 0, "nowhere", "SELECT id FROM nowhere", hostile_run)
