/* The part of the C interface with which `persia serve` parses requests. The
 * rules in the first comment of persia.h apply. */

#ifndef PERSIA_CC_CAPI_PERSIA_REQUESTS_H_
#define PERSIA_CC_CAPI_PERSIA_REQUESTS_H_

#include <stdint.h>

#include "cc/base/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct persia_body persia_body;

typedef struct {
  /* The signature's name; "" if the body has none. Valid until
   * persia_body_free. */
  const char* signature;
  int in_rows;  /* Not 0 for "instances"; 0 for "inputs". */
  int is_named; /* If 0, there is at most one column, which has no name. */
  int columns;
} persia_body_view;

typedef struct {
  const char* name; /* `name` and `shape` are valid until persia_body_free. */
  /* The kinds of values in the column, as a bit mask. 1: bool, 2: 64-bit
   * integer, 4: other number, 8: text, 16: bytes, 32: null, 64: other
   * object. */
  uint32_t kinds;
  int is_ragged; /* Not 0 if the values do not form an array. */
  int rank;
  const uint64_t* shape;
  uint64_t values;
  /* The total length of all texts, and of all bytes in base64. */
  uint64_t text_bytes;
  int64_t least; /* The minimum of 0 and the integers; `most` is the maximum. */
  uint64_t most;
} persia_body_column;

/* Where to write the values of a column, row by row. */
typedef struct {
  /* The form in which values are written. 0: not at all, 1: bools, one byte
   * each, 2: integers, 8 bytes each, 3: all numbers as doubles, 4: texts, which
   * are written to `texts`, while `values` gets the offset where each text
   * ends, 8 bytes each. */
  int form;
  void* values;
  uint64_t value_count; /* Must equal the column's `values`. */
  char* texts;
  uint64_t text_bytes; /* Must equal the column's `text_bytes`. */
  /* For form 4, one byte per value: whether the text is base64. */
  uint8_t* are_base64;
} persia_body_output;

/* Parses a JSON text, which must not change until the body is freed. The time
 * is proportional to the text's length. */
PERSIA_EXPORT int persia_body_scan(const void* text, uint64_t size,
                                   persia_body** body);
PERSIA_EXPORT void persia_body_get(const persia_body* body,
                                   persia_body_view* view);
PERSIA_EXPORT int persia_body_get_column(const persia_body* body, int column,
                                         persia_body_column* view);
/* Parses the text for the second time and writes the values of all columns;
 * `outputs` has one entry per column. Takes as long as persia_body_scan. */
PERSIA_EXPORT int persia_body_read(const persia_body* body,
                                   const persia_body_output* outputs,
                                   int count);
PERSIA_EXPORT void persia_body_free(persia_body* body);

/* Limits the memory that a serialized tensorflow.serving.PredictRequest takes
 * once it is decoded: see cc/json/predict_request.h. The time is proportional
 * to the message's size. */
PERSIA_EXPORT int persia_predict_request_check(const void* message,
                                               uint64_t size,
                                               uint64_t most_value_bytes);

#ifdef __cplusplus
}
#endif

#endif /* PERSIA_CC_CAPI_PERSIA_REQUESTS_H_ */
