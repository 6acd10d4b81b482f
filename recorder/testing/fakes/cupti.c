// A CUPTI without a device: it makes the records that a device would have, in the layouts of CUPTI 13.0.85
// (or of 12.0, with -DOLDER; of 12.4, with -DEVENTS too), and delivers them as CUPTI does. Structs are written out here from NVIDIA's
// documentation, so that they check the decoder's offsets.
//
// With -DLATEST it is one of 13.4: no stream is 0, functions of the host have records. With -DCRASHES it ends the process
// when it is asked its version, as 13.2 does without a driver.
//
// Records come into a buffer in the order of the calls, and a buffer is not given back, full or not, before all work in it
// is over, unless the flush is forced. Queries of events that are not over have records until those are switched off.
//
// Versions, missing functions and refused kinds are those of NVIDIA's libraries of 11.8 (18), 12.0 (18), 12.1 (18), 12.2
// (20), 12.4 (22), 12.5 (23), 12.6 (24) and 13.0 (130001), called without a driver: up to 12.1 kind 36 is refused with
// 21, before 12.5 there is no cuptiActivityEnableDriverApi. With -DNEWER_THAN_DRIVER it refuses to be subscribed to, as
// 13.0 does beside a driver of 12.
//
// FAKE_CUPTI in the environment: held (another tool has CUPTI), drop (drops every 10th kernel),
// refuse (no synchronization records), notimes (kernels without times), backwards (kernels end before they
// start), hang (the last flush never returns).
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PACKED __attribute__((packed, aligned(8)))

typedef struct PACKED {
  uint32_t kind; uint8_t cache_config, shared_config; uint16_t registers;
  uint32_t partitioned_requested, partitioned_executed;
  uint64_t start, end, completed;
  uint32_t device, context, stream; int32_t grid[3], block[3];
  int32_t smem_static, smem_dynamic; uint32_t local_per_thread, local_total, correlation;
  int64_t grid_id; const char *name; void *reserved0; uint64_t queued, submitted;
  uint8_t launch_type, is_shared_carveout, carveout, padding; uint32_t smem_executed;
  uint64_t graph_node; uint32_t shmem_limit; uint32_t graph; void *access_policy;
  uint32_t channel, channel_type, cluster[3], scheduling; uint64_t local_total_v2;
#ifndef OLDER
  uint32_t max_potential_cluster, max_active_clusters; uint8_t device_launched; uint8_t padding2[7];
#else
  uint32_t max_potential_cluster, max_active_clusters;
#endif
} Kernel;

typedef struct PACKED {
  uint32_t kind; uint8_t copy_kind, src_kind, dst_kind, flags; uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation, pad; void *reserved0;
  uint64_t graph_node; uint32_t graph, channel, channel_type;
#ifndef OLDER
  uint8_t device_launched; uint8_t pad2[3]; uint64_t copy_count;
#else
  uint32_t pad2;
#endif
} Memcpy;

typedef struct PACKED {
  uint32_t kind, value; uint64_t bytes, start, end; uint32_t device, context, stream, correlation;
  uint16_t flags, memory_kind; uint32_t pad; void *reserved0; uint64_t graph_node;
  uint32_t graph, channel, channel_type, pad2;
} Memset;

typedef struct PACKED {
  uint32_t kind, cbid; uint64_t start, end; uint32_t process, thread, correlation, status;
} Api;

typedef struct PACKED {
  uint32_t kind, type; uint64_t start, end; uint32_t correlation, context, stream, event;
#ifndef OLDER
  uint64_t event_sync; uint32_t status, pad;
#endif
} Sync;

typedef struct PACKED {
  uint32_t kind, correlation, context, stream, event, pad;
#ifndef OLDER
  uint32_t device, pad2; void *reserved; uint64_t time, event_sync;
#endif
} Event;

typedef struct PACKED {
  uint32_t kind, overhead, object; uint32_t id[3]; uint64_t start, end;
#ifndef OLDER
  uint32_t correlation, reserved0; void *data;
#endif
} Overhead;

