/* An id that is not UTF-8. */
#include "hostile.h"

static const trueno_plugin plugin = HOSTILE_PLUGIN("bad\xff", NULL, 0, hostile_run);
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
