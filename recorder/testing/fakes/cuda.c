// A driver without a device: `cuInit` loads the injected library as the real one does, and launches take the
// time that the test says, stream by stream. A kernel is its name; the size of its block's y is its length in
// microseconds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint32_t (*correlation)(void);
static void (*call)(uint32_t, uint32_t, uint32_t, uint64_t, uint32_t);
static void (*kernel)(uint32_t, const char *, uint32_t, uint32_t, uint64_t, uint64_t);
static void (*copy)(uint32_t, uint8_t, uint64_t, uint32_t, uint8_t, uint64_t, uint64_t);
static void (*fill)(uint32_t, uint64_t, uint32_t, uint64_t, uint64_t);
static void (*synced)(uint32_t, uint32_t, uint32_t, uint32_t, uint64_t, uint64_t);
static void (*recorded)(uint32_t, uint32_t, uint32_t, uint64_t, uint64_t);
static void (*context)(void *);
static void (*on_device)(uint32_t);
static void (*jit)(uint32_t, uint32_t, uint64_t);
static void (*host)(uint32_t, int, uint64_t, uint64_t);
static void (*queried)(uint32_t, uint32_t, uint64_t);
static void (*stream_made)(uint32_t);
static void (*memory)(uint32_t, uint32_t, uint32_t, uint64_t, uint64_t);
static void (*from_pool)(uint64_t, uint64_t, uint64_t, uint64_t);
static void (*pool)(uint32_t, uint32_t, uint64_t, uint64_t);
static void (*node)(uint64_t);
static void (*cloned)(void *, void *);
static void (*instantiating)(uint32_t, uint32_t, void *, int *);
static int (*graph_trace)(uint32_t, uint32_t, uint32_t, uint64_t, uint64_t);

enum { STREAMS = 64, EVENTS = 1 << 16 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t busy[STREAMS], reached[EVENTS], recording[EVENTS];
static uint64_t recordings;
static char the_context;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void until(uint64_t time) {
  for (uint64_t at = now(); at < time; at = now()) {
    struct timespec rest = {(time_t)((time - at) / 1000000000u), (long)((time - at) % 1000000000u)};
    nanosleep(&rest, NULL);
  }
}

int cuInit(unsigned flags) {
  (void)flags;
  static int done;
  if (done) return 0;
  done = 1;
  const char *path = getenv("CUDA_INJECTION64_PATH");
  if (path) {
    void *library = dlopen(path, RTLD_NOW);
    int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (start) start();
  }
  void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (cupti && dlsym(cupti, "fake_is_too_new")) cupti = NULL;
  if (!cupti) cupti = dlopen("libcupti.so.12", RTLD_NOW | RTLD_NOLOAD);
  if (cupti) {
    *(void **)&correlation = dlsym(cupti, "fake_correlation");
    *(void **)&call = dlsym(cupti, "fake_call");
    *(void **)&kernel = dlsym(cupti, "fake_kernel");
    *(void **)&copy = dlsym(cupti, "fake_copy");
    *(void **)&fill = dlsym(cupti, "fake_fill");
    *(void **)&synced = dlsym(cupti, "fake_sync");
    *(void **)&recorded = dlsym(cupti, "fake_event");
    *(void **)&context = dlsym(cupti, "fake_context");
    *(void **)&on_device = dlsym(cupti, "fake_device");
    *(void **)&jit = dlsym(cupti, "fake_jit");
    *(void **)&host = dlsym(cupti, "fake_host");
    *(void **)&queried = dlsym(cupti, "fake_query");
    *(void **)&stream_made = dlsym(cupti, "fake_stream");
    *(void **)&memory = dlsym(cupti, "fake_memory");
    *(void **)&from_pool = dlsym(cupti, "fake_from_pool");
    *(void **)&pool = dlsym(cupti, "fake_pool");
    *(void **)&node = dlsym(cupti, "fake_node");
    *(void **)&cloned = dlsym(cupti, "fake_cloned");
    *(void **)&instantiating = dlsym(cupti, "fake_instantiate");
    *(void **)&graph_trace = dlsym(cupti, "fake_graph");
  }
  return 0;
}

int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = getenv("FAKE_NO_DEVICE") ? 0 : 1; return *count ? 0 : 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int room, int device) {
  (void)device;
  const char *all = "Fake H100";
  int i = 0;
  for (; all[i] && i + 1 < room; i++) name[i] = all[i];
  name[i] = 0;
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) { (void)device; *value = attribute == 75 ? 9 : attribute == 115 ? 1 : 0; return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = 80ull << 30; return 0; }