typedef struct PACKED { uint32_t kind, context, device; uint16_t api, null_stream; uint32_t parent; uint8_t green, pad; uint16_t sms; uint32_t cig, pad2; } Context;
typedef struct PACKED { uint32_t kind, context, stream, priority, flag, correlation; } Stream;

typedef struct PACKED {
  uint32_t kind, flags; uint64_t bandwidth, memory; uint32_t constant, l2, warp_threads, clock, engines, sms,
  ipc, warps, blocks, smem_sm, regs_sm, regs_block, smem_block, threads_block, dims[6], major, minor, id, ecc;
  uint8_t uuid[16]; const char *name; uint8_t visible, mig, reserved[6]; uint32_t gpu_instance, compute_instance;
  uint8_t mig_uuid[16]; uint32_t numa[2];
} Device;

typedef struct PACKED { uint32_t kind, what; uint64_t id; uint32_t correlation, reserved; } External;

typedef struct PACKED {
  uint32_t kind, entry, operation, device; uint64_t start, end; uint32_t correlation, pad; uint64_t operation_id, cache_size; const char *path;
#ifndef OLDER
  uint32_t process, thread;
#endif
} Jit;

typedef struct PACKED { uint32_t kind, stream, context, device, correlation, graph; uint64_t node; uint32_t process, thread; uint64_t start, end; } HostNode;
typedef struct PACKED { uint32_t kind, stream, context, device, correlation, process, thread, pad; uint64_t start, end; } HostLaunch;

typedef struct PACKED {
  uint32_t kind, correlation; uint64_t start, end; uint32_t device, graph, context, stream; void *reserved;
#ifndef OLDER
  uint32_t end_device, end_context;
#endif
} GraphTrace;

typedef struct PACKED { uint32_t kind, device; uint64_t time; uint32_t what, data[5]; } Environment;

typedef struct PACKED {
  uint32_t kind, operation, memory_kind, correlation; uint64_t address, bytes, time, pc;
  uint32_t process, device, context, stream; const char *name; uint32_t async, pad; uint64_t pool[5];
#ifndef OLDER
  void *source;
#endif
} Memory;

typedef struct PACKED {
  uint32_t kind, operation, pool_kind, correlation, process, device; uint64_t least; uint64_t address, size, threshold, time, used;
#ifndef OLDER
  uint8_t managed, pad[7];
#endif
} Pool;

enum { MEMCPY = 1, MEMSET = 2, DRIVER = 4, RUNTIME = 5, DEVICE = 8, CONTEXT = 9, KERNEL = 10, OVERHEAD = 17,
       PEER = 22, CUDA_EVENT = 36, STREAM = 37, SYNC = 38, EXTERNAL = 39, INTERNAL = 48, MEMORY = 49, POOL = 50, GRAPH_TRACE = 51, JIT = 52, HOST_NODE = 56, HOST_LAUNCH = 58, ENVIRONMENT = 20 };

static size_t size_of(uint32_t kind) {
  switch (kind) {
  case KERNEL: return sizeof(Kernel);
  case MEMCPY: return sizeof(Memcpy);
  case MEMSET: return sizeof(Memset);
  case DRIVER: case RUNTIME: case INTERNAL: return sizeof(Api);
  case SYNC: return sizeof(Sync);
  case CUDA_EVENT: return sizeof(Event);
  case OVERHEAD: return sizeof(Overhead);
  case CONTEXT: return sizeof(Context);
  case STREAM: return sizeof(Stream);
  case DEVICE: return sizeof(Device);
  case EXTERNAL: return sizeof(External);
  case PEER: return 96;
  case MEMORY: return sizeof(Memory);
  case POOL: return sizeof(Pool);
  case GRAPH_TRACE: return sizeof(GraphTrace);
  case ENVIRONMENT: return sizeof(Environment);
  case JIT: return sizeof(Jit);
#ifdef LATEST
  case HOST_NODE: return sizeof(HostNode);
  case HOST_LAUNCH: return sizeof(HostLaunch);
#endif
  default: return 0;
  }
}

