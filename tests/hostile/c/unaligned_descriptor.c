/* The descriptor lies at an odd address. */
#include "hostile.h"

static const trueno_plugin plugin = HOSTILE_PLUGIN("unaligned_descriptor", NULL, 0, hostile_run);
static union {
  trueno_plugin aligned[2];
  char bytes[2 * sizeof(trueno_plugin)];
} place;

const trueno_plugin *trueno_plugin_v1(void) {
  memcpy(place.bytes + 1, &plugin, sizeof plugin);
  return (const trueno_plugin *)(uintptr_t)(place.bytes + 1);
}