int cuCtxCreate_v2(void **made, unsigned flags, int device) {
  (void)flags;
  *made = &the_context;
  if (on_device) on_device((uint32_t)device);
  if (context) context(&the_context);
  return 0;
}
int cuCtxPushCurrent_v2(void *which) { return which == &the_context ? 0 : 201; }
int cuCtxPopCurrent_v2(void **which) { *which = &the_context; return 0; }

int cuStreamCreate(unsigned *stream, unsigned flags) {
  (void)flags;
  if (stream_made) stream_made(*stream);
  return 0;
}

int cuCtxGetCurrent(void **which) {
  uint64_t start = now();
  *which = &the_context;
  if (call) call(4, 304, correlation(), start, 0);
  return 0;
}

int cuLaunchKernel(const char *name, unsigned gx, unsigned micros, unsigned stream) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  pthread_mutex_lock(&lock);
  uint64_t begin = now() + 500;
  if (busy[stream % STREAMS] > begin) begin = busy[stream % STREAMS];
  uint64_t end = begin + 1000u * micros;
  busy[stream % STREAMS] = end;
  pthread_mutex_unlock(&lock);
  if (kernel) kernel(id, name, stream, gx, begin, end);
  if (call) call(4, 307, id, start, 0);
  return 0;
}

static int copied(uint64_t bytes, unsigned stream, int async) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  pthread_mutex_lock(&lock);
  uint64_t begin = now() + 500;
  if (busy[stream % STREAMS] > begin) begin = busy[stream % STREAMS];
  uint64_t end = begin + bytes / 16 + 1;
  busy[stream % STREAMS] = end;
  pthread_mutex_unlock(&lock);
  if (copy) copy(id, 1, bytes, stream, (uint8_t)async, begin, end);
  if (!async) until(end);
  if (call) call(4, async ? 279 : 276, id, start, 0);
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t bytes) { return copied(bytes, 7, 0); }
int cuMemcpyHtoDAsync_v2(uint64_t bytes, unsigned stream) { return copied(bytes, stream, 1); }

// A graph of so many kernels of 2 us, one after the other.
int cuFakeGraph(unsigned graph, unsigned count, unsigned stream) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  pthread_mutex_lock(&lock);
  uint64_t begin = now() + 500;
  if (busy[stream % STREAMS] > begin) begin = busy[stream % STREAMS];
  busy[stream % STREAMS] = begin + 2000ull * count;
  pthread_mutex_unlock(&lock);
  if (!graph_trace || !graph_trace(id, graph, stream, begin, begin + 2000ull * count))
    for (unsigned i = 0; kernel && i < count; i++) kernel(id, "node", stream, i + 1, begin + 2000ull * i, begin + 2000ull * (i + 1));
  if (call) call(4, 514, id, start, 0);
  return 0;
}

// A graph of its own: `first` before `left` and `right`, both before an empty node, which is before `last`; `tail`
// may begin before `last` has ended.
enum { FIRST, LEFT, RIGHT, EMPTY, LAST, TAIL, NODES };
static char graph_nodes[NODES], graph_clones[2][NODES];
static const struct { unsigned from, to; uint8_t kind; } graph_edges[] = {
    {FIRST, LEFT, 0}, {FIRST, RIGHT, 0}, {LEFT, EMPTY, 0}, {RIGHT, EMPTY, 0}, {EMPTY, LAST, 0}, {LAST, TAIL, 1}};
enum { EDGES = sizeof graph_edges / sizeof *graph_edges };

int cuGraphGetEdges_v2(void *graph, void **from, void **to, uint8_t *data, size_t *count) {
  if (graph != graph_nodes) return 400;
  if (getenv("FAKE_NO_EDGES")) return 801;
  if (from && *count > EDGES) *count = EDGES;
  for (size_t i = 0; from && i < *count; i++) {
    from[i] = &graph_nodes[graph_edges[i].from], to[i] = &graph_nodes[graph_edges[i].to];
    if (!data) return 1000; // it would lose what kind of edge it is
    for (int byte = 0; byte < 8; byte++) data[8 * i + byte] = byte == 2 ? graph_edges[i].kind : 0;
  }
  if (!from) *count = EDGES;
  return 0;
}

int cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long flags) {
  static unsigned times;
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  struct { void **made; void *graph; unsigned long long flags; } arguments = {made, graph_nodes, flags};
  int code = graph ? 1 : 0;
  if (instantiating) instantiating(0, 643, &arguments, NULL);
  char *clone = graph_clones[times++ % 2];
  for (int i = 0; cloned && i < NODES; i++) cloned(&clone[i], &graph_nodes[i]);
  *made = clone;
  if (instantiating) instantiating(1, 643, &arguments, &code);
  if (call) call(4, 643, id, start, (uint32_t)code);
  return code;
}

