/* A program without a BLAS, which loads libraries that nobody else sees, each with a BLAS of its own. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **paths) {
    for (int turn = 0; turn < 2; turn++) {
        for (int at = 1; at < count; at++) {
            void *plugin = dlopen(paths[at], RTLD_NOW | RTLD_LOCAL);
            double (*multiply)(void) = plugin ? (double (*)(void))dlsym(plugin, "multiply") : NULL;
            printf("%g\n", multiply ? multiply() : -1);
        }
    }
    return 7;
}
