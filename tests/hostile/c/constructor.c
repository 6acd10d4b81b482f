/* Runs code as soon as it is loaded: makes the file that TRUENO_TEST_PLANTED names. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void)
{
    const char *path = getenv("TRUENO_TEST_PLANTED");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
}
