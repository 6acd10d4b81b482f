/* Three inputs, and no list of them. */
#include "hostile.h"

static const trueno_plugin plugin = HOSTILE_PLUGIN("null_inputs", NULL, 3, hostile_run);
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
