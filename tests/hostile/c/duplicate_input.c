/* Two inputs of one name. */
#include "hostile.h"

static const trueno_input input = HOSTILE_INPUT(0, "bricks", "SELECT id FROM bricks");
static const trueno_input *const inputs[] = {&input, &input};
static const trueno_plugin plugin = HOSTILE_PLUGIN("duplicate_input", inputs, 2, hostile_run);
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
