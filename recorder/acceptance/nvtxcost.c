// What a pair of nvtxRangePush and nvtxRangePop costs: `nvtxcost N [cuda]` prints nanoseconds a pair; with `cuda`, the
// driver is started first, so that CUPTI records too.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../testing/fakes/nvtx.h"

int main(int count, char **words) {
  unsigned long pairs = count > 1 ? strtoul(words[1], NULL, 10) : 100000;
  if (count > 2 && strcmp(words[2], "cuda") == 0) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
    if (!init || init(0)) { fprintf(stderr, "no driver\n"); return 90; }
  }
  for (int i = 0; i < 1000; i++) { nvtx_push("warm"); nvtx_pop(); }
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (unsigned long i = 0; i < pairs; i++) { nvtx_push("range"); nvtx_pop(); }
  clock_gettime(CLOCK_MONOTONIC, &to);
  double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
  printf("nvtx_pair_ns %.1f\n", ns / (double)pairs);
  return 0;
}
