/* trueno_table.h: read and write tables in a few lines of C. Optional.
 *
 * Reading: open an input, look up columns by name and type, walk the rows.
 * The first error is kept and reported, ends the walk, and comes out of close.
 *
 *   trueno_reader in;
 *   trueno_open(&in, run, 0);
 *   int dur = trueno_column(&in, "dur_ns", TRUENO_I64);
 *   while (trueno_next(&in)) total += trueno_i64(&in, dur);
 *   if (trueno_close(&in) != TRUENO_OK) return in.status;
 *
 * Writing: columns from arrays, copied; then emit, which frees them.
 *
 *   trueno_table out = trueno_rows(count);
 *   trueno_put_i64(&out, "dur_ns", durs, NULL);
 *   return trueno_emit(&out, run, "longest");
 */
#ifndef TRUENO_TABLE_H
#define TRUENO_TABLE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trueno_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of columns, as Arrow spells them. */
#define TRUENO_I64 "l"
#define TRUENO_U64 "L"
#define TRUENO_F64 "g"
#define TRUENO_BOOL "b"
#define TRUENO_UTF8 "U"

/* Most columns of one table. */
#define TRUENO_MAX_COLUMNS 32

static inline trueno_str trueno_str_of(const char *text) {
  trueno_str out;
  out.ptr = text;
  out.len = text ? strlen(text) : 0;
  return out;
}

/* Sets the error of the run, as printf does, and returns status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline trueno_status
trueno_fail(const trueno_run *run, trueno_status status, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  run->set_error(run->host, trueno_str_of(text));
  return status;
}

/* Emits a finding with a title, as printf does; severity: info, warning, error. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static inline trueno_status
trueno_finding(const trueno_run *run, const char *code, const char *severity,
               const char *format, ...) {
  char title[512];
  char json[6 * sizeof title + 256];
  va_list args;
  va_start(args, format);
  vsnprintf(title, sizeof title, format, args);
  va_end(args);
  size_t length = strlen(title);
  if (length == sizeof title - 1) { /* cut: not in the middle of a character */
    while (length && ((unsigned char)title[length - 1] & 0xC0) == 0x80) length--;
    if (length && (unsigned char)title[length - 1] >= 0xC0) length--;
    title[length] = '\0';
  }
  int used = snprintf(json, 200, "{\"code\":\"%.60s\",\"severity\":\"%.20s\",\"title\":\"", code, severity);
  for (const char *c = title; *c; c++) {
    const char *how = *c == '"' || *c == '\\' ? "\\%c" : (unsigned char)*c < 0x20 ? "\\u%04x" : "%c";
    used += snprintf(json + used, 8, how, *c);
  }
  used += snprintf(json + used, 3, "\"}");
  trueno_str text;
  text.ptr = json;
  text.len = (size_t)used;
  return run->emit_finding(run->host, text);
}

/* ---- reading ---- */

typedef struct {
  const trueno_run *run;
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowArray batch;
  int64_t row; /* of the batch */
  trueno_status status;
} trueno_reader;

/* Moves input number `input` out of the run. */
static inline trueno_status trueno_open(trueno_reader *in, const trueno_run *run, size_t input) {
  memset(in, 0, sizeof *in);
  in->run = run;
  if (input >= run->input_count || run->inputs[input]->release == NULL) {
    in->status = trueno_fail(run, TRUENO_BAD_INPUT, "input %u is not there or was read before", (unsigned)input);
    return in->status;
  }
  in->stream = *run->inputs[input];
  run->inputs[input]->release = NULL;
  int code = in->stream.get_schema(&in->stream, &in->schema);
  if (code != 0) {
    const char *why = in->stream.get_last_error(&in->stream);
    in->status = trueno_fail(run, TRUENO_BAD_INPUT, "input %u failed with code %d: %s", (unsigned)input, code,
                             why ? why : "no reason given");
  }
  return in->status;
}

/* Number of a column, for the calls below. */
static inline int trueno_column(trueno_reader *in, const char *name, const char *type) {
  if (in->status != TRUENO_OK || in->schema.n_children == 0) return 0; /* no columns, no rows */
  for (int64_t i = 0; i < in->schema.n_children; i++) {
    const struct ArrowSchema *field = in->schema.children[i];
    if (strcmp(field->name, name) != 0) continue;
    if (strcmp(field->format, type) != 0)
      in->status = trueno_fail(in->run, TRUENO_BAD_INPUT, "column `%s` has Arrow type `%s`, but was read as `%s`", name,
                               field->format, type);
    return (int)i;
  }
  in->status = trueno_fail(in->run, TRUENO_BAD_INPUT, "there is no column `%s`", name);
  return 0;
}

