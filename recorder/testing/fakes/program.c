// A program that does what its arguments say, and prints what it launched: the truth for the tests.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../acceptance/written.h"
#include "nvtx.h"

int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxGetCurrent(void **);
int cuStreamCreate(unsigned *, unsigned);
int cuLaunchKernel(const char *, unsigned, unsigned, unsigned);
int cuMemcpyHtoD_v2(uint64_t);
int cuMemcpyHtoDAsync_v2(uint64_t, unsigned);
int cuMemsetD8Async(uint64_t, unsigned);
int cuFakeGraph(unsigned, unsigned, unsigned);
int cuFakeMemory(unsigned, unsigned, uint64_t, uint64_t);
void cuFakeFromPool(uint64_t, uint64_t, uint64_t, uint64_t);
int cuFakePool(unsigned, uint64_t, uint64_t);
int cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cuGraphLaunch(void *, unsigned);
int cuEventRecord(unsigned, unsigned);
int cuStreamWaitEvent(unsigned, unsigned);
int cuStreamSynchronize(unsigned);
int cuCtxSynchronize(void);
int cuFakeJit(unsigned);
int cuFakeHost(unsigned, unsigned);
int cuEventQuery(unsigned);

static unsigned launches;

static void launch(const char *name, unsigned stream, unsigned micros, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    unsigned number = __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
    cuLaunchKernel(name, number, micros, stream);
    printf("kernel %s %u %u\n", name, stream, number);
  }
}

static unsigned of_thread;
static const char *name_of_thread;
static void *thread(void *number) {
  nvtx_push(name_of_thread);
  launch(name_of_thread, 20 + (unsigned)(uintptr_t)number, 1, of_thread);
  nvtx_pop();
  return NULL;
}

// A thread that launches and states no range, as autograd's.
static void *helper(void *count) {
  // It is gone before anyone reads the name that the kernel has of it.
  nvtx_name_thread("pt_autograd_0");
  launch("backward", 40, 1, (unsigned)(uintptr_t)count);
  return NULL;
}

// One that states a range.
static void *node(void *name) {
  nvtx_name_thread("pt_autograd_0");
  nvtx_push(name);
  launch("backward", 40, 1, 1);
  nvtx_pop();
  return NULL;
}

// Gives the calls that follow an id, as a library that knows CUPTI does; kind 0: none any more.
static void external(unsigned kind, uint64_t id) {
  void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  int (*push)(uint32_t, uint64_t) = (int (*)(uint32_t, uint64_t))dlsym(cupti, "cuptiActivityPushExternalCorrelationId");
  int (*pop)(uint32_t, uint64_t *) = (int (*)(uint32_t, uint64_t *))dlsym(cupti, "cuptiActivityPopExternalCorrelationId");
  if (kind) push(kind, id);
  else pop(kind, NULL);
}

// Puts functions of another profiler in the place of the recorder's, as torch.profiler does.
static uint8_t of_other[1 << 16];
static void other_requested(uint8_t **at, size_t *bytes, size_t *most) { *at = of_other; *bytes = sizeof of_other; *most = 0; }
static void other_completed(void *context, uint32_t stream, uint8_t *at, size_t bytes, size_t valid) {
  (void)context; (void)stream; (void)at; (void)bytes; (void)valid;
}
static void take_over(void) {
  void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  int (*register_callbacks)(void *, void *) = (int (*)(void *, void *))dlsym(cupti, "cuptiActivityRegisterCallbacks");
  register_callbacks((void *)other_requested, (void *)other_completed);
}

// Whether CUPTI records kernels.
static int records_kernels(void) {
  void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  int (*records)(void) = cupti ? (int (*)(void))dlsym(cupti, "fake_records_kernels") : NULL;
  return records && records();
}

