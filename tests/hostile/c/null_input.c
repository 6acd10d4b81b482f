/* The second input is a null pointer. */
#include "hostile.h"

static const trueno_input input = HOSTILE_INPUT(0, "bricks", "SELECT id FROM bricks");
static const trueno_input *const inputs[] = {&input, NULL};
static const trueno_plugin plugin = HOSTILE_PLUGIN("null_input", inputs, 2, hostile_run);
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
