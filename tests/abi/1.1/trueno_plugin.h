/* trueno_plugin.h: how trueno-analyze talks to a plugin. Version 1.1.
 *
 * A plugin is a function from tables to tables. It never opens a run: the host
 * runs the queries that the plugin lists, lends their results as Arrow C
 * streams, and draws whatever comes back.
 *
 * What holds for everything below:
 *   - Ownership crosses only inside Arrow structs, by their release callbacks.
 *     Any other pointer is borrowed and dies when the call returns.
 *   - Text is UTF-8 with a length and no NUL at its end.
 *   - Nothing unwinds or jumps across a call, either way.
 *   - Structs grow at their end only; struct_size is the sizeof of the writer.
 *   - The host calls run on one thread, one run of a plugin at a time, and the
 *     plugin calls back on that thread only. Other plugins may run beside it on
 *     other threads. No thread of the plugin's outlives run. Of part, several
 *     may be under way at once, for a rank each, on a thread each.
 *   - The host never unloads a plugin.
 *
 * For small plugins in C, trueno_table.h reads and writes the streams.
 */
#ifndef TRUENO_PLUGIN_H
#define TRUENO_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "arrow_c_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A new major version has a new symbol name: a mismatch is a failed lookup and
 * never a misread struct. A new minor version only appends fields. */
#define TRUENO_PLUGIN_ABI_MAJOR 1
#define TRUENO_PLUGIN_ABI_MINOR 1
#define TRUENO_PLUGIN_ENTRY "trueno_plugin_v1"

#if defined(_WIN32)
#define TRUENO_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define TRUENO_EXPORT __attribute__((visibility("default")))
#else
#define TRUENO_EXPORT
#endif

typedef struct {
  const char *ptr; /* may be NULL when len is 0 */
  size_t len;      /* bytes */
} trueno_str;

/* A string literal as a trueno_str, to initialise static descriptors. */
#define TRUENO_TEXT(literal) {(literal), sizeof(literal) - 1}

/* Fixed numbers. A host takes one it does not know as TRUENO_FAILED. */
typedef int32_t trueno_status;
#define TRUENO_OK 0
#define TRUENO_FAILED 1     /* the message says why */
#define TRUENO_BAD_OPTION 2 /* the options of the user do not parse */
#define TRUENO_BAD_INPUT 3  /* the data breaks what the query promised */
#define TRUENO_CANCELLED 4  /* cancelled() was true, so the plugin stopped */
#define TRUENO_PANICKED 5   /* the Rust SDK caught a panic */

/* trueno_input.flags */
#define TRUENO_INPUT_BASELINE 1u /* ask the baseline run, not the subject */
#define TRUENO_INPUT_OPTIONAL 2u /* a missing table is an empty stream; it may have no columns */

/* One table the plugin wants: a query over the published tables, or over the
 * output of another plugin ("plugin_id.table"). Its columns arrive as i64 "l",
 * u64 "L", f64 "g", bool "b" or text with 64-bit offsets "U", nothing else. */
typedef struct {
  uint32_t struct_size;
  uint32_t flags;
  trueno_str name;
  trueno_str sql;
} trueno_input;

/* What the host lends for one run. */
typedef struct {
  uint32_t struct_size;
  uint32_t reserved;  /* zero; not to be read */
  void *host;         /* first argument of every callback below */
  trueno_str options; /* a JSON object, "{}" when the user gave none */

  /* In the order of declaration. A plugin may move a stream out and then has
   * to release it; the host releases what is left when run returns. */
  struct ArrowArrayStream *const *inputs;
  size_t input_count;

  /* The host moves the stream out at once, drains it before it returns, and
   * releases it on errors too. The types are those of inputs. */
  trueno_status (*emit_table)(void *host, trueno_str name,
                              struct ArrowArrayStream *table);
  /* {"code", "severity": "info"|"warning"|"error", "title"}, and if there is
   * more to say "detail", "suggestion", "evidence" (a query or row ids). */
  trueno_status (*emit_finding)(void *host, trueno_str json);
  /* {"kind", "title", "table", "x", "y", ...}; see the chart module of the SDK. */
  trueno_status (*emit_chart)(void *host, trueno_str json);

  /* Copies the text. The last one given is reported. */
  void (*set_error)(void *host, trueno_str message);
  /* Not 0 once the user wants to stop. */
  int32_t (*cancelled)(void *host);

  /* Since 1.1; a host of 1.0 ends before it. Of merge: not 0 when what it emits
   * is the section of the report, 0 when it is merged once more. */
  uint32_t is_final;
  uint32_t reserved_1; /* zero; not to be read */
} trueno_run;

/* A plugin, whole, in static storage. */
typedef struct {
  uint32_t struct_size;
  uint32_t abi_minor; /* the minor version it was built against */
  trueno_str id;      /* [a-z][a-z0-9_]*; file name and namespace of its tables */
  trueno_str version;
  trueno_str summary; /* one line */
  trueno_str build;   /* compiler, target, commit: for bug reports */

  /* Pointers, because trueno_input may grow. */
  const trueno_input *const *inputs;
  size_t input_count;

  trueno_status (*run)(const trueno_run *run);

  /* Since 1.1. A plugin that can work on the ranks of a job one by one says so
   * with part and merge, both or neither. Then a job needs the memory of one
   * rank. part gets the inputs with the rows of one rank, and emits tables that
   * nobody but merge reads. merge gets its own inputs: queries over "id.table",
   * the tables that part and merge emitted for some ranks, one rank after the
   * other, over tables of other plugins, and over run and ranks. It emits the
   * same tables for these ranks together, or, if is_final, what run emits. Both
   * ways give the same: run over all rows, and merge over parts in any grouping. */
  trueno_status (*part)(const trueno_run *run);
  const trueno_input *const *merge_inputs;
  size_t merge_input_count;
  trueno_status (*merge)(const trueno_run *run);
} trueno_plugin;

/* The one exported symbol. It does not fail, allocate or start threads. */
typedef const trueno_plugin *(*trueno_plugin_entry)(void);
TRUENO_EXPORT const trueno_plugin *trueno_plugin_v1(void);

/* Whether a struct from the other side reaches as far as a field. */
#define TRUENO_HAS(type, ptr, field) \
  ((ptr)->struct_size >= offsetof(type, field) + sizeof((ptr)->field))

/* How far every peer of major version 1 reaches. */
#define TRUENO_INPUT_SIZE_1_0 (offsetof(trueno_input, sql) + sizeof(trueno_str))
#define TRUENO_PLUGIN_SIZE_1_0 \
  (offsetof(trueno_plugin, run) + sizeof(void (*)(void)))
#define TRUENO_RUN_SIZE_1_0 \
  (offsetof(trueno_run, cancelled) + sizeof(void (*)(void)))

/* How far those reach that know parts. */
#define TRUENO_PLUGIN_SIZE_1_1 \
  (offsetof(trueno_plugin, merge) + sizeof(void (*)(void)))
#define TRUENO_RUN_SIZE_1_1 (offsetof(trueno_run, is_final) + sizeof(uint32_t))

#ifdef __cplusplus
}
#endif
#endif
