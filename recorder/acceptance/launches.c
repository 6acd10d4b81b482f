// Launches that are known exactly, on a real device, for `gpu-acceptance.sh`. It uses the driver's API through
// dlopen, so that any C compiler builds it, and no toolkit is needed.
//
//   launches plain N     N kernels on two streams, half on each; the second stream waits for an event that is
//                        recorded behind the first half
//   launches graph N     a graph of 3 kernels, launched N times
//   launches _exit N     as plain, waits until they are over and stand in the recording, and leaves by _exit
//   launches pending N   as plain, and returns without waiting for them
//   launches overhead N  N empty kernels; prints the nanoseconds of a launch call
//   launches event N     one kernel between two CUDA events, N times
//
// `kernel <number> <stream> <ns>` is what the kernel itself saw on %globaltimer between its first and its last
// instruction; `event <number> <ns>` is what CUDA events say of the same.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "written.h"

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry spin(.param .u64 out, .param .u64 ns)\n{\n"
    "  .reg .pred %p;\n  .reg .u64 %r<8>;\n"
    "  ld.param.u64 %r1, [out];\n  ld.param.u64 %r2, [ns];\n"
    "  cvta.to.global.u64 %r6, %r1;\n"
    "  mov.u64 %r3, %globaltimer;\n"
    "again:\n"
    "  mov.u64 %r4, %globaltimer;\n  sub.u64 %r5, %r4, %r3;\n"
    "  setp.lt.u64 %p, %r5, %r2;\n  @%p bra again;\n"
    "  st.global.u64 [%r6], %r3;\n  st.global.u64 [%r6+8], %r4;\n"
    "  ret;\n}\n"
    ".visible .entry nothing()\n{\n  ret;\n}\n";

typedef void *Handle;
static Handle library;
static void *find(const char *name) {
  void *address = dlsym(library, name);
  if (!address) { fprintf(stderr, "the driver has no %s\n", name); exit(90); }
  return address;
}
#define CALL(name, types, ...)                                                     \
  do {                                                                             \
    int code = ((int (*) types)find(#name))(__VA_ARGS__);                          \
    if (code) { fprintf(stderr, #name ": %d\n", code); exit(91); }                  \
  } while (0)

static void launch(Handle function, unsigned grid, Handle stream, void **arguments) {
  CALL(cuLaunchKernel, (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **),
       function, grid, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int count, char **words) {
  const char *mode = count > 1 ? words[1] : "plain";
  unsigned n = count > 2 ? (unsigned)strtoul(words[2], NULL, 10) : 1000;
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) { fprintf(stderr, "%s\n", dlerror()); return 92; }
  int device;
  Handle context, module, spin, nothing, streams[2], behind, begin, end;
  uint64_t out;
  CALL(cuInit, (unsigned), 0);
  CALL(cuDeviceGet, (int *, int), &device, 0);
  CALL(cuDevicePrimaryCtxRetain, (Handle *, int), &context, device);
  CALL(cuCtxSetCurrent, (Handle), context);
  CALL(cuModuleLoadData, (Handle *, const void *), &module, ptx);
  CALL(cuModuleGetFunction, (Handle *, Handle, const char *), &spin, module, "spin");
  CALL(cuModuleGetFunction, (Handle *, Handle, const char *), &nothing, module, "nothing");
  for (int s = 0; s < 2; s++) CALL(cuStreamCreate, (Handle *, unsigned), &streams[s], 1);
  CALL(cuEventCreate, (Handle *, unsigned), &behind, 0);
  CALL(cuEventCreate, (Handle *, unsigned), &begin, 0);
  CALL(cuEventCreate, (Handle *, unsigned), &end, 0);
  CALL(cuMemAlloc_v2, (uint64_t *, size_t), &out, 16 * (size_t)(n + 3));
  uint64_t ns = 20000;

  if (!strcmp(mode, "overhead")) {
    for (int i = 0; i < 1000; i++) launch(nothing, 1, streams[0], NULL);
    CALL(cuCtxSynchronize, (void));
    uint64_t start = now();
    for (unsigned i = 0; i < n; i++) launch(nothing, 1, streams[0], NULL);
    uint64_t calls = now() - start;
    CALL(cuCtxSynchronize, (void));
    uint64_t all = now() - start;
    printf("per_launch_ns %.1f per_kernel_ns %.1f\n", (double)calls / n, (double)all / n);
    return 0;
  }
  if (!strcmp(mode, "event")) {
    for (unsigned i = 0; i < n; i++) {
      uint64_t at = out, length = 1000000;
      void *arguments[] = {&at, &length};
      CALL(cuEventRecord, (Handle, Handle), begin, streams[0]);
      launch(spin, i + 1, streams[0], arguments);
      CALL(cuEventRecord, (Handle, Handle), end, streams[0]);
      CALL(cuEventSynchronize, (Handle), end);
      float ms;
      CALL(cuEventElapsedTime, (float *, Handle, Handle), &ms, begin, end);
      printf("event %u %.0f\n", i + 1, (double)ms * 1e6);
    }
    return 0;
  }
  if (!strcmp(mode, "graph")) {
    Handle graph, exec;
    CALL(cuStreamBeginCapture_v2, (Handle, int), streams[0], 0);
    for (unsigned i = 0; i < 3; i++) {
      uint64_t at = out + 16 * i;
      void *arguments[] = {&at, &ns};
      launch(spin, i + 1, streams[0], arguments);
    }
    CALL(cuStreamEndCapture, (Handle, Handle *), streams[0], &graph);
    CALL(cuGraphInstantiateWithFlags, (Handle *, Handle, unsigned long long), &exec, graph, 0);
    for (unsigned i = 0; i < n; i++) CALL(cuGraphLaunch, (Handle, Handle), exec, streams[0]);
    CALL(cuCtxSynchronize, (void));
    return 0;
  }
  for (unsigned i = 0; i < n; i++) {
    unsigned second = i >= n / 2;
    if (i == n / 2) {
      CALL(cuEventRecord, (Handle, Handle), behind, streams[0]);
      CALL(cuStreamWaitEvent, (Handle, Handle, unsigned), streams[1], behind, 0);
    }
    uint64_t at = out + 16 * i;
    void *arguments[] = {&at, &ns};
    launch(spin, i + 1, streams[second], arguments);
  }
  if (!strcmp(mode, "pending")) return 0;
  CALL(cuCtxSynchronize, (void));
  uint64_t *seen = malloc(16 * (size_t)n);
  CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), seen, out, 16 * (size_t)n);
  for (unsigned i = 0; i < n; i++)
    printf("kernel %u %d %llu\n", i + 1, i >= n / 2, (unsigned long long)(seen[2 * i + 1] - seen[2 * i]));
  fflush(stdout);
  if (!strcmp(mode, "_exit")) {
    if (getenv("TRUENO_CAPTURE")) all_written(n);
    _exit(5);
  }
  return 0;
}