static inline void trueno_drop_batch_(trueno_reader *in) {
  if (in->batch.release) in->batch.release(&in->batch);
  memset(&in->batch, 0, sizeof in->batch);
}

/* Goes to the next row; 0 at the end and after an error. */
static inline int trueno_next(trueno_reader *in) {
  if (in->status != TRUENO_OK || in->schema.n_children == 0) return 0;
  in->row++;
  while (in->batch.release == NULL || in->row >= in->batch.length) {
    trueno_drop_batch_(in);
    in->row = 0;
    int code = in->stream.get_next(&in->stream, &in->batch);
    if (code != 0) {
      const char *why = in->stream.get_last_error(&in->stream);
      in->status = trueno_fail(in->run, TRUENO_BAD_INPUT, "the input failed with code %d: %s", code,
                               why ? why : "no reason given");
      return 0;
    }
    if (in->batch.release == NULL) return 0; /* the end */
    int fits = in->batch.n_children == in->schema.n_children;
    for (int64_t i = 0; fits && i < in->batch.n_children; i++)
      fits = in->batch.children[i]->length >= in->batch.offset + in->batch.length;
    if (!fits) {
      in->status = trueno_fail(in->run, TRUENO_BAD_INPUT, "the columns of a batch do not fit its schema or its length");
      return 0;
    }
  }
  return 1;
}

/* Place of the row in the buffers: both offsets count. */
static inline const struct ArrowArray *trueno_cell_(const trueno_reader *in, int column, size_t *at) {
  const struct ArrowArray *array = in->batch.children[column];
  *at = (size_t)(in->batch.offset + array->offset + in->row);
  return array;
}

/* Whether the cell is null, which means: not measured. */
static inline int trueno_is_null(const trueno_reader *in, int column) {
  size_t at;
  const struct ArrowArray *array = trueno_cell_(in, column, &at);
  const uint8_t *bits = (const uint8_t *)array->buffers[0];
  return array->null_count != 0 && bits != NULL && !(bits[at / 8] >> (at % 8) & 1);
}

/* Copied byte by byte: buffers need not be aligned. A null reads as 0. */
static inline void trueno_load_(const trueno_reader *in, int column, void *out) {
  size_t at;
  const struct ArrowArray *array = trueno_cell_(in, column, &at);
  memset(out, 0, 8);
  if (!trueno_is_null(in, column)) memcpy(out, (const char *)array->buffers[1] + 8 * at, 8);
}

static inline int64_t trueno_i64(const trueno_reader *in, int column) {
  int64_t value;
  trueno_load_(in, column, &value);
  return value;
}

static inline uint64_t trueno_u64(const trueno_reader *in, int column) {
  uint64_t value;
  trueno_load_(in, column, &value);
  return value;
}

static inline double trueno_f64(const trueno_reader *in, int column) {
  double value;
  trueno_load_(in, column, &value);
  return value;
}

static inline int trueno_bool(const trueno_reader *in, int column) {
  size_t at;
  const struct ArrowArray *array = trueno_cell_(in, column, &at);
  return !trueno_is_null(in, column) && (((const uint8_t *)array->buffers[1])[at / 8] >> (at % 8) & 1);
}

/* Borrowed until the next call of trueno_next; a null has ptr NULL. */
static inline trueno_str trueno_utf8(const trueno_reader *in, int column) {
  size_t at;
  int64_t ends[2];
  const struct ArrowArray *array = trueno_cell_(in, column, &at);
  trueno_str out = {NULL, 0};
  if (trueno_is_null(in, column)) return out;
  memcpy(ends, (const char *)array->buffers[1] + 8 * at, sizeof ends);
  out.len = (size_t)(ends[1] - ends[0]);
  out.ptr = out.len ? (const char *)array->buffers[2] + ends[0] : "";
  return out;
}

/* Releases everything and returns the first error. */
static inline trueno_status trueno_close(trueno_reader *in) {
  trueno_drop_batch_(in);
  if (in->schema.release) in->schema.release(&in->schema);
  if (in->stream.release) in->stream.release(&in->stream);
  return in->status;
}

/* ---- writing ---- */

typedef struct {
  const char *name; /* borrowed until emit */
  const char *type;
  int64_t nulls;
  const void *buffers[3]; /* validity, values or offsets, text */
} trueno_out_column;

