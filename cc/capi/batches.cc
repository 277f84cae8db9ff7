#include <algorithm>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/capi/error.h"
#include "cc/capi/persia_batches.h"
#include "cc/columns/arrow_array.h"
#include "cc/columns/batch_boxes.h"
#include "cc/columns/gather.h"
#include "cc/columns/records.h"

int64_t persia_batches_open() { return persia::OpenBatchBox(); }

int persia_batches_put(int64_t box, void* array, int64_t times,
                       int64_t* number) {
  persia::HeldBatch batch(static_cast<ArrowArray*>(array));
  return persia::ReportStatus(persia::CatchBadAlloc([&] {
    auto put = persia::PutBatch(box, std::move(batch), times);
    if (put.ok()) *number = *put;
    return put.status();
  }));
}

void persia_batches_finish(int64_t box) { persia::FinishBatchBox(box); }

void persia_batches_close(int64_t box) { persia::CloseBatchBox(box); }

int persia_records_unpack(uint8_t* bytes, uint64_t size, int64_t* offsets,
                          uint64_t* count) {
  return persia::ReportStatus(persia::CatchBadAlloc([&] {
    std::vector<int64_t> found;
    const persia::Status status =
        persia::UnpackRecords(persia::MutableBytes(bytes, size), &found);
    std::copy(found.begin(), found.end(), offsets);
    *count = found.size() - 1;
    return status;
  }));
}

int persia_gather(const void* from, uint64_t count, uint64_t width,
                  const int32_t* places, uint64_t place_count, void* to) {
  return persia::ReportStatus(persia::Gather(
      persia::ConstBytes(static_cast<const uint8_t*>(from), count * width),
      width, persia::Span<const int32_t>(places, place_count),
      persia::MutableBytes(static_cast<uint8_t*>(to), place_count * width)));
}
