/* A summary of 18 bytes at no address. */
#include "hostile.h"

static trueno_plugin plugin = HOSTILE_PLUGIN("null_text", NULL, 0, hostile_run);

const trueno_plugin *trueno_plugin_v1(void) {
  plugin.summary.ptr = NULL;
  return &plugin;
}