typedef struct {
  size_t rows;
  size_t count;
  int failed;
  trueno_out_column columns[TRUENO_MAX_COLUMNS];
} trueno_table;

/* A table of so many rows, without columns yet. */
static inline trueno_table trueno_rows(size_t rows) {
  trueno_table out;
  memset(&out, 0, sizeof out);
  out.rows = rows;
  return out;
}

static inline void *trueno_alloc_(size_t bytes) { return calloc(1, bytes + 8); }

static inline void trueno_free_(const void *buffers[3]) {
  for (int i = 0; i < 3; i++) free((void *)(uintptr_t)buffers[i]);
}

static inline uint8_t *trueno_pack_(const uint8_t *bytes, size_t rows) {
  uint8_t *bits = (uint8_t *)trueno_alloc_(rows / 8);
  for (size_t i = 0; bits && i < rows; i++)
    if (bytes[i]) bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << (i % 8));
  return bits;
}

static inline void trueno_put_(trueno_table *out, const char *name, const char *type, void *values, void *text,
                               const uint8_t *valid) {
  trueno_out_column *column = &out->columns[out->count];
  if (values == NULL || out->count == TRUENO_MAX_COLUMNS) {
    out->failed = 1;
    free(values);
    free(text);
    return;
  }
  out->count++;
  column->name = name;
  column->type = type;
  column->buffers[1] = values;
  column->buffers[2] = text;
  if (valid == NULL) return;
  column->buffers[0] = trueno_pack_(valid, out->rows);
  if (column->buffers[0] == NULL) out->failed = 1;
  for (size_t i = 0; i < out->rows; i++) column->nulls += !valid[i];
}

static inline void *trueno_copy_(const void *values, size_t rows) {
  void *copy = trueno_alloc_(8 * rows);
  if (copy && rows) memcpy(copy, values, 8 * rows);
  return copy;
}

/* valid: a byte a row, 0 makes it null; NULL when no row is null. */
static inline void trueno_put_i64(trueno_table *out, const char *name, const int64_t *values, const uint8_t *valid) {
  trueno_put_(out, name, TRUENO_I64, trueno_copy_(values, out->rows), NULL, valid);
}

static inline void trueno_put_u64(trueno_table *out, const char *name, const uint64_t *values, const uint8_t *valid) {
  trueno_put_(out, name, TRUENO_U64, trueno_copy_(values, out->rows), NULL, valid);
}

static inline void trueno_put_f64(trueno_table *out, const char *name, const double *values, const uint8_t *valid) {
  trueno_put_(out, name, TRUENO_F64, trueno_copy_(values, out->rows), NULL, valid);
}

/* A byte a row, 0 is false. */
static inline void trueno_put_bool(trueno_table *out, const char *name, const uint8_t *values, const uint8_t *valid) {
  trueno_put_(out, name, TRUENO_BOOL, trueno_pack_(values, out->rows), NULL, valid);
}

/* A text with ptr NULL is null. */
static inline void trueno_put_utf8(trueno_table *out, const char *name, const trueno_str *values) {
  int64_t *offsets = (int64_t *)trueno_alloc_(8 * out->rows);
  uint8_t *valid = (uint8_t *)trueno_alloc_(out->rows);
  size_t bytes = 0;
  for (size_t i = 0; i < out->rows; i++) bytes += values[i].ptr ? values[i].len : 0;
  char *text = (char *)trueno_alloc_(bytes);
  if (offsets == NULL || valid == NULL || text == NULL) {
    free(offsets);
    offsets = NULL; /* reported by emit */
  }
  for (size_t i = 0; offsets && i < out->rows; i++) {
    size_t len = values[i].ptr ? values[i].len : 0;
    if (len) memcpy(text + offsets[i], values[i].ptr, len);
    offsets[i + 1] = offsets[i] + (int64_t)len;
    valid[i] = values[i].ptr != NULL;
  }
  trueno_put_(out, name, TRUENO_UTF8, offsets, text, offsets ? valid : NULL);
  free(valid);
}

/* Structs of the columns, in one allocation with the list that points to them. */
typedef struct {
  struct ArrowSchema *list[TRUENO_MAX_COLUMNS];
  struct ArrowSchema items[TRUENO_MAX_COLUMNS];
} trueno_schemas_;

typedef struct {
  const void *none[1];
  struct ArrowArray *list[TRUENO_MAX_COLUMNS];
  struct ArrowArray items[TRUENO_MAX_COLUMNS];
} trueno_arrays_;

