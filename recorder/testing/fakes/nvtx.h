// What a header-only NVTX 3 does in a program, as far as the tests need: at the first call it loads the
// library that NVTX_INJECTION64_PATH names, and calls through slots that the library may fill.
#pragma once
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

typedef void (*NvtxFunction)(void);
static NvtxFunction nvtx_core[16], nvtx_core2[16];
static NvtxFunction *nvtx_core_slots[16], *nvtx_core2_slots[16];
static int nvtx_module(int module, NvtxFunction ***table, unsigned *count) {
  if (module != 1 && module != 5) return 0;
  *table = module == 1 ? nvtx_core_slots : nvtx_core2_slots;
  *count = 16;
  return 1;
}
static struct { size_t size; int (*module)(int, NvtxFunction ***, unsigned *); } nvtx_callbacks = {16, nvtx_module};
static const void *nvtx_table(uint32_t id) { return id == 1 ? &nvtx_callbacks : NULL; }
static void nvtx_load(void) {
  for (int i = 1; i < 16; i++) { nvtx_core_slots[i] = &nvtx_core[i]; nvtx_core2_slots[i] = &nvtx_core2[i]; }
  const char *path = getenv("NVTX_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
  int (*start)(const void *(*)(uint32_t)) = library ? (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2") : NULL;
  if (start && !start(nvtx_table))
    for (int i = 0; i < 16; i++) nvtx_core[i] = nvtx_core2[i] = NULL;
}
static void nvtx_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, nvtx_load);
}

typedef struct {
  uint16_t version, size; uint32_t category; int32_t color_type; uint32_t color; int32_t payload_type;
  int32_t reserved; uint64_t payload; int32_t message_type; const void *message;
} NvtxAttributes;

#define NVTX_CALL(table, id, type, otherwise, ...) (nvtx_once(), table[id] ? ((type)table[id])(__VA_ARGS__) : otherwise)
#define NVTX_DO(table, id, type, ...) do { nvtx_once(); if (table[id]) ((type)table[id])(__VA_ARGS__); } while (0)

static int nvtx_push(const char *text) { return NVTX_CALL(nvtx_core, 9, int (*)(const char *), -2, text); }
static int nvtx_wide_push(const wchar_t *text) { return NVTX_CALL(nvtx_core, 10, int (*)(const wchar_t *), -2, text); }
static int nvtx_pop(void) { return NVTX_CALL(nvtx_core, 11, int (*)(void), -2); }
static uint64_t nvtx_start(const char *text) {
  NvtxAttributes a = {.version = 3, .size = sizeof a, .message_type = 1, .message = text};
  return NVTX_CALL(nvtx_core, 4, uint64_t (*)(const void *), 0, &a);
}
static void nvtx_end(uint64_t range) { NVTX_DO(nvtx_core, 7, void (*)(uint64_t), range); }
static void nvtx_mark(const char *text) { NVTX_DO(nvtx_core, 2, void (*)(const char *), text); }
static void nvtx_name_category(uint32_t id, const char *text) { NVTX_DO(nvtx_core, 12, void (*)(uint32_t, const char *), id, text); }
static void nvtx_name_thread(const char *text) { NVTX_DO(nvtx_core, 14, void (*)(uint32_t, const char *), (uint32_t)syscall(SYS_gettid), text); }
static void *nvtx_domain(const char *name) { return NVTX_CALL(nvtx_core2, 12, void *(*)(const char *), NULL, name); }
static void nvtx_domain_push(const char *domain, const char *text, uint32_t category) {
  NvtxAttributes a = {.version = 3, .size = sizeof a, .category = category, .message_type = 1, .message = text};
  NVTX_DO(nvtx_core2, 4, int (*)(void *, const void *), nvtx_domain(domain), &a);
}
static void nvtx_domain_pop(const char *domain) { NVTX_DO(nvtx_core2, 5, int (*)(void *), nvtx_domain(domain)); }
static void nvtx_registered(const char *domain, const char *text) {
  void *handle = nvtx_domain(domain);
  void *string = NVTX_CALL(nvtx_core2, 10, void *(*)(void *, const char *), NULL, handle, text);
  // Attributes of an earlier NVTX: no more of them than the message.
  NvtxAttributes a = {.version = 2, .size = sizeof a, .message_type = 3, .message = string};
  NVTX_DO(nvtx_core2, 4, int (*)(void *, const void *), handle, &a);
  NVTX_DO(nvtx_core2, 5, int (*)(void *), handle);
}