int main(int count, char **words) {
  void *graph = NULL;
  for (int i = 1; i < count; i++) {
    char *verb = strtok(words[i], ":"), *a = strtok(NULL, ":"), *b = strtok(NULL, ":"), *c = strtok(NULL, ":"), *d = strtok(NULL, ":");
    for (char *at = a; at && *at; at++) if (*at == '~') *at = ' ';
#define IS(word) (strcmp(verb, word) == 0)
#define NUMBER(text) ((unsigned)strtoul((text) ? (text) : "0", NULL, 10))
    if (IS("init")) { void *context; cuInit(0); cuCtxCreate_v2(&context, 0, 0); }
    else if (IS("device")) { void *context; cuCtxCreate_v2(&context, 0, (int)NUMBER(a)); }
    else if (IS("jit")) cuFakeJit(NUMBER(a));
    else if (IS("host")) cuFakeHost(NUMBER(a), NUMBER(b));
    else if (IS("query")) printf("query %d\n", cuEventQuery(NUMBER(a)));
    else if (IS("stream")) { unsigned s = NUMBER(a); cuStreamCreate(&s, 1); }
    else if (IS("current")) { void *context; cuCtxGetCurrent(&context); }
    else if (IS("launch")) launch(a, NUMBER(b), NUMBER(c), d ? NUMBER(d) : 1);
    else if (IS("copy")) cuMemcpyHtoD_v2(NUMBER(a));
    else if (IS("copyasync")) cuMemcpyHtoDAsync_v2(NUMBER(a), NUMBER(b));
    else if (IS("fill")) cuMemsetD8Async(NUMBER(a), NUMBER(b));
    else if (IS("graph")) cuFakeGraph(NUMBER(a), NUMBER(b), NUMBER(c));
    else if (IS("take")) cuFakeMemory(1, NUMBER(a), NUMBER(b), NUMBER(c));
    else if (IS("give")) cuFakeMemory(2, NUMBER(a), NUMBER(b), NUMBER(c));
    else if (IS("frompool")) cuFakeFromPool(NUMBER(a), NUMBER(b), NUMBER(c), NUMBER(d));
    else if (IS("pool")) cuFakePool(NUMBER(a), NUMBER(b), NUMBER(c));
    else if (IS("external")) external(NUMBER(a), b ? strtoull(b, NULL, 10) : 0);
    else if (IS("instantiate")) cuGraphInstantiateWithFlags(&graph, a ? (void *)main : NULL, 0);
    else if (IS("replay")) for (unsigned n = NUMBER(b); n--;) cuGraphLaunch(graph, NUMBER(a));
    else if (IS("event")) cuEventRecord(NUMBER(a), NUMBER(b));
    else if (IS("wait")) cuStreamWaitEvent(NUMBER(a), NUMBER(b));
    else if (IS("sync")) cuCtxSynchronize();
    else if (IS("syncstream")) cuStreamSynchronize(NUMBER(a));
    else if (IS("push")) printf("level %d\n", nvtx_push(a));
    else if (IS("pop")) printf("level %d\n", nvtx_pop());
    else if (IS("domain")) { nvtx_domain_push(a, b, NUMBER(c)); nvtx_domain_pop(a); }
    else if (IS("category")) nvtx_name_category(NUMBER(a), b);
    else if (IS("registered")) { nvtx_registered(a, b); }
    else if (IS("wide")) { nvtx_wide_push(L"h\u00e9llo"); nvtx_pop(); }
    else if (IS("range")) { uint64_t outer = nvtx_start(a), inner = nvtx_start(b); nvtx_end(outer); nvtx_end(inner); }
    else if (IS("takeover")) take_over();
    else if (IS("mark")) nvtx_mark(a);
    else if (IS("namethread")) nvtx_name_thread(a);
    else if (IS("sleep")) usleep(1000 * NUMBER(a));
    else if (IS("written")) {
      if (!all_written(NUMBER(a))) { fprintf(stderr, "of %s kernels %u were written\n", a, kernels_written()); return 98; }
      printf("written\n");
      fflush(stdout);
    } else if (IS("stopped")) {
      for (unsigned turns = 0; records_kernels(); turns++) {
        if (turns == 12000) { fprintf(stderr, "after two minutes kernels are still recorded\n"); return 98; }
        usleep(10000);
      }
    }
    else if (IS("threads")) {
      pthread_t all[64];
      unsigned n = NUMBER(a);
      name_of_thread = b;
      of_thread = NUMBER(c);
      for (unsigned t = 0; t < n; t++) pthread_create(&all[t], NULL, thread, (void *)(uintptr_t)t);
      for (unsigned t = 0; t < n; t++) pthread_join(all[t], NULL);
    } else if (IS("helper") || IS("autograd")) {
      pthread_t thread;
      int is_helper = IS("helper");
      pthread_create(&thread, NULL, is_helper ? helper : node, is_helper ? (void *)(uintptr_t)NUMBER(a) : (void *)a);
      pthread_join(thread, NULL);
    } else if (IS("fork")) {
      fflush(stdout);
      pid_t child = fork();
      if (child == 0) { nvtx_push("in the child"); nvtx_pop(); if (a) _exit(0); exit(0); }
      waitpid(child, NULL, 0);
    } else if (IS("forkinit")) {
      fflush(stdout);
      pid_t child = fork();
      if (child == 0) { void *context; cuInit(0); cuCtxCreate_v2(&context, 0, 0); launch(a, 7, 1, NUMBER(b)); cuCtxSynchronize(); exit(0); }
      waitpid(child, NULL, 0);
    } else if (IS("exit")) { fflush(stdout); exit((int)NUMBER(a)); }
    else if (IS("_exit")) { fflush(stdout); _exit((int)NUMBER(a)); }
    else if (IS("abort")) { fflush(stdout); abort(); }
    else if (IS("raise")) { fflush(stdout); raise((int)NUMBER(a)); }
    else if (IS("fatal") || IS("unknown")) {
      void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
      void (*make)(void) = (void (*)(void))dlsym(cupti, IS("fatal") ? "fake_fatal" : "fake_unknown");
      make();
    } else if (IS("env")) printf("env %s=%s\n", a, getenv(a) ? getenv(a) : "");
    else { fprintf(stderr, "what is %s?\n", verb); return 99; }
  }
  return 0;
}
