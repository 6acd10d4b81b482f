// The driver's own signatures over the fake device, for programs that call the driver themselves: those of
// `acceptance/launches.c` and of cudarc. Device memory is the host's, and a kernel "runs" by writing its times when
// it is launched: `spin(out, ns)` takes as long as it is told, any other 300 ns.
//
// In the environment: FAKE_FAILS=name,... (these functions fail), FAKE_STEP_NS (the step of event times; default
// 1), FAKE_DRIFT_PPM (how much faster the device's clock runs). Built with -DOLD_DRIVER it is one of CUDA 12.0, before
// cuEventElapsedTime_v2; with -DANCIENT_DRIVER one before 11.2, without cuMemAllocAsync. `fake_calls(name)` says how often a function was called, `fake_work(i, ...)`
// what the device did and when, on the host's clock.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

// The same device, under names that do not clash.
#define cuLaunchKernel fake_cuLaunchKernel
#define cuStreamCreate fake_cuStreamCreate
#define cuEventRecord fake_cuEventRecord
#define cuStreamWaitEvent fake_cuStreamWaitEvent
#define cuStreamSynchronize fake_cuStreamSynchronize
#define cuCtxSynchronize fake_cuCtxSynchronize
#define cuMemcpyHtoDAsync_v2 fake_cuMemcpyHtoDAsync_v2
#define cuMemsetD8Async fake_cuMemsetD8Async
#define cuGraphInstantiateWithFlags fake_cuGraphInstantiateWithFlags
#define cuGraphLaunch fake_cuGraphLaunch
#define cuGraphGetEdges_v2 fake_cuGraphGetEdges_v2
#define cuEventQuery fake_cuEventQuery
#include "cuda.c"
#undef cuLaunchKernel
#undef cuStreamCreate
#undef cuEventRecord
#undef cuStreamWaitEvent
#undef cuStreamSynchronize
#undef cuCtxSynchronize
#undef cuMemcpyHtoDAsync_v2
#undef cuMemsetD8Async
#undef cuGraphInstantiateWithFlags
#undef cuGraphLaunch
#undef cuGraphGetEdges_v2
#undef cuEventQuery

typedef void *Handle;
typedef struct { char name[64]; } Function;
static unsigned next_stream = 13, next_event = 1, capturing, nodes;

// How often each function was called.
enum { NAMES = 64 };
static struct { const char *name; uint64_t calls; } counted[NAMES];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static int in_list(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; at && (at = strstr(at, name)); at += length)
    if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return 1;
  return 0;
}
static int called(const char *name) {
  pthread_mutex_lock(&counting);
  int i = 0;
  while (i < NAMES - 1 && counted[i].name && strcmp(counted[i].name, name)) i++;
  counted[i].name = name;
  counted[i].calls++;
  pthread_mutex_unlock(&counting);
  return in_list(getenv("FAKE_FAILS"), name);
}
// 719: the launch failed.
#define CALLED() do { if (called(__func__)) return 719; } while (0)
uint64_t fake_calls(const char *name) {
  uint64_t calls = 0;
  pthread_mutex_lock(&counting);
  for (int i = 0; i < NAMES && counted[i].name; i++) if (!strcmp(counted[i].name, name)) calls = counted[i].calls;
  pthread_mutex_unlock(&counting);
  return calls;
}

// What the device did.
enum { DONE = 1 << 17 };
static struct { char name[24]; uint32_t stream; uint64_t begin, end; } done[DONE];
static unsigned done_count;
static void did(const char *name, unsigned stream, uint64_t begin, uint64_t end) {
  unsigned at = __atomic_fetch_add(&done_count, 1, __ATOMIC_RELAXED);
  if (at >= DONE) return;
  snprintf(done[at].name, sizeof done[at].name, "%s", name);
  done[at].stream = stream;
  done[at].begin = begin;
  done[at].end = end;
}
int fake_work(unsigned at, const char **name, uint32_t *stream, uint64_t *begin, uint64_t *end) {
  if (at >= done_count || at >= DONE) return 0;
  *name = done[at].name;
  *stream = done[at].stream;
  *begin = done[at].begin;
  *end = done[at].end;
  return 1;
}

int cuGetErrorString(int code, const char **text) {
  *text = code == 719 ? "unspecified launch failure" : code == 600 ? "device not ready" : code == 500 ? "named symbol not found" : "fake error";
  return 0;
}
int cuDevicePrimaryCtxRetain(Handle *made, int device) { CALLED(); return cuCtxCreate_v2(made, 0, device); }
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; CALLED(); return 0; }
int cuCtxSetCurrent(Handle which) { (void)which; return 0; }
int cuCtxSynchronize(void) { CALLED(); return fake_cuCtxSynchronize(); }

