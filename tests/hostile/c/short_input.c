/* struct_size of an input ends before the fields of version 1.0 do. */
#include "hostile.h"

static const trueno_input input = {8, 0, TRUENO_TEXT("bricks"), TRUENO_TEXT("SELECT id FROM bricks")};
static const trueno_input *const inputs[] = {&input};
static const trueno_plugin plugin = HOSTILE_PLUGIN("short_input", inputs, 1, hostile_run);
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
