// RowConverter: converts the rows of a checkpoint's table to the layout of
// another table.
//
// Weights are rounded to the nearest that the table can hold. State is kept if
// the optimizers have the same name and the same state size per row; otherwise
// a row gets the state of a new row. A row's usage is kept if both tables
// evict.
//
// Not thread-safe.

#ifndef PERSIA_CC_CHECKPOINT_ROW_CONVERTER_H_
#define PERSIA_CC_CHECKPOINT_ROW_CONVERTER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/optimizer/optimizer.h"
#include "cc/store/row_format.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

class RowConverter {
 public:
  // A table's settings, and the time of its clock (see RowUse): when it was
  // saved, or now.
  struct End {
    const TableConfig& config;
    uint32_t time;
  };

  // InvalidArgument, naming both, if the tables differ in output_dim. Both
  // configs must be valid.
  static Result<std::unique_ptr<RowConverter>> Make(const End& from,
                                                    const End& to);

  size_t from_row_bytes() const { return from_.row_bytes; }

  // Converts the row of an id and appends it to `rows`.
  void Convert(int64_t id, const std::byte* row, RawRows* rows);

 private:
  RowConverter() = default;

  void ConvertWeights(const std::byte* row, std::byte* converted);
  void ConvertState(const std::byte* row, std::byte* converted);
  void ConvertUse(const std::byte* row, std::byte* converted) const;

  size_t dim_ = 0;
  RowLayout from_{};
  RowLayout to_{};
  bool same_row_ = false;
  bool keeps_state_ = false;
  bool keeps_use_ = false;
  uint32_t from_time_ = 0;
  uint32_t to_time_ = 0;
  std::unique_ptr<RowFormat> from_format_;
  std::unique_ptr<RowFormat> to_format_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> weights_;
};

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_ROW_CONVERTER_H_