int cuModuleLoadData(Handle *module, const void *image) {
  CALLED();
  if (!strstr(image, ".version")) return 218;
  *module = strdup(image);
  return 0;
}
int cuModuleUnload(Handle module) { CALLED(); free(module); return 0; }
int cuModuleGetFunction(Handle *function, Handle module, const char *name) {
  CALLED();
  char entry[96];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  if (!strstr(module, entry)) return 500;
  Function *made = calloc(1, sizeof *made);
  snprintf(made->name, sizeof made->name, "%s", name);
  *function = made;
  return 0;
}
// Static shared memory, then registers.
int cuFuncGetAttribute(int *value, int attribute, Handle function) { (void)function; *value = attribute == 1 ? 48 : attribute == 4 ? 40 : 0; return 0; }

int cuStreamCreate(Handle *stream, unsigned flags) {
  CALLED();
  unsigned number = __atomic_fetch_add(&next_stream, 1, __ATOMIC_RELAXED);
  *stream = (Handle)(uintptr_t)number;
  return fake_cuStreamCreate(&number, flags);
}
int cuStreamDestroy_v2(Handle stream) { (void)stream; CALLED(); return 0; }
int cuStreamSynchronize(Handle stream) { CALLED(); return fake_cuStreamSynchronize((unsigned)(uintptr_t)stream); }

int cuEventCreate(Handle *event, unsigned flags) {
  (void)flags;
  CALLED();
  *event = (Handle)(uintptr_t)__atomic_fetch_add(&next_event, 1, __ATOMIC_RELAXED);
  return 0;
}
int cuEventDestroy_v2(Handle event) { (void)event; CALLED(); return 0; }

// The size stands before the memory.
static uint64_t take(size_t bytes) {
  uint64_t *block = calloc(1, bytes + 16);
  block[0] = bytes;
  cuFakeMemory(1, 3, (uint64_t)(uintptr_t)(block + 2), bytes);
  return (uint64_t)(uintptr_t)(block + 2);
}
static int give(uint64_t address) {
  uint64_t *block = (uint64_t *)(uintptr_t)address - 2;
  cuFakeMemory(2, 3, address, block[0]);
  free(block);
  return 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) { CALLED(); *address = take(bytes); return 0; }
#ifndef ANCIENT_DRIVER
int cuMemAllocAsync(uint64_t *address, size_t bytes, Handle stream) { (void)stream; CALLED(); *address = take(bytes); return 0; }
#endif
int cuMemFree_v2(uint64_t address) { CALLED(); return give(address); }
int cuMemFreeAsync(uint64_t address, Handle stream) { (void)stream; CALLED(); return give(address); }

// When a stream does so much more work.
static void reserve(unsigned stream, uint64_t ns, uint64_t *begin, uint64_t *end) {
  pthread_mutex_lock(&lock);
  *begin = now() + 500;
  if (busy[stream % STREAMS] > *begin) *begin = busy[stream % STREAMS];
  *end = *begin + ns;
  busy[stream % STREAMS] = *end;
  pthread_mutex_unlock(&lock);
}

