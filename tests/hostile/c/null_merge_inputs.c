/* Two inputs of its merging, and no list of them. */
#include "hostile.h"

static const trueno_plugin plugin = {HOSTILE_FIELDS("null_merge_inputs", NULL, 0, hostile_run), .part = hostile_run,
                                     .merge_input_count = 2, .merge = hostile_run};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
