/* A shared library that is no plugin. */
#include "hostile.h"

TRUENO_EXPORT int something_else(void);
int something_else(void) { return 1; }