typedef void (*Requested)(uint8_t **, size_t *, size_t *);
typedef void (*Completed)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*Callback)(void *, uint32_t, uint32_t, const void *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Requested requested;
static Completed completed;
static Callback callback;
static uint64_t enabled;
// The buffer that is being filled (the last one), and those that are full and hold work that is not over.
typedef struct { uint8_t *at; size_t size, filled; uint64_t over; } Buffer;
static Buffer *buffers;
static size_t buffer_count;
static int is_filling;
static uint32_t correlations;
static size_t dropped;
static uint8_t muted[3][1024];
static uint8_t alone[1024]; // functions of the driver that are recorded without their kind

// 13.0 and 13.2 crash when they are called after their destructors; 12.4 and 12.9 do not (H200, driver 580.159).
static int is_gone;
#ifndef OLDER
static void destruct(void) { is_gone = 1; }
__attribute__((constructor)) static void construct(void) { atexit(destruct); }
#endif
static void is_alive(void) { if (is_gone) *(volatile int *)NULL = 0; }

static int says(const char *word) {
  const char *all = getenv("FAKE_CUPTI");
  return all && strstr(all, word) != NULL;
}

uint64_t fake_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Gives back buffers whose work is over; all of them if `forced`, and those of `filling` only if that is asked for.
static void deliver(int forced, int filling) {
  for (size_t i = 0; i < buffer_count;) {
    int is_last = is_filling && i == buffer_count - 1;
    if ((is_last && !filling) || (!forced && buffers[i].over > fake_now())) { i++; continue; }
    Buffer done = buffers[i];
    memmove(&buffers[i], &buffers[i + 1], (buffer_count - i - 1) * sizeof *buffers);
    buffer_count--;
    if (is_last) is_filling = 0;
    // Work that is not over has no end.
    for (size_t at = 0; forced && at < done.filled; at += size_of(*(uint32_t *)(done.at + at))) {
      Kernel *k = (Kernel *)(done.at + at);
      if (!size_of(k->kind)) break;
      if (k->kind == KERNEL && k->end > fake_now()) k->end = 0;
    }
    pthread_mutex_unlock(&lock);
    completed(NULL, 0, done.at, done.size, done.filled);
    pthread_mutex_lock(&lock);
    i = 0;
  }
}

static void append(const void *record, size_t size) {
  Buffer *last = is_filling ? &buffers[buffer_count - 1] : NULL;
  if (last && last->filled + size > last->size) {
    is_filling = 0;
    deliver(0, 0);
    last = NULL;
  }
  if (!is_filling) {
    size_t most = 0;
    uint8_t *fresh = NULL;
    size_t fresh_size = 0;
    pthread_mutex_unlock(&lock);
    requested(&fresh, &fresh_size, &most);
    pthread_mutex_lock(&lock);
    if (!fresh || fresh_size < size) { dropped++; return; }
    if (is_filling) { /* another thread was first */ completed(NULL, 0, fresh, fresh_size, 0); }
    else {
      buffers = realloc(buffers, (buffer_count + 1) * sizeof *buffers);
      buffers[buffer_count++] = (Buffer){fresh, fresh_size, 0, 0};
      is_filling = 1;
    }
  }
  last = &buffers[buffer_count - 1];
  memcpy(last->at + last->filled, record, size);
  last->filled += size;
  const Kernel *k = record;
  if (k->kind == KERNEL && k->end > last->over) last->over = k->end;
}

static int is_on(uint32_t kind) { return kind < 64 && (enabled >> kind & 1) && requested; }

static void put(const void *record) {
  uint32_t kind = *(const uint32_t *)record;
  pthread_mutex_lock(&lock);
  if (is_on(kind)) append(record, size_of(kind));
  pthread_mutex_unlock(&lock);
}

int fake_records_kernels(void) {
  pthread_mutex_lock(&lock);
  int on = is_on(KERNEL);
  pthread_mutex_unlock(&lock);
  return on;
}

// What the fake driver tells us.

uint32_t fake_correlation(void) { return __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED); }

// An id that another library gives to the calls of this thread; 0: none any more.
static __thread uint32_t external_kind;
static __thread uint64_t external_id;
int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) { external_kind = kind; external_id = id; return 0; }
int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last) { (void)kind; (void)last; external_kind = 0; return 0; }

