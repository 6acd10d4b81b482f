/* The id of a standard plugin. */
#include "hostile.h"

static const trueno_plugin plugin = HOSTILE_PLUGIN("category", NULL, 0, hostile_run);
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
