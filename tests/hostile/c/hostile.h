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

#define HOSTILE_PLUGIN(id, inputs, count, run)                                      \
  {sizeof(trueno_plugin), TRUENO_PLUGIN_ABI_MINOR, TRUENO_TEXT(id),                 \
   TRUENO_TEXT("1.0.0"),  TRUENO_TEXT("Broken on purpose."), TRUENO_TEXT("C"),      \
   (inputs),              (count),                           (run)}

/* A plugin with one input, and its entry. */
#define HOSTILE_WITH_INPUT(id, flags, name, sql, run)                               \
  static const trueno_input input = HOSTILE_INPUT(flags, name, sql);                \
  static const trueno_input *const inputs[] = {&input};                             \
  static const trueno_plugin plugin = HOSTILE_PLUGIN(id, inputs, 1, run);           \
  const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }

#endif
