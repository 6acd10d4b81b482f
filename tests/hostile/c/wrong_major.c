/* Built for the next major version: has only its symbol. */
#include "hostile.h"

TRUENO_EXPORT const void *trueno_plugin_v2(void);
const void *trueno_plugin_v2(void) { return NULL; }
