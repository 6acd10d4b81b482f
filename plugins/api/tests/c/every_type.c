/* Hands every column of its input on, cell by cell: all that trueno_table.h can do. */
#include "trueno_table.h"

enum { MAX_ROWS = 5000 };

static trueno_status run_every_type(const trueno_run *run) {
  static int64_t i64s[MAX_ROWS];
  static uint64_t u64s[MAX_ROWS];
  static double f64s[MAX_ROWS];
  static uint8_t bools[MAX_ROWS], valid[4][MAX_ROWS];
  static trueno_str texts[MAX_ROWS];
  static char storage[MAX_ROWS][16];
  size_t rows = 0;
  trueno_reader in;
  trueno_open(&in, run, 0);
  int column[5] = {trueno_column(&in, "i", TRUENO_I64), trueno_column(&in, "u", TRUENO_U64),
                   trueno_column(&in, "f", TRUENO_F64), trueno_column(&in, "b", TRUENO_BOOL),
                   trueno_column(&in, "t", TRUENO_UTF8)};
  while (trueno_next(&in) && rows < MAX_ROWS) {
    i64s[rows] = trueno_i64(&in, column[0]);
    u64s[rows] = trueno_u64(&in, column[1]);
    f64s[rows] = trueno_f64(&in, column[2]);
    bools[rows] = (uint8_t)trueno_bool(&in, column[3]);
    for (int c = 0; c < 4; c++) valid[c][rows] = !trueno_is_null(&in, column[c]);
    texts[rows] = trueno_utf8(&in, column[4]);
    if (texts[rows].ptr) {
      memcpy(storage[rows], texts[rows].ptr, texts[rows].len);
      texts[rows].ptr = storage[rows];
    }
    rows++;
  }
  if (trueno_close(&in) != TRUENO_OK) return in.status;
  trueno_table out = trueno_rows(rows);
  trueno_put_i64(&out, "i", i64s, valid[0]);
  trueno_put_u64(&out, "u", u64s, valid[1]);
  trueno_put_f64(&out, "f", f64s, valid[2]);
  trueno_put_bool(&out, "b", bools, valid[3]);
  trueno_put_utf8(&out, "t", texts);
  trueno_status status = trueno_emit(&out, run, "same");
  if (status != TRUENO_OK) return status;
  return trueno_finding(run, "read", "info", "%zu \"rows\" \\ \n read", rows);
}

static const trueno_input cells = {sizeof cells, 0, TRUENO_TEXT("cells"), TRUENO_TEXT("SELECT * FROM cells")};
static const trueno_input *const inputs[] = {&cells};
static const trueno_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = TRUENO_PLUGIN_ABI_MINOR, .id = TRUENO_TEXT("every_type"),
    .version = TRUENO_TEXT("1.0.0"), .summary = TRUENO_TEXT("Hands its input on."),
    .build = TRUENO_TEXT("C"), .inputs = inputs, .input_count = 1, .run = run_every_type};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