static inline void trueno_release_schema_(struct ArrowSchema *schema) {
  for (int64_t i = 0; i < schema->n_children; i++)
    if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
  free(schema->private_data);
  schema->release = NULL;
}

static inline void trueno_release_array_(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_children; i++)
    if (array->children[i]->release) array->children[i]->release(array->children[i]);
  free(array->private_data);
  array->release = NULL;
}

static inline void trueno_release_column_(struct ArrowArray *array) {
  trueno_free_(array->buffers);
  free(array->private_data);
  array->release = NULL;
}

static inline int trueno_get_schema_(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  const trueno_table *table = (const trueno_table *)stream->private_data;
  trueno_schemas_ *all = (trueno_schemas_ *)trueno_alloc_(sizeof *all);
  memset(out, 0, sizeof *out);
  if (all == NULL) return 12;
  out->format = "+s";
  out->name = "";
  out->n_children = (int64_t)table->count;
  out->children = all->list;
  out->release = trueno_release_schema_;
  out->private_data = all;
  for (size_t i = 0; i < table->count; i++) {
    struct ArrowSchema *field = &all->items[i];
    size_t length = strlen(table->columns[i].name);
    char *name = (char *)trueno_alloc_(length);
    if (name) memcpy(name, table->columns[i].name, length);
    all->list[i] = field;
    field->format = table->columns[i].type;
    field->name = name ? name : "";
    field->flags = ARROW_FLAG_NULLABLE;
    field->release = trueno_release_schema_;
    field->private_data = name;
  }
  return 0;
}

/* Hands the buffers over, in one batch. */
static inline int trueno_get_next_(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  trueno_table *table = (trueno_table *)stream->private_data;
  memset(out, 0, sizeof *out);
  if (table->rows == 0) return 0;
  trueno_arrays_ *all = (trueno_arrays_ *)trueno_alloc_(sizeof *all);
  if (all == NULL) return 12;
  size_t rows = table->rows;
  table->rows = 0; /* whatever happens below, the next call is the end */
  out->length = (int64_t)rows;
  out->n_buffers = 1;
  out->buffers = all->none;
  out->n_children = (int64_t)table->count;
  out->children = all->list;
  out->release = trueno_release_array_;
  out->private_data = all;
  for (size_t i = 0; i < table->count; i++) {
    struct ArrowArray *array = &all->items[i];
    trueno_out_column *column = &table->columns[i];
    const void **buffers = (const void **)trueno_alloc_(sizeof column->buffers);
    if (buffers == NULL) {
      out->n_children = (int64_t)i; /* what is complete goes; the rest stays with the table */
      trueno_release_array_(out);
      return 12;
    }
    memcpy(buffers, column->buffers, sizeof column->buffers);
    memset(column->buffers, 0, sizeof column->buffers);
    all->list[i] = array;
    array->length = (int64_t)rows;
    array->null_count = column->nulls;
    array->n_buffers = strcmp(column->type, TRUENO_UTF8) == 0 ? 3 : 2;
    array->buffers = buffers;
    array->release = trueno_release_column_;
    array->private_data = (void *)buffers;
  }
  return 0;
}

static inline const char *trueno_last_error_(struct ArrowArrayStream *stream) {
  (void)stream;
  return "out of memory";
}

static inline void trueno_release_stream_(struct ArrowArrayStream *stream) {
  trueno_table *table = (trueno_table *)stream->private_data;
  for (size_t i = 0; i < table->count; i++) trueno_free_(table->columns[i].buffers);
  free(table);
  stream->release = NULL;
}

/* Emits the table and frees it. Names are read before this returns. */
static inline trueno_status trueno_emit(trueno_table *out, const trueno_run *run, const char *name) {
  struct ArrowArrayStream stream;
  trueno_table *state = (trueno_table *)trueno_alloc_(sizeof *state);
  if (out->failed || state == NULL) {
    for (size_t i = 0; i < out->count; i++) trueno_free_(out->columns[i].buffers);
    free(state);
    return trueno_fail(run, TRUENO_FAILED, "table `%s`: out of memory, or more than %d columns", name,
                       TRUENO_MAX_COLUMNS);
  }
  *state = *out;
  memset(out, 0, sizeof *out);
  stream.get_schema = trueno_get_schema_;
  stream.get_next = trueno_get_next_;
  stream.get_last_error = trueno_last_error_;
  stream.release = trueno_release_stream_;
  stream.private_data = state;
  return run->emit_table(run->host, trueno_str_of(name), &stream);
}

#ifdef __cplusplus
}
#endif
#endif
