/* Returns a status that version 1 does not have: counts as failed. */
#include "hostile.h"

static trueno_status run_unknown_status(const trueno_run *run) {
  return trueno_fail(run, 99, "status of a later version");
}

static const trueno_plugin plugin = HOSTILE_PLUGIN("unknown_status", NULL, 0, run_unknown_status);
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