static int moved(const char *name, uint8_t kind, uint32_t cbid, void *to, const void *from, size_t bytes, Handle stream) {
  uint64_t start = now(), begin, end;
  uint32_t id = correlation ? correlation() : 0, number = (uint32_t)(uintptr_t)stream;
  reserve(number, bytes / 16 + 1, &begin, &end);
  did(name, number, begin, end);
  memmove(to, from, bytes);
  if (copy) copy(id, kind, bytes, number, 1, begin, end);
  if (call) call(4, cbid, id, start, 0);
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Handle stream) {
  CALLED();
  return moved("h2d", 1, 279, (void *)(uintptr_t)to, from, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Handle stream) {
  CALLED();
  int code = moved("d2h", 2, 281, to, (void *)(uintptr_t)from, bytes, stream);
  until(busy[(uintptr_t)stream % STREAMS]);
  return code;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Handle stream) {
  CALLED();
  return moved("d2d", 8, 283, (void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes, stream);
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  CALLED();
  copied(bytes, 13, 0);
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return 0;
}
int cuMemsetD8Async(uint64_t address, unsigned char value, size_t bytes, Handle stream) {
  CALLED();
  uint64_t start = now(), begin, end;
  uint32_t id = correlation ? correlation() : 0, number = (uint32_t)(uintptr_t)stream;
  reserve(number, bytes / 16 + 1, &begin, &end);
  did("memset", number, begin, end);
  memset((void *)(uintptr_t)address, value, bytes);
  if (fill) fill(id, bytes, number, begin, end);
  if (call) call(4, 200, id, start, 0);
  return 0;
}

static void work(const char *name, unsigned grid, unsigned stream, uint64_t ns, uint32_t id) {
  uint64_t begin, end;
  reserve(stream, ns + 700, &begin, &end);
  did(name, stream, begin, end);
  if (kernel) kernel(id, name, stream, grid, begin, end);
}

int cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Handle stream, void **arguments, void **extra) {
  (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)extra;
  CALLED();
  if (capturing) { nodes++; return 0; }
  uint64_t start = now(), ns = 300;
  uint32_t id = correlation ? correlation() : 0;
  if (arguments && !strcmp(function->name, "spin")) {
    ns = *(uint64_t *)arguments[1];
    uint64_t *out = (uint64_t *)(uintptr_t) * (uint64_t *)arguments[0];
    out[0] = start;
    out[1] = start + ns;
  }
  work(function->name, gx, (unsigned)(uintptr_t)stream, ns, id);
  if (call) call(4, 307, id, start, 0);
  return 0;
}

int cuEventRecord(Handle event, Handle stream) {
  CALLED();
  return fake_cuEventRecord((unsigned)(uintptr_t)event, (unsigned)(uintptr_t)stream);
}
int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
  (void)flags;
  CALLED();
  return fake_cuStreamWaitEvent((unsigned)(uintptr_t)stream, (unsigned)(uintptr_t)event);
}
int cuEventSynchronize(Handle event) { CALLED(); until(reached[(uintptr_t)event % EVENTS]); return 0; }
int cuEventQuery(Handle event) { CALLED(); return reached[(uintptr_t)event % EVENTS] <= now() ? 0 : 600; }

static uint64_t option(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}
static int elapsed(float *ms, Handle from, Handle to) {
  uint64_t step = option("FAKE_STEP_NS", 1), drift = option("FAKE_DRIFT_PPM", 0);
  int64_t begin = (int64_t)(reached[(uintptr_t)from % EVENTS] / step * step);
  int64_t end = (int64_t)(reached[(uintptr_t)to % EVENTS] / step * step);
  *ms = (float)((double)(end - begin) * (1 + (double)drift / 1e6) / 1e6);
  return 0;
}
int cuEventElapsedTime(float *ms, Handle from, Handle to) { CALLED(); return elapsed(ms, from, to); }
#ifndef OLD_DRIVER
int cuEventElapsedTime_v2(float *ms, Handle from, Handle to) { CALLED(); return elapsed(ms, from, to); }
#endif

int cuStreamBeginCapture_v2(Handle stream, int mode) { (void)stream; (void)mode; capturing = 1; nodes = 0; return 0; }
int cuStreamEndCapture(Handle stream, Handle *graph) { *graph = stream; capturing = 0; return 0; }
// What was captured is one behind the other. Its driver is one before edges had kinds.
static char captured[64], instances[64];
int cuGraphGetEdges(Handle graph, Handle *from, Handle *to, size_t *count) {
  (void)graph;
  size_t all = nodes ? nodes - 1 : 0;
  for (size_t i = 0; from && i < all && i < *count; i++) from[i] = &captured[i], to[i] = &captured[i + 1];
  *count = all;
  return 0;
}
int cuGraphInstantiateWithFlags(Handle *exec, Handle graph, unsigned long long flags) {
  struct { Handle *exec, graph; unsigned long long flags; } arguments = {exec, graph, flags};
  int code = 0;
  *exec = graph;
  for (unsigned i = 0; cloned && i < nodes; i++) cloned(&instances[i], &captured[i]);
  if (instantiating) instantiating(1, 643, &arguments, &code);
  return 0;
}
int cuGraphLaunch(Handle exec, Handle stream) {
  (void)exec;
  CALLED();
  uint64_t start = now(), begin, end;
  uint32_t id = correlation ? correlation() : 0, number = (uint32_t)(uintptr_t)stream;
  if (graph_trace && graph_trace(0, 0, 0, 0, 0)) {
    reserve(number, 2700ull * nodes, &begin, &end);
    graph_trace(id, 1, number, begin, end);
  } else {
    for (unsigned i = 0; i < nodes; i++) {
      if (node) node((uint64_t)(uintptr_t)&instances[i]);
      work("spin", i + 1, number, 2000, id);
    }
    if (node) node(0);
  }
  if (call) call(4, 514, id, start, 0);
  return 0;
}
