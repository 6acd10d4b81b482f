/* Prints sizes and offsets in the words of trueno_plugin::abi::LAYOUT_64, of the version whose
 * headers it is built with. */
#include <stdio.h>

#include "trueno_plugin.h"

#define SIZE(type) printf("sizeof %s %zu\n", #type, sizeof(type))
#define SIZE_OF_STRUCT(type) printf("sizeof %s %zu\n", #type, sizeof(struct type))
#define OFFSET(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(type, field))
#define OFFSET_IN_STRUCT(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(struct type, field))
#define VALUE(name) printf("%s %zu\n", #name, (size_t)(name))

int main(void) {
  SIZE(trueno_str);
  OFFSET(trueno_str, len);
  SIZE(trueno_input);
  OFFSET(trueno_input, flags);
  OFFSET(trueno_input, name);
  OFFSET(trueno_input, sql);
  SIZE(trueno_run);
  OFFSET(trueno_run, reserved);
  OFFSET(trueno_run, host);
  OFFSET(trueno_run, options);
  OFFSET(trueno_run, inputs);
  OFFSET(trueno_run, input_count);
  OFFSET(trueno_run, emit_table);
  OFFSET(trueno_run, emit_finding);
  OFFSET(trueno_run, emit_chart);
  OFFSET(trueno_run, set_error);
  OFFSET(trueno_run, cancelled);
#if TRUENO_PLUGIN_ABI_MINOR >= 1
  OFFSET(trueno_run, is_final);
  OFFSET(trueno_run, reserved_1);
#endif
  SIZE(trueno_plugin);
  OFFSET(trueno_plugin, abi_minor);
  OFFSET(trueno_plugin, id);
  OFFSET(trueno_plugin, version);
  OFFSET(trueno_plugin, summary);
  OFFSET(trueno_plugin, build);
  OFFSET(trueno_plugin, inputs);
  OFFSET(trueno_plugin, input_count);
  OFFSET(trueno_plugin, run);
#if TRUENO_PLUGIN_ABI_MINOR >= 1
  OFFSET(trueno_plugin, part);
  OFFSET(trueno_plugin, merge_inputs);
  OFFSET(trueno_plugin, merge_input_count);
  OFFSET(trueno_plugin, merge);
#endif
  VALUE(TRUENO_INPUT_SIZE_1_0);
  VALUE(TRUENO_PLUGIN_SIZE_1_0);
  VALUE(TRUENO_RUN_SIZE_1_0);
#if TRUENO_PLUGIN_ABI_MINOR >= 1
  VALUE(TRUENO_PLUGIN_SIZE_1_1);
  VALUE(TRUENO_RUN_SIZE_1_1);
#endif
  SIZE_OF_STRUCT(ArrowSchema);
  OFFSET_IN_STRUCT(ArrowSchema, private_data);
  SIZE_OF_STRUCT(ArrowArray);
  OFFSET_IN_STRUCT(ArrowArray, private_data);
  SIZE_OF_STRUCT(ArrowArrayStream);
  OFFSET_IN_STRUCT(ArrowArrayStream, private_data);
  return 0;
}