void fake_call(uint32_t kind, uint32_t cbid, uint32_t correlation, uint64_t start, uint32_t status) {
  int domain = kind == DRIVER ? 1 : 2;
  if (cbid < 1024 && muted[domain][cbid]) return;
  int is_alone = kind == DRIVER && !is_on(DRIVER) && cbid < 1024 && alone[cbid] && requested;
  External e = {EXTERNAL, external_kind, external_id, correlation, 0};
  if (external_kind) put(&e);
  Api api = {kind, cbid, start, fake_now(), (uint32_t)getpid(), (uint32_t)gettid(), correlation, status};
  if (is_alone) {
    pthread_mutex_lock(&lock);
    append(&api, sizeof api);
    pthread_mutex_unlock(&lock);
  }
  put(&api);
}

// The device that work runs on, with a context of its own.
static __thread uint32_t device;
void fake_device(uint32_t which) { device = which; }

// The node of a graph that the next kernel stands for.
static uint64_t graph_node;
void fake_node(uint64_t node) { graph_node = node; }

void fake_kernel(uint32_t correlation, const char *name, uint32_t stream, uint32_t grid_x, uint64_t start, uint64_t end) {
  static unsigned count;
  Kernel k = {.kind = KERNEL, .registers = 32, .start = start, .end = end, .device = device, .context = device + 1,
              .stream = stream, .grid = {(int)grid_x, 2, 3}, .block = {128, 1, 1}, .smem_static = 48,
              .smem_dynamic = 1024, .correlation = correlation, .grid_id = correlation, .name = name, .graph_node = graph_node};
  if (says("notimes")) k.start = k.end = 0;
  if (says("backwards")) k.end = k.start - 5;
  pthread_mutex_lock(&lock);
  if (is_on(KERNEL)) {
    if (says("drop") && ++count % 10 == 0) dropped++;
    else append(&k, sizeof k);
  }
  pthread_mutex_unlock(&lock);
}

void fake_copy(uint32_t correlation, uint8_t kind, uint64_t bytes, uint32_t stream, uint8_t async, uint64_t start, uint64_t end) {
  Memcpy m = {.kind = MEMCPY, .copy_kind = kind, .src_kind = 1, .dst_kind = 3, .flags = async, .bytes = bytes,
              .start = start, .end = end, .device = device, .context = device + 1, .stream = stream, .correlation = correlation};
  put(&m);
}

void fake_fill(uint32_t correlation, uint64_t bytes, uint32_t stream, uint64_t start, uint64_t end) {
  Memset m = {.kind = MEMSET, .bytes = bytes, .start = start, .end = end, .context = 1, .stream = stream,
              .correlation = correlation, .memory_kind = 3};
  put(&m);
}

void fake_sync(uint32_t correlation, uint32_t type, uint32_t stream, uint32_t event, uint64_t event_sync, uint64_t start) {
  Sync s = {.kind = SYNC, .type = type, .start = start, .end = fake_now(), .correlation = correlation,
            .context = 1, .stream = stream, .event = event};
#ifndef OLDER
  s.event_sync = event_sync;
#else
  (void)event_sync;
#endif
  put(&s);
}

void fake_event(uint32_t correlation, uint32_t stream, uint32_t event, uint64_t event_sync, uint64_t time) {
  Event e = {.kind = CUDA_EVENT, .correlation = correlation, .context = 1, .stream = stream, .event = event};
#ifndef OLDER
  e.time = time;
  e.event_sync = event_sync;
#else
  (void)event_sync; (void)time;
#endif
  put(&e);
}

static void environments(void) {
  Environment e = {.kind = ENVIRONMENT, .time = fake_now(), .what = 1, .data = {1980, 2619}};
  put(&e);
  e.what = 3, e.data[0] = 123456, e.data[1] = 700000;
  put(&e);
  e.what = 9;
  put(&e);
}

static int has_context;

