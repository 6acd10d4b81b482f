/* Not hostile: built against a later minor version, with fields appended. */
#include "hostile.h"

static const struct {
  trueno_plugin plugin;
  void *later[2];
} newer = {{sizeof newer, 7, TRUENO_TEXT("newer_minor"), TRUENO_TEXT("1.0.0"), TRUENO_TEXT("From the future."),
            TRUENO_TEXT("C"), NULL, 0, hostile_run},
           {NULL, NULL}};

const trueno_plugin *trueno_plugin_v1(void) { return &newer.plugin; }
