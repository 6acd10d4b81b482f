/* Makes parts of ranks, and cannot merge them. */
#include "hostile.h"

static const trueno_plugin plugin = {HOSTILE_FIELDS("part_without_merge", NULL, 0, hostile_run), .part = hostile_run};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
