/* A program that calls a BLAS, and allocates; its first argument says what it does. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
void scipy_cblas_sgemm64_(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *,
                          int64_t, float, float *, int64_t);
double ddot_(const int *, const double *, const int *, const double *, const int *);
float cblas_sdot(int, const float *, int, const float *, int);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
            const double *, const int *, double *, const int *);
void dpotrf_(const char *, const int *, double *, const int *, int *);
void dgetri_(const int *, double *, const int *, const int *, double *, const int *, int *);

static double product(int m, int n, int k, double beta) {
    double alpha = 1, c = 0;
    dgemm_("N", "N", &m, &n, &k, &alpha, NULL, &m, NULL, &k, &beta, &c, &m, 1, 1);
    return c;
}

static void *other_thread(void *unused) {
    pthread_setname_np(pthread_self(), "other");
    product(2, 3, 4, 1);
    return unused;
}

static void calls(void) {
    double c[2] = {0}, work = 0;
    float f = 0;
    int n = 5, m = 6, minus = -1, info = 0, length = 64;
    errno = EDOM;
    cblas_dgemm(101, 111, 111, 10, 20, 30, 2.0, NULL, 30, NULL, 20, 0.5, c, 20);
    printf("%g %g %d\n", c[0], c[1], errno == EDOM);
    printf("%g\n", product(100, 200, 300, 0));
    scipy_cblas_sgemm64_(101, 111, 111, 7, 8, 9, 0.5f, NULL, 9, NULL, 8, 0.0f, &f, 8);
    printf("%g\n", f);
    printf("%g\n", ddot_(&n, NULL, &n, NULL, &n));
    printf("%g\n", cblas_sdot(4, NULL, 1, NULL, 1));
    dtrsm_("R", "U", "N", "N", &m, &n, &work, NULL, &n, NULL, &m);
    dpotrf_("U", &n, NULL, &n, &info);
    printf("%d\n", info);
    dgetri_(&n, NULL, &n, NULL, &work, &minus, &info);
    printf("%g\n", work);
    dgetri_(&n, NULL, &n, NULL, &work, &length, &info);
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
}

static jmp_buf out;

void xerbla_(const char *name, const int *which, size_t length) { longjmp(out, 1); }

static void jumps(void) {
    for (int turn = 0; turn < 3; turn++) {
        if (setjmp(out) == 0) product(-1, 1, 1, 0);
        product(4, 4, 4, 0);
    }
}

static void memory(void) {
    void *block;
    for (int turn = 0; turn < 1000; turn++) {
        free(malloc(5000));
        free(calloc(10, 610));
        block = malloc(7000);
        block = realloc(block, 70000);
        free(block);
        if (posix_memalign(&block, 64, 8000)) abort();
        free(block);
        free(aligned_alloc(64, 9024));
        free(memalign(128, 9000));
    }
    errno = EDOM;
    if (malloc(SIZE_MAX / 2) || errno != ENOMEM) abort();
    block = malloc(6000);
    if (realloc(block, SIZE_MAX / 2)) abort();
    memset(block, 1, 6000);
    errno = EDOM;
    free(block);
    free(NULL);
    if (errno != EDOM) abort();
    malloc(12345);
}

static void *threads_turn(void *unused) {
    for (int turn = 0; turn < 2000; turn++) {
        char *block = malloc(100 + turn);
        memset(block, turn, 100 + turn);
        free(block);
    }
    return unused;
}

static void threads(void) {
    for (int round = 0; round < 100; round++) {
        pthread_t all[8];
        for (int at = 0; at < 8; at++) pthread_create(&all[at], NULL, threads_turn, NULL);
        for (int at = 0; at < 8; at++) pthread_join(all[at], NULL);
    }
}

static void *forks_meanwhile(void *go_on) {
    while (*(volatile int *)go_on) free(malloc(300));
    return NULL;
}

static void forks(char *own) {
    int go_on = 1;
    pthread_t thread;
    pthread_create(&thread, NULL, forks_meanwhile, &go_on);
    char *kept = malloc(200000);
    for (int turn = 0; turn < 20; turn++) {
        pid_t child = fork();
        if (child == 0) {
            free(kept);
            malloc(400000);
            product(turn + 1, 2, 2, 0);
            _exit(turn);
        }
        int status;
        waitpid(child, &status, 0);
        printf("%d\n", WEXITSTATUS(status));
    }
    go_on = 0;
    pthread_join(thread, NULL);
    fflush(stdout);
    execl(own, own, "after", NULL);
}

int main(int count, char **arguments) {
    const char *role = count > 1 ? arguments[1] : "";
    if (!strcmp(role, "calls")) calls();
    if (!strcmp(role, "jumps")) jumps();
    if (!strcmp(role, "memory")) memory();
    if (!strcmp(role, "threads")) threads();
    if (!strcmp(role, "forks")) forks("/proc/self/exe");
    if (!strcmp(role, "after")) product(77, 1, 1, 0);
    if (!strcmp(role, "many"))
        for (int turn = 0; turn < 1000000; turn++) product(1, 1, 1, 0);
    if (!strcmp(role, "killed")) {
        product(5, 5, 5, 0);
        malloc(500000);
        raise(SIGKILL);
    }
    if (!strcmp(role, "goes on")) {
        while (access("enough", F_OK)) {
            product(1, 2, 3, 0);
            usleep(1000);
        }
        for (int turn = 0; turn < 20000; turn++) product(1, 2, 3, 0);
        fclose(fopen("ended", "w"));
    }
    return 7;
}
