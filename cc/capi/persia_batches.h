/* The part of the C interface that hands batches of samples to ops. The rules
 * in the first comment of persia.h apply. */

#ifndef PERSIA_CC_CAPI_PERSIA_BATCHES_H_
#define PERSIA_CC_CAPI_PERSIA_BATCHES_H_

#include <stdint.h>

#include "cc/base/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of a new box for batches. */
PERSIA_EXPORT int64_t persia_batches_open(void);
/* Puts a batch into a box. `array` is an ArrowArray of Arrow's C data
 * interface, a record batch, which this call takes over. Sets `number` to the
 * batch's number in the box, with which the op PersiaTakeBatch takes rows of it
 * so many times. */
PERSIA_EXPORT int persia_batches_put(int64_t box, void* array, int64_t times,
                                     int64_t* number);
/* Says that no batch follows: frees the box once nothing can be taken. */
PERSIA_EXPORT void persia_batches_finish(int64_t box);
/* Frees a box with the batches that are left in it. */
PERSIA_EXPORT void persia_batches_close(int64_t box);

/* Moves the contents of the records in `bytes`, which are a part of a file that
 * TensorFlow wrote, to its front. Sets `count` to the number of records, and
 * `offsets`, which must have room for size / 16 + 1 numbers, to where each
 * begins and the last one ends. Fails if a record is damaged. */
PERSIA_EXPORT int persia_records_unpack(uint8_t* bytes, uint64_t size,
                                        int64_t* offsets, uint64_t* count);

/* Sets value i of `to` to value places[i] of the `count` values in `from`, all
 * of `width` bytes, which must be 1, 2, 4 or 8. Fails if there is no such
 * place. */
PERSIA_EXPORT int persia_gather(const void* from, uint64_t count,
                                uint64_t width, const int32_t* places,
                                uint64_t place_count, void* to);

#ifdef __cplusplus
}
#endif

#endif /* PERSIA_CC_CAPI_PERSIA_BATCHES_H_ */
