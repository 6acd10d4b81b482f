/* What this plugin tells, in one line. (Change what is marked: Yours.)
 *
 * The query groups and sorts; the plugin makes the one pass over its rows. */
#include "trueno_table.h"

/* Yours: the most rows it can take. */
enum { MOST = 4096 };

/* Yours: the analysis. */
static trueno_status run_@ID@(const trueno_run *run) {
  static char texts[MOST][256];
  static trueno_str names[MOST];
  static int64_t total_ns[MOST];
  static double share[MOST];
  static uint8_t valid[MOST];
  size_t count = 0;
  int64_t all_ns = 0;
  /* Yours: options. As long as there are none, a user who gives one must learn it. */
  if (run->options.len > 2) return trueno_fail(run, TRUENO_BAD_OPTION, "this plugin takes none");
  trueno_reader in;
  trueno_open(&in, run, 0);
  int name_column = trueno_column(&in, "name", TRUENO_UTF8);
  int total_column = trueno_column(&in, "total_ns", TRUENO_I64);
  while (trueno_next(&in)) {
    if (trueno_is_null(&in, name_column) || trueno_is_null(&in, total_column)) continue;
    if (count == MOST) {
      trueno_close(&in);
      return trueno_fail(run, TRUENO_BAD_INPUT, "there are more than %d names", MOST);
    }
    /* What is read dies with its batch: a text is copied, and cut before it is too long. */
    trueno_str name = trueno_utf8(&in, name_column);
    size_t length = name.len < sizeof texts[0] ? name.len : sizeof texts[0];
    while (length < name.len && length && ((unsigned char)name.ptr[length] & 0xC0) == 0x80) length--;
    if (length) memcpy(texts[count], name.ptr, length);
    names[count].ptr = texts[count];
    names[count].len = length;
    total_ns[count] = trueno_i64(&in, total_column);
    if (__builtin_add_overflow(all_ns, total_ns[count], &all_ns)) {
      trueno_close(&in);
      return trueno_fail(run, TRUENO_BAD_INPUT, "the times add up to more than 2^63 ns");
    }
    count++;
  }
  if (trueno_close(&in) != TRUENO_OK) return in.status;
  for (size_t i = 0; i < count; i++) {
    valid[i] = all_ns > 0; /* not measured is null, never 0 */
    share[i] = all_ns > 0 ? (double)total_ns[i] / (double)all_ns : 0;
  }
  trueno_table out = trueno_rows(count);
  trueno_put_utf8(&out, "name", names);
  trueno_put_i64(&out, "total_ns", total_ns, NULL);
  trueno_put_f64(&out, "brick_share", share, valid);
  return trueno_emit(&out, run, "by_name");
}

/* Yours: the tables you need, as queries. `trueno-analyze tables RUN` shows what there is. */
static const trueno_input bricks = {
    sizeof bricks, 0, TRUENO_TEXT("bricks"),
    TRUENO_TEXT("SELECT name, CAST(SUM(dur_ns) AS BIGINT) AS total_ns FROM bricks "
                "WHERE kind = 'brick' AND timing <> 'bound' GROUP BY name ORDER BY name")};
static const trueno_input *const inputs[] = {&bricks};
static const trueno_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = TRUENO_PLUGIN_ABI_MINOR, .id = TRUENO_TEXT("@ID@"),
    .version = TRUENO_TEXT("0.1.0"), .build = TRUENO_TEXT("C"),
    /* Yours: the summary. */
    .summary = TRUENO_TEXT("How long each name took."),
    .inputs = inputs, .input_count = 1, .run = run_@ID@};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
