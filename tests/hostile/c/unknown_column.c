/* A column that no table has. */
#include "hostile.h"

HOSTILE_WITH_INPUT("unknown_column", 0, "bricks", "SELECT id, flavour FROM bricks", hostile_run)
