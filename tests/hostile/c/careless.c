/* Breaks the rules that loading cannot see: prints, is different each time, takes the order of rows for granted, emits
 * NaN and a ratio that is whole, and dereferences null when there are no rows. */
#include <unistd.h>

#include "trueno_table.h"

static trueno_status run_careless(const trueno_run *run) {
  int64_t rows = 0, last_ns = 0, process = getpid();
  double zero = 0;
  printf("careless was here\n");
  fflush(stdout);
  trueno_reader in;
  trueno_open(&in, run, 0);
  int start_column = trueno_column(&in, "start_ns", TRUENO_I64);
  for (; trueno_next(&in); rows++) last_ns = trueno_i64(&in, start_column);
  if (trueno_close(&in) != TRUENO_OK) return in.status;
  if (rows == 0) *(volatile int *)rows = 1;
  double nothing = zero / zero;
  trueno_table seen = trueno_rows(1);
  trueno_put_i64(&seen, "process", &process, NULL);
  trueno_put_i64(&seen, "busy_share", &rows, NULL);
  trueno_put_f64(&seen, "speed", &nothing, NULL);
  trueno_put_i64(&seen, "last_ns", &last_ns, NULL);
  return trueno_emit(&seen, run, "seen");
}

static const trueno_input bricks = {sizeof bricks, 0, TRUENO_TEXT("bricks"), TRUENO_TEXT("SELECT start_ns FROM bricks")};
static const trueno_input *const inputs[] = {&bricks};
static const trueno_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = TRUENO_PLUGIN_ABI_MINOR, .id = TRUENO_TEXT("careless"),
    .version = TRUENO_TEXT("1.0.0"), .summary = TRUENO_TEXT("Breaks the rules that loading cannot see."),
    .build = TRUENO_TEXT("C"), .inputs = inputs, .input_count = 1, .run = run_careless};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
