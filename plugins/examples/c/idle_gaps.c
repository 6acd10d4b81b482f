/* The ten longest times in which a thread ran no brick.
 *
 * The query sorts; the plugin makes the one pass over sorted rows that SQL
 * says badly: remember how far the bricks of this thread have reached. */
#include "trueno_table.h"

enum { TOP = 10 };

typedef struct {
  int64_t thread, start_ns, dur_ns;
} gap;

/* Keeps the longest gaps, longest first; of equal ones the earlier row. */
static void keep(gap *gaps, size_t *count, gap new_gap) {
  size_t at = *count;
  while (at > 0 && gaps[at - 1].dur_ns < new_gap.dur_ns) at--;
  if (at == TOP) return;
  if (*count < TOP) ++*count;
  memmove(gaps + at + 1, gaps + at, (*count - at - 1) * sizeof *gaps);
  gaps[at] = new_gap;
}

static trueno_status run_idle_gaps(const trueno_run *run) {
  gap gaps[TOP];
  size_t count = 0;
  int64_t thread = -1, reached_ns = 0, columns[3][TOP];
  trueno_reader in;
  trueno_open(&in, run, 0);
  int thread_column = trueno_column(&in, "thread", TRUENO_I64);
  int start_column = trueno_column(&in, "start_ns", TRUENO_I64);
  int end_column = trueno_column(&in, "end_ns", TRUENO_I64);
  while (trueno_next(&in)) {
    gap next = {trueno_i64(&in, thread_column), reached_ns, 0};
    next.dur_ns = trueno_i64(&in, start_column) - reached_ns;
    if (next.thread == thread && next.dur_ns > 0) keep(gaps, &count, next);
    int64_t end_ns = trueno_i64(&in, end_column);
    if (next.thread != thread || end_ns > reached_ns) reached_ns = end_ns;
    thread = next.thread;
  }
  if (trueno_close(&in) != TRUENO_OK) return in.status;
  for (size_t i = 0; i < count; i++)
    columns[0][i] = gaps[i].thread, columns[1][i] = gaps[i].start_ns, columns[2][i] = gaps[i].dur_ns;
  trueno_table out = trueno_rows(count);
  trueno_put_i64(&out, "thread", columns[0], NULL);
  trueno_put_i64(&out, "start_ns", columns[1], NULL);
  trueno_put_i64(&out, "dur_ns", columns[2], NULL);
  return trueno_emit(&out, run, "gaps");
}

static const trueno_input bricks = {
    sizeof bricks, 0, TRUENO_TEXT("bricks"),
    TRUENO_TEXT("SELECT CAST(thread AS BIGINT) AS thread, start_ns, start_ns + dur_ns AS end_ns FROM bricks "
                "WHERE kind = 'brick' ORDER BY thread, start_ns, id")};
static const trueno_input *const inputs[] = {&bricks};
static const trueno_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = TRUENO_PLUGIN_ABI_MINOR, .id = TRUENO_TEXT("idle_gaps"),
    .version = TRUENO_TEXT("1.0.0"), .summary = TRUENO_TEXT("The longest times in which a thread ran no brick."),
    .build = TRUENO_TEXT("C"), .inputs = inputs, .input_count = 1, .run = run_idle_gaps};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
