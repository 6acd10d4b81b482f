/* Not hostile: an optional input without a table reads as one without rows. */
#include "hostile.h"

static trueno_status run_optional(const trueno_run *run) {
  int64_t rows = 0;
  trueno_reader in;
  trueno_open(&in, run, 0);
  trueno_column(&in, "x", TRUENO_I64);
  while (trueno_next(&in)) rows++;
  if (trueno_close(&in) != TRUENO_OK) return in.status;
  trueno_table out = trueno_rows(1);
  trueno_put_i64(&out, "rows", &rows, NULL);
  return trueno_emit(&out, run, "seen");
}

HOSTILE_WITH_INPUT("optional_table", TRUENO_INPUT_OPTIONAL, "nobody", "SELECT x FROM nobody.output", run_optional)
