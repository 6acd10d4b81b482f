/* A plugin built against the frozen headers of version 1.1, and nothing newer.
 *
 * It must load and run in every host of major version 1. It counts the rows of
 * its input: of all ranks at once, or of each with part, added up by merge.
 * Never edit this folder. */

#include <stdlib.h>

#include "trueno_plugin.h"

/* A table of one column and one row, and its types. Nothing is static: part may
 * run for several ranks at once. */
struct one_row {
  int64_t rows;
  const void *none[1], *values[2];
  struct ArrowArray column, *columns[1];
};
struct one_schema {
  struct ArrowSchema field, *fields[1];
};
struct one_stream {
  int64_t rows;
  int given;
};

static void release_child_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_child_array(struct ArrowArray *array) { array->release = NULL; }
static void release_stream(struct ArrowArrayStream *stream) { stream->release = NULL; }
static void release_schema(struct ArrowSchema *schema) {
  free(schema->private_data);
  schema->release = NULL;
}
static void release_array(struct ArrowArray *array) {
  free(array->private_data);
  array->release = NULL;
}
static const char *last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "there is no memory left";
}

static int give_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  struct one_schema *own = malloc(sizeof *own);
  (void)stream;
  if (!own) return 12; /* ENOMEM */
  own->field = (struct ArrowSchema){.format = "l", .name = "rows", .release = release_child_schema};
  own->fields[0] = &own->field;
  *out = (struct ArrowSchema){.format = "+s", .name = "", .n_children = 1, .children = own->fields,
                              .release = release_schema, .private_data = own};
  return 0;
}

static int give_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  struct one_stream *of = stream->private_data;
  *out = (struct ArrowArray){0};
  if (of->given) return 0;
  struct one_row *own = malloc(sizeof *own);
  if (!own) return 12; /* ENOMEM */
  of->given = 1;
  own->rows = of->rows;
  own->none[0] = own->values[0] = NULL;
  own->values[1] = &own->rows;
  own->column = (struct ArrowArray){.length = 1, .n_buffers = 2, .buffers = own->values, .release = release_child_array};
  own->columns[0] = &own->column;
  *out = (struct ArrowArray){.length = 1, .n_buffers = 1, .buffers = own->none, .n_children = 1,
                             .children = own->columns, .release = release_array, .private_data = own};
  return 0;
}

static trueno_str text(const char *literal, size_t len) { return (trueno_str){literal, len}; }
#define LITERAL(s) text((s), sizeof(s) - 1)

static trueno_status emit_rows(const trueno_run *run, trueno_str name, int64_t rows) {
  struct one_stream of = {rows, 0};
  struct ArrowArrayStream out = {give_schema, give_next, last_error, release_stream, &of};
  return run->emit_table(run->host, name, &out);
}

/* The section of the report, whichever way the rows were counted. */
static trueno_status emit_section(const trueno_run *run, int64_t rows) {
  trueno_status status = emit_rows(run, LITERAL("seen"), rows);
  if (status != TRUENO_OK) return status;
  run->emit_chart(run->host, LITERAL("{\"kind\":\"bar\",\"title\":\"rows\",\"table\":\"seen\",\"x\":\"rows\",\"y\":\"rows\"}"));
  return run->emit_finding(run->host, LITERAL("{\"code\":\"ran\",\"severity\":\"info\",\"title\":\"version 1.1 runs\"}"));
}

static trueno_status count_rows(const trueno_run *run, int64_t *rows) {
  if (run->struct_size < TRUENO_RUN_SIZE_1_0) return TRUENO_FAILED;
  if (run->input_count != 2 || run->options.len < 2) {
    run->set_error(run->host, LITERAL("inputs or options are missing"));
    return TRUENO_FAILED;
  }
  if (run->cancelled(run->host)) return TRUENO_CANCELLED;
  struct ArrowArrayStream *bricks = run->inputs[0];
  struct ArrowArray batch = {0};
  while (bricks->get_next(bricks, &batch) == 0 && batch.release) {
    *rows += batch.length;
    batch.release(&batch);
  }
  return TRUENO_OK;
}

static trueno_status run_frozen(const trueno_run *run) {
  int64_t rows = 0;
  trueno_status status = count_rows(run, &rows);
  return status == TRUENO_OK ? emit_section(run, rows) : status;
}

/* The rows of one rank, to a table that merge reads. */
static trueno_status part_frozen(const trueno_run *run) {
  int64_t rows = 0;
  trueno_status status = count_rows(run, &rows);
  return status == TRUENO_OK ? emit_rows(run, LITERAL("counted"), rows) : status;
}

/* A row of `counted` for each part: to one row for all, or to the section. */
static trueno_status merge_frozen(const trueno_run *run) {
  if (run->struct_size < TRUENO_RUN_SIZE_1_1 || run->input_count != 1) return TRUENO_FAILED;
  struct ArrowArrayStream *counted = run->inputs[0];
  struct ArrowArray batch = {0};
  int64_t rows = 0;
  while (counted->get_next(counted, &batch) == 0 && batch.release) {
    const struct ArrowArray *column = batch.children[0];
    const int64_t *value = column->buffers[1];
    for (int64_t i = 0; i < batch.length; i++) rows += value[batch.offset + column->offset + i];
    batch.release(&batch);
  }
  return run->is_final ? emit_section(run, rows) : emit_rows(run, LITERAL("counted"), rows);
}

static const trueno_input bricks = {sizeof bricks, 0, TRUENO_TEXT("bricks"), TRUENO_TEXT("SELECT id FROM bricks")};
static const trueno_input other = {sizeof other, TRUENO_INPUT_OPTIONAL, TRUENO_TEXT("nobody"),
                                   TRUENO_TEXT("SELECT x FROM nobody.output")};
static const trueno_input counted = {sizeof counted, 0, TRUENO_TEXT("counted"),
                                     TRUENO_TEXT("SELECT rows FROM frozen.counted")};
static const trueno_input *const inputs[] = {&bricks, &other};
static const trueno_input *const merge_inputs[] = {&counted};
static const trueno_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = TRUENO_PLUGIN_ABI_MINOR, .id = TRUENO_TEXT("frozen"),
    .version = TRUENO_TEXT("1.0.0"), .summary = TRUENO_TEXT("Built against version 1.1."), .build = TRUENO_TEXT("C"),
    .inputs = inputs, .input_count = 2, .run = run_frozen, .part = part_frozen,
    .merge_inputs = merge_inputs, .merge_input_count = 1, .merge = merge_frozen};
const trueno_plugin *trueno_plugin_v1(void) { return &plugin; }
