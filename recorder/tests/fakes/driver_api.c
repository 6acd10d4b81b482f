// The driver's own signatures over the fake device, as far as `acceptance/launches.c` calls them: so that
// `cuda-acceptance.sh` itself can be tried without a GPU. Device memory is the host's, and a kernel "runs" by
// writing its times when it is launched.
#define _GNU_SOURCE
#include <stdio.h>

// The same device, under names that do not clash.
#define cuLaunchKernel fake_cuLaunchKernel
#define cuStreamCreate fake_cuStreamCreate
#define cuEventRecord fake_cuEventRecord
#define cuStreamWaitEvent fake_cuStreamWaitEvent
#include "cuda.c"
#undef cuLaunchKernel
#undef cuStreamCreate
#undef cuEventRecord
#undef cuStreamWaitEvent

typedef void *Handle;
typedef struct { const char *name; } Function;
static Function spin = {"spin"}, nothing = {"nothing"};
static unsigned next_stream = 13, next_event = 1, capturing, nodes;

int cuDevicePrimaryCtxRetain(Handle *made, int device) { return cuCtxCreate_v2(made, 0, device); }
int cuCtxSetCurrent(Handle which) { (void)which; return 0; }
int cuModuleLoadData(Handle *module, const void *image) { *module = (Handle)image; return 0; }
int cuModuleGetFunction(Handle *function, Handle module, const char *name) {
  (void)module;
  *function = name[0] == 's' ? &spin : &nothing;
  return 0;
}
int cuStreamCreate(Handle *stream, unsigned flags) {
  unsigned number = next_stream++;
  *stream = (Handle)(uintptr_t)number;
  return fake_cuStreamCreate(&number, flags);
}
int cuEventCreate(Handle *event, unsigned flags) { (void)flags; *event = (Handle)(uintptr_t)next_event++; return 0; }
int cuMemAlloc_v2(uint64_t *address, size_t bytes) { *address = (uint64_t)(uintptr_t)calloc(bytes, 1); return 0; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  copied(bytes, 13, 0);
  __builtin_memcpy(to, (void *)(uintptr_t)from, bytes);
  return 0;
}

static void work(Function *function, unsigned grid, unsigned stream, uint64_t ns, uint32_t id) {
  pthread_mutex_lock(&lock);
  uint64_t begin = now() + 500;
  if (busy[stream % STREAMS] > begin) begin = busy[stream % STREAMS];
  uint64_t end = begin + ns + 700;
  busy[stream % STREAMS] = end;
  pthread_mutex_unlock(&lock);
  if (kernel) kernel(id, function->name, stream, grid, begin, end);
}

int cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Handle stream, void **arguments, void **extra) {
  (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)extra;
  if (capturing) { nodes++; return 0; }
  uint64_t start = now(), ns = 300;
  uint32_t id = correlation ? correlation() : 0;
  if (arguments) {
    ns = *(uint64_t *)arguments[1];
    uint64_t *out = (uint64_t *)(uintptr_t) * (uint64_t *)arguments[0];
    out[0] = start;
    out[1] = start + ns;
  }
  work(function, gx, (unsigned)(uintptr_t)stream, ns, id);
  if (call) call(4, 307, id, start, 0);
  return 0;
}

int cuEventRecord(Handle event, Handle stream) { return fake_cuEventRecord((unsigned)(uintptr_t)event, (unsigned)(uintptr_t)stream); }
int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
  (void)flags;
  return fake_cuStreamWaitEvent((unsigned)(uintptr_t)stream, (unsigned)(uintptr_t)event);
}
int cuEventSynchronize(Handle event) { until(reached[(uintptr_t)event % EVENTS]); return 0; }
int cuEventElapsedTime(float *ms, Handle from, Handle to) {
  *ms = (float)((double)(reached[(uintptr_t)to % EVENTS] - reached[(uintptr_t)from % EVENTS]) / 1e6);
  return 0;
}

int cuStreamBeginCapture_v2(Handle stream, int mode) { (void)stream; (void)mode; capturing = 1; nodes = 0; return 0; }
int cuStreamEndCapture(Handle stream, Handle *graph) { *graph = stream; capturing = 0; return 0; }
int cuGraphInstantiateWithFlags(Handle *exec, Handle graph, unsigned long long flags) { (void)flags; *exec = graph; return 0; }
int cuGraphLaunch(Handle exec, Handle stream) {
  (void)exec;
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  for (unsigned i = 0; i < nodes; i++) work(&spin, i + 1, (unsigned)(uintptr_t)stream, 2000, id);
  if (call) call(4, 514, id, start, 0);
  return 0;
}
