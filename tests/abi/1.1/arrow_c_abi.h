/* arrow_c_abi.h: the three structs of the Arrow C data and stream interfaces.
 *
 * Layout and guards are those of the Arrow specification, so that this header
 * and any other copy of it can be included together. In short: whoever holds a
 * struct whose release is not NULL owns it and must call release once, or move
 * it (copy the struct, then set release to NULL in the old place). Children are
 * released by their parent. Producers keep all state behind private_data,
 * because a moved struct has a new address.
 */
#ifndef TRUENO_ARROW_C_ABI_H
#define TRUENO_ARROW_C_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/* Names and types. */
struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

/* One batch of one type. Rows offset .. offset + length of each buffer count. */
struct ArrowArray {
  int64_t length;
  int64_t null_count; /* -1: not counted */
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers; /* the first is the validity bitmap, or NULL */
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/* A schema, then batches until one comes out released. Calls return 0 or an
 * errno, and then get_last_error has the text until the next call. */
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif

#ifdef __cplusplus
}
#endif
#endif
