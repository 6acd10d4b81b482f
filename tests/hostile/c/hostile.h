/* hostile.h: what the broken plugins of this folder share.
 *
 * Each source is one library with one fault, told in its first line. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "trueno_table.h"

/* A run that does nothing. */
static inline trueno_status hostile_run(const trueno_run *run) {
  (void)run;
  return TRUENO_OK;
}

#define HOSTILE_INPUT(flags, name, sql) \
  {sizeof(trueno_input), (flags), TRUENO_TEXT(name), TRUENO_TEXT(sql)}

/* The fields of a descriptor; those of later versions can follow. */
#define HOSTILE_FIELDS(id_, inputs_, count_, run_)                                  \
  .struct_size = sizeof(trueno_plugin), .abi_minor = TRUENO_PLUGIN_ABI_MINOR,       \
  .id = TRUENO_TEXT(id_), .version = TRUENO_TEXT("1.0.0"),                          \
  .summary = TRUENO_TEXT("Broken on purpose."), .build = TRUENO_TEXT("C"),          \
  .inputs = (inputs_), .input_count = (count_), .run = (run_)

#define HOSTILE_PLUGIN(id_, inputs_, count_, run_) {HOSTILE_FIELDS(id_, inputs_, count_, run_)}

/* A plugin with one input, and its entry. */
#define HOSTILE_WITH_INPUT(id, flags, name, sql, run)                               \
  static const trueno_input input = HOSTILE_INPUT(flags, name, sql);                \
  static const trueno_input *const inputs[] = {&input};                             \
  static const trueno_plugin plugin = HOSTILE_PLUGIN(id, inputs, 1, run);           \
  const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }

#endif
