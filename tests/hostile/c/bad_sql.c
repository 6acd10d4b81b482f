/* A query that does not parse. */
#include "hostile.h"

HOSTILE_WITH_INPUT("bad_sql", 0, "bricks", "SELEC id FROM bricks", hostile_run)
