/* Takes the order of rows for granted, and does not ask for it. */
#include "trueno_table.h"

static trueno_status run_unordered(const trueno_run *run) {
  int64_t last_ns = 0;
  trueno_reader in;
  trueno_open(&in, run, 0);
  int start_column = trueno_column(&in, "start_ns", TRUENO_I64);
  while (trueno_next(&in)) last_ns = trueno_i64(&in, start_column);
  if (trueno_close(&in) != TRUENO_OK) return in.status;
  trueno_table seen = trueno_rows(1);
  trueno_put_i64(&seen, "last_ns", &last_ns, NULL);
  return trueno_emit(&seen, run, "seen");
}

static const trueno_input bricks = {sizeof bricks, 0, TRUENO_TEXT("bricks"), TRUENO_TEXT("SELECT start_ns FROM bricks")};
static const trueno_input *const inputs[] = {&bricks};
static const trueno_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = TRUENO_PLUGIN_ABI_MINOR, .id = TRUENO_TEXT("unordered"),
    .version = TRUENO_TEXT("1.0.0"), .summary = TRUENO_TEXT("Takes the order of rows for granted."),
    .build = TRUENO_TEXT("C"), .inputs = inputs, .input_count = 1, .run = run_unordered};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
