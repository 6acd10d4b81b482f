/* The entry returns NULL. */
#include "hostile.h"

const trueno_plugin *trueno_plugin_v1(void) { return NULL; }
