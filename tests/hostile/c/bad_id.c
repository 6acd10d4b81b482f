/* An id that is no identifier. */
#include "hostile.h"

static const trueno_plugin plugin = HOSTILE_PLUGIN("../Bad Id", NULL, 0, hostile_run);
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
