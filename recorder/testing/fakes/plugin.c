/* A library that calls the BLAS it is linked with. */
#include <stddef.h>

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);

double multiply(void) {
    int size = 3;
    double one = 1, c = 0;
    dgemm_("N", "N", &size, &size, &size, &one, NULL, &size, NULL, &size, &one, &c, &size, 1, 1);
    return c;
}
