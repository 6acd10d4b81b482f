/* Not hostile: built against a later minor version, with fields appended. */
#include "hostile.h"

static const struct {
  trueno_plugin plugin;
  void *later[2];
} newer = {.plugin = {.struct_size = sizeof newer, .abi_minor = 7, .id = TRUENO_TEXT("newer_minor"),
                      .version = TRUENO_TEXT("1.0.0"), .summary = TRUENO_TEXT("From the future."),
                      .build = TRUENO_TEXT("C"), .run = hostile_run},
           .later = {NULL, NULL}};

const trueno_plugin *trueno_plugin_v1(void) { return &newer.plugin; }