int cuGraphLaunch(void *exec, unsigned stream) {
  static const struct { const char *name; unsigned node, begin, end; } all[] = {
      {"first", FIRST, 0, 2000}, {"left", LEFT, 2000, 5000}, {"right", RIGHT, 2000, 4000},
      {"last", LAST, 5000, 7000}, {"tail", TAIL, 6000, 9000}};
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  pthread_mutex_lock(&lock);
  uint64_t begin = now() + 500;
  if (busy[stream % STREAMS] > begin) begin = busy[stream % STREAMS];
  busy[stream % STREAMS] = begin + 9000;
  pthread_mutex_unlock(&lock);
  for (unsigned i = 0; kernel && node && i < 5; i++) {
    node((uint64_t)(uintptr_t)((char *)exec + all[i].node));
    kernel(id, all[i].name, stream, i + 1, begin + all[i].begin, begin + all[i].end);
  }
  if (node) node(0);
  if (call) call(4, 514, id, start, 0);
  return 0;
}

int cuFakeJit(unsigned operation) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  if (jit) jit(id, operation, now());
  until(now() + 2000);
  if (call) call(4, 302, id, start, 0);
  return 0;
}

// A function of the host, behind what the stream has, for 3 us.
int cuFakeHost(unsigned is_node, unsigned stream) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  uint64_t begin = busy[stream % STREAMS] > start ? busy[stream % STREAMS] : start;
  busy[stream % STREAMS] = begin + 3000;
  if (host) host(id, (int)is_node, begin, begin + 3000);
  if (call) call(4, is_node ? 514 : 527, id, start, 0);
  return 0;
}

int cuEventQuery(unsigned event) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  int is_over = reached[event % EVENTS] <= start;
  if (!is_over && queried) queried(id, event, start);
  if (call) call(4, 120, id, start, is_over ? 0 : 600);
  return is_over ? 0 : 600;
}

// Memory of that kind (2 pinned, 3 device) taken (1) or given back (2), by a call.
int cuFakeMemory(unsigned operation, unsigned kind, uint64_t address, uint64_t bytes) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  if (memory) memory(id, operation, kind, address, bytes);
  if (call) call(4, operation == 1 ? 243 : 245, id, start, 0);
  return 0;
}

void cuFakeFromPool(uint64_t kind, uint64_t address, uint64_t size, uint64_t used) {
  if (from_pool) from_pool(kind, address, size, used);
}

int cuFakePool(unsigned operation, uint64_t address, uint64_t used) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  if (pool) pool(id, operation, address, used);
  if (call) call(4, 600 + operation, id, start, 0);
  return 0;
}

int cuMemsetD8Async(uint64_t bytes, unsigned stream) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  uint64_t begin = now() + 500;
  if (fill) fill(id, bytes, stream, begin, begin + 100);
  if (call) call(4, 200, id, start, 0);
  return 0;
}

int cuEventRecord(unsigned event, unsigned stream) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  pthread_mutex_lock(&lock);
  uint64_t at = busy[stream % STREAMS] > start ? busy[stream % STREAMS] : start;
  reached[event % EVENTS] = at;
  uint64_t which = recording[event % EVENTS] = ++recordings;
  pthread_mutex_unlock(&lock);
  if (recorded) recorded(id, stream, event, which, at);
  if (call) call(4, 119, id, start, 0);
  return 0;
}

int cuStreamWaitEvent(unsigned stream, unsigned event) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  pthread_mutex_lock(&lock);
  if (busy[stream % STREAMS] < reached[event % EVENTS]) busy[stream % STREAMS] = reached[event % EVENTS];
  uint64_t which = recording[event % EVENTS];
  pthread_mutex_unlock(&lock);
  if (synced) synced(id, 2, stream, event, which, start);
  if (call) call(4, 295, id, start, 0);
  return 0;
}

int cuStreamSynchronize(unsigned stream) {
  uint64_t start = now();
  uint32_t id = correlation ? correlation() : 0;
  until(busy[stream % STREAMS]);
  if (synced) synced(id, 3, stream, 0, 0, start);
  if (call) call(4, 126, id, start, 0);
  return 0;
}

int cuCtxSynchronize(void) {
  uint64_t start = now(), last = 0;
  uint32_t id = correlation ? correlation() : 0;
  for (int i = 0; i < STREAMS; i++) if (busy[i] > last) last = busy[i];
  until(last);
  if (synced) synced(id, 4, 0xffffffffu, 0, 0, start);
  if (call) call(4, 17, id, start, 0);
  return 0;
}
