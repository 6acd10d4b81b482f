/* Nothing to run. */
#include "hostile.h"

static const trueno_plugin plugin = HOSTILE_PLUGIN("null_run", NULL, 0, NULL);
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
