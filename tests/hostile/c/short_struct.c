/* struct_size ends before the fields of version 1.0 do. */
#include "hostile.h"

static trueno_plugin plugin = HOSTILE_PLUGIN("short_struct", NULL, 0, hostile_run);

const trueno_plugin *trueno_plugin_v1(void) {
  plugin.struct_size = offsetof(trueno_plugin, run);
  return &plugin;
}