void fake_context(void *context) {
  struct { void *context, *handle, *descriptor; } data = {context, 0, 0};
  Device d = {.kind = DEVICE, .memory = 80ull << 30, .l2 = 50 << 20, .sms = 132, .major = 9, .minor = 0, .id = device, .name = "Fake H100"};
  for (int i = 0; i < 16; i++) d.uuid[i] = (uint8_t)(i + 1 + 64 * device);
  if (says("part")) {
    d.mig = 1;
    for (int i = 0; i < 16; i++) d.mig_uuid[i] = (uint8_t)(0x40 + i);
  }
  put(&d);
  Context c = {.kind = CONTEXT, .context = device + 1, .device = device, .api = 1, .null_stream = 7};
  if (says("green")) c.green = 1, c.sms = 16, c.parent = 9;
  put(&c);
  Stream s = {.kind = STREAM, .context = device + 1, .stream = 7, .flag = 3};
  put(&s);
  Overhead o = {.kind = OVERHEAD, .overhead = 3 << 16, .object = 2, .id = {(uint32_t)getpid(), (uint32_t)gettid(), 0},
                .start = fake_now() - 5000, .end = fake_now() - 1000};
  put(&o);
  environments();
  __atomic_store_n(&has_context, 1, __ATOMIC_RELEASE);
  if (callback) callback(NULL, 3, 1, &data);
}

// Whether graphs are recorded as a whole; then this is the record.
int fake_graph(uint32_t correlation, uint32_t graph, uint32_t stream, uint64_t start, uint64_t end) {
  if (!(enabled >> GRAPH_TRACE & 1)) return 0;
  if (!end) return 1; // only asked
  GraphTrace g = {.kind = GRAPH_TRACE, .correlation = correlation, .start = start, .end = end, .graph = graph, .context = 1, .stream = stream};
  put(&g);
  return 1;
}

// The pool that memory is taken from: of this process (1) or of another (2).
static struct { uint64_t kind, address, size, used; } from;
void fake_from_pool(uint64_t kind, uint64_t address, uint64_t size, uint64_t used) {
  from.kind = kind, from.address = address, from.size = size, from.used = used;
}

// One that is made (1), done away with (2) or trimmed (3).
void fake_pool(uint32_t correlation, uint32_t operation, uint64_t address, uint64_t used) {
  Pool p = {.kind = POOL, .operation = operation, .pool_kind = 1, .correlation = correlation, .process = (uint32_t)getpid(),
            .address = address, .size = 77, .time = fake_now(), .used = used};
  put(&p);
}

void fake_memory(uint32_t correlation, uint32_t operation, uint32_t kind, uint64_t address, uint64_t bytes) {
  Memory m = {.kind = MEMORY, .operation = operation, .memory_kind = kind, .correlation = correlation, .address = address,
              .bytes = bytes, .time = fake_now(), .process = (uint32_t)getpid(), .device = 0, .context = 1, .stream = 7,
              .pool = {from.kind, from.address, 0, from.size, from.used}};
  put(&m);
}

// The driver's compiler at work, for 500 ns.
void fake_jit(uint32_t correlation, uint32_t operation, uint64_t start) {
  Jit j = {.kind = JIT, .entry = 1, .operation = operation, .start = start, .end = start + 500, .correlation = correlation};
#ifndef OLDER
  j.process = (uint32_t)getpid(), j.thread = (uint32_t)gettid();
#endif
  put(&j);
}

// A function of the host that a stream calls, or a graph.
void fake_host(uint32_t correlation, int is_node, uint64_t start, uint64_t end) {
  HostNode n = {.kind = HOST_NODE, .correlation = correlation, .context = 1, .node = 5, .process = (uint32_t)getpid(), .thread = 7, .start = start, .end = end};
  HostLaunch l = {.kind = HOST_LAUNCH, .correlation = correlation, .context = 1, .process = (uint32_t)getpid(), .thread = 7, .start = start, .end = end};
  if (is_node) put(&n);
  else put(&l);
}

// A query of an event that is not over.
static int without_queries;
void fake_query(uint32_t correlation, uint32_t event, uint64_t start) {
  if (!without_queries) fake_sync(correlation, 1, 0xffffffffu, event, 0, start);
}
#ifndef OLDER
int cuptiActivityEnableAllSyncRecords(uint8_t enable) { without_queries = !enable; return 0; }
#endif

void fake_stream(uint32_t stream) {
  Stream s = {.kind = STREAM, .context = device + 1, .stream = stream, .flag = 2, .priority = 0};
  put(&s);
}

