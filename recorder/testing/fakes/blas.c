/* A BLAS that computes nothing: each function says that it was called. Built with a number of its own, so that two of
   them can be told apart. */
#include <stdint.h>
#include <stddef.h>

#ifndef NUMBER
#define NUMBER 1
#endif

extern void xerbla_(const char *, const int *, size_t) __attribute__((weak));

int blas_number(void) { return NUMBER; }

/* Adds its number to the first element; passes on what it was given behind its last argument. */
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc, size_t transa_length, size_t transb_length) {
    if (*m < 0 && xerbla_) {
        int which = 3;
        xerbla_("DGEMM ", &which, 6);
    }
    *c += NUMBER * (double)(transa_length + transb_length) / 2;
}

void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc) {
    dgemm_("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
    c[1] = alpha - beta;
}

void scipy_cblas_sgemm64_(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                          const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                          int64_t ldc) {
    c[0] = alpha * 10 + beta;
}

double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy) { return *n + 0.5; }

float cblas_sdot(int n, const float *x, int incx, const float *y, int incy) { return n + 0.25f; }

void dtrsm_(const char *side, const char *uplo, const char *transa, const char *diag, const int *m, const int *n,
            const double *alpha, const double *a, const int *lda, double *b, const int *ldb) {}

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info) { *info = *n; }

void dgetri_(const int *n, double *a, const int *lda, const int *pivots, double *work, const int *lwork, int *info) {
    *work = *lwork < 0 ? 64.0 * *n : 0;
    *info = 0;
}
