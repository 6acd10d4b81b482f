/* Merges parts, and makes none. */
#include "hostile.h"

static const trueno_plugin plugin = {HOSTILE_FIELDS("merge_without_part", NULL, 0, hostile_run), .merge = hostile_run};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