// Callbacks about graphs, as far as they were asked for.
static uint8_t told[8][1024];
void fake_cloned(void *node, void *original) {
  struct { void *graph, *original_graph, *node, *original, *type_and_pad, *dependency, *exec; } graph = {0, 0, node, original, 0, 0, 0};
  struct { void *context, *handle, *descriptor; } data = {0, 0, &graph};
  if (callback && told[3][20]) callback(NULL, 3, 20, &data);
}
void fake_instantiate(uint32_t site, uint32_t cbid, void *arguments, int *code) {
  struct { uint32_t site; const char *name; void *arguments; int *code; } data = {site, "cuGraphInstantiateWithFlags", arguments, code};
  if (callback && told[1][cbid]) callback(NULL, 1, cbid, &data);
}
// Nodes are told apart by their addresses.
#ifndef WITHOUT_NAMES
int cuptiGetGraphNodeId(void *node, uint64_t *number) {
  if (!node) return 1;
  *number = (uint64_t)(uintptr_t)node;
  return 0;
}
#endif

void fake_fatal(void) {
  struct { int code; const char *text; } state = {999, "the device fell off the bus"};
  if (callback) callback(NULL, 6, 1, &state);
}

// A kind that nobody knows, in front of what follows.
void fake_unknown(void) {
  uint32_t words[4] = {63, 0, 0, 0};
  pthread_mutex_lock(&lock);
  if (requested) append(words, sizeof words);
  pthread_mutex_unlock(&lock);
}

// What CUPTI exports.

int cuptiGetVersion(uint32_t *version) {
#ifdef ANCIENT
  *version = 17;
#elif defined(OLDER)
#ifdef EVENTS
  *version = 22;
#else
  *version = 18;
#endif
#else
#ifdef CRASHES
  abort();
#endif
#ifdef LATEST
  *version = 130400;
#else
  *version = 130001;
#endif
#endif
  return 0;
}

#ifdef NEWER_THAN_DRIVER
const int fake_is_too_new = 1;
#endif

int cuptiGetTimestamp(uint64_t *time) { *time = fake_now(); return 0; }

int cuptiSubscribe(void **subscriber, Callback function, void *data) {
  (void)data;
  if (says("held")) return 39;
#ifdef NEWER_THAN_DRIVER
  return 999;
#endif
  callback = function;
  *subscriber = &callback;
  return 0;
}

#ifndef OLDER
typedef struct { size_t size; const char *name; char *old; size_t old_size; } Params;
int cuptiSubscribe_v2(void **subscriber, Callback function, void *data, Params *params) {
  if (says("held")) {
    if (params && params->old && params->old_size > 16) strcpy(params->old, "CUPTI for Nsight");
    return 39;
  }
  return cuptiSubscribe(subscriber, function, data);
}
int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable) { (void)enable; return 0; }
#endif

int cuptiUnsubscribe(void *subscriber) { (void)subscriber; callback = NULL; return 0; }

int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid) {
  (void)subscriber;
  if (domain < 8 && cbid < 1024) told[domain][cbid] = enable != 0;
  return 0;
}

int cuptiSetThreadIdType(uint32_t type) { return type == 1 ? 0 : 1; }

int cuptiActivityRegisterCallbacks(Requested r, Completed c) {
  requested = r;
  completed = c;
  return 0;
}

int cuptiActivityEnable(uint32_t kind) {
  if (kind == 3) abort(); // it would serialise the program
  if (kind == SYNC && says("refuse")) return 27;
#if defined(OLDER) && !defined(EVENTS)
  if (kind == CUDA_EVENT) return 21; // as 12.0 and 12.1 say
#endif
  if (kind >= 64 || !size_of(kind)) return 21;
  if (kind == ENVIRONMENT && !__atomic_load_n(&has_context, __ATOMIC_ACQUIRE)) return 14; // 12.9, 13.0 and 13.2 before cuInit has returned (H200)
  pthread_mutex_lock(&lock);
  enabled |= 1ull << kind;
  pthread_mutex_unlock(&lock);
  if (kind == ENVIRONMENT) environments();
  return 0;
}

