/* A plugin built against the frozen headers of version 1.0, and nothing newer.
 *
 * It must load and run in every host of major version 1. It uses every field:
 * counts the rows of its input, asks for options and cancellation, and emits
 * a table of one row, a finding and a chart. Never edit this folder. */

#include "trueno_plugin.h"

static int64_t rows_seen;

static int give_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out);
static int give_next(struct ArrowArrayStream *stream, struct ArrowArray *out);

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array) { array->release = NULL; }
static void release_stream(struct ArrowArrayStream *stream) { stream->release = NULL; }
static const char *last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return NULL;
}

/* All in static storage: nothing to free, so release only marks. */
static struct ArrowSchema field, *fields[] = {&field};
static struct ArrowArray column, *columns[] = {&column};
static const void *none[1], *values[] = {NULL, &rows_seen};

static int give_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  (void)stream;
  field = (struct ArrowSchema){.format = "l", .name = "rows", .release = release_schema};
  *out = (struct ArrowSchema){.format = "+s", .name = "", .n_children = 1, .children = fields, .release = release_schema};
  return 0;
}

static int give_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  int *given = stream->private_data;
  *out = (struct ArrowArray){0};
  if (*given) return 0;
  *given = 1;
  column = (struct ArrowArray){.length = 1, .n_buffers = 2, .buffers = values, .release = release_array};
  *out = (struct ArrowArray){
      .length = 1, .n_buffers = 1, .buffers = none, .n_children = 1, .children = columns, .release = release_array};
  return 0;
}

static trueno_str text(const char *literal, size_t len) { return (trueno_str){literal, len}; }
#define LITERAL(s) text((s), sizeof(s) - 1)

static trueno_status run_frozen(const trueno_run *run) {
  if (run->struct_size < TRUENO_RUN_SIZE_1_0) return TRUENO_FAILED;
  if (run->input_count != 2 || run->options.len < 2) {
    run->set_error(run->host, LITERAL("inputs or options are missing"));
    return TRUENO_FAILED;
  }
  if (run->cancelled(run->host)) return TRUENO_CANCELLED;
  struct ArrowArrayStream *bricks = run->inputs[0];
  struct ArrowArray batch = {0};
  rows_seen = 0;
  while (bricks->get_next(bricks, &batch) == 0 && batch.release) {
    rows_seen += batch.length;
    batch.release(&batch);
  }
  int given = 0;
  struct ArrowArrayStream out = {give_schema, give_next, last_error, release_stream, &given};
  trueno_status status = run->emit_table(run->host, LITERAL("seen"), &out);
  if (status != TRUENO_OK) return status;
  run->emit_chart(run->host, LITERAL("{\"kind\":\"bar\",\"title\":\"rows\",\"table\":\"seen\",\"x\":\"rows\",\"y\":\"rows\"}"));
  return run->emit_finding(run->host, LITERAL("{\"code\":\"ran\",\"severity\":\"info\",\"title\":\"version 1.0 runs\"}"));
}

static const trueno_input bricks = {sizeof bricks, 0, TRUENO_TEXT("bricks"), TRUENO_TEXT("SELECT id FROM bricks")};
static const trueno_input other = {sizeof other, TRUENO_INPUT_OPTIONAL, TRUENO_TEXT("nobody"),
                                   TRUENO_TEXT("SELECT x FROM nobody.output")};
static const trueno_input *const inputs[] = {&bricks, &other};
static const trueno_plugin plugin = {
    sizeof plugin, TRUENO_PLUGIN_ABI_MINOR, TRUENO_TEXT("frozen"), TRUENO_TEXT("1.0.0"),
    TRUENO_TEXT("Built against version 1.0."), TRUENO_TEXT("C"), inputs, 2, run_frozen};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