int cuptiActivityDisable(uint32_t kind) {
  is_alive();
  pthread_mutex_lock(&lock);
  if (kind < 64) enabled &= ~(1ull << kind);
  pthread_mutex_unlock(&lock);
  return 0;
}

#ifndef OLDER // They came with 12.5.
int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable) { if (cbid < 1024) muted[2][cbid] = !enable; return 0; }
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable) {
  if (cbid < 1024) { muted[1][cbid] = !enable; alone[cbid] = enable; }
  return 0;
}
#endif
int cuptiActivityEnableLatencyTimestamps(uint8_t enable) { (void)enable; return 0; }

int cuptiActivityFlushAll(uint32_t flag) {
  is_alive();
  if (says("hang") && flag) for (;;) pause();
  pthread_mutex_lock(&lock);
  if (requested) deliver(flag, 1);
  pthread_mutex_unlock(&lock);
  return 0;
}

#ifndef WITHOUT_GET_NEXT_RECORD
int cuptiActivityGetNextRecord(uint8_t *base, size_t valid, uint8_t **record) {
  uint8_t *next = base;
  if (*record) {
    size_t size = size_of(*(uint32_t *)*record);
    if (!size) return 21;
    next = *record + size;
  }
  if (next + 4 > base + valid) return 12;
  if (!size_of(*(uint32_t *)next)) return 21;
  *record = next;
  return 0;
}
#endif

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count) {
  (void)context; (void)stream;
  is_alive();
  pthread_mutex_lock(&lock);
  *count = dropped;
  dropped = 0;
  pthread_mutex_unlock(&lock);
  return 0;
}

#ifndef WITHOUT_NAMES
int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name) {
  static const struct { uint32_t domain, cbid; const char *name; } names[] = {
      {1, 307, "cuLaunchKernel"}, {1, 119, "cuEventRecord"}, {1, 295, "cuStreamWaitEvent"},
      {1, 126, "cuStreamSynchronize"}, {1, 17, "cuCtxSynchronize"}, {1, 276, "cuMemcpyHtoD_v2"},
      {1, 279, "cuMemcpyHtoDAsync_v2"}, {1, 304, "cuCtxGetCurrent"}, {1, 121, "cuEventSynchronize"},
      {1, 200, "cuMemsetD8Async"}, {1, 643, "cuGraphInstantiateWithFlags"}, {1, 514, "cuGraphLaunch"}, {2, 17, "cudaGetDevice_v3020"}, {2, 164, "cudaDeviceReset_v3020"},
      {2, 211, "cudaLaunchKernel_v7000"}, {2, 10, "cudaGetLastError_v3020"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].domain == domain && names[i].cbid == cbid) { *name = names[i].name; return 0; }
  return 1;
}
#endif

_Static_assert(offsetof(Kernel, correlation) == 92 && offsetof(Kernel, name) == 104, "as NVIDIA's headers");
_Static_assert(offsetof(Kernel, graph_node) == 144, "as NVIDIA's headers");
#ifndef OLDER
_Static_assert(sizeof(Kernel) == 216 && sizeof(Memcpy) == 96 && sizeof(Sync) == 56 && sizeof(Event) == 56, "13.0");
#else
_Static_assert(sizeof(Kernel) == 208 && sizeof(Memcpy) == 88 && sizeof(Sync) == 40 && sizeof(Event) == 24, "12.0");
#endif
_Static_assert(sizeof(Environment) == 40 && offsetof(GraphTrace, stream) == 36, "as NVIDIA's headers");
#ifndef OLDER
_Static_assert(sizeof(GraphTrace) == 56, "13.0");
#endif
_Static_assert(offsetof(Memory, address) == 16 && offsetof(Memory, device) == 52 && offsetof(Memory, name) == 64, "as NVIDIA's headers");
#ifndef OLDER
_Static_assert(sizeof(Memory) == 128, "13.0");
#endif
_Static_assert(sizeof(Memset) == 88 && sizeof(Api) == 40 && sizeof(Device) == 184 && sizeof(Stream) == 24, "as NVIDIA's headers");
_Static_assert(offsetof(Device, name) == 136 && offsetof(Device, id) == 112 && sizeof(Context) == 32, "as NVIDIA's headers");
