// RowConverter: converts rows from the layout of one table, such as a table in
// a checkpoint, to the layout of another.
//
// Weights are rounded to the nearest values that the other table's dtype can
// represent. The optimizer state is preserved if both optimizers have the same
// name and the same state size per row; otherwise the row gets the state of a
// new row. A row's usage is preserved if both tables evict rows.
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
  // The source or the destination of a conversion: a table's settings, and the
  // time of its clock (see RowUse). For a checkpoint, this is the time when the
  // table was saved.
  struct End {
    const TableConfig& config;
    uint32_t time;
  };

  // Returns InvalidArgument, naming both dimensions, if the tables differ in
  // output_dim. Precondition: both configs are valid.
  static Result<std::unique_ptr<RowConverter>> Make(const End& from,
                                                    const End& to);

  size_t from_row_bytes() const { return from_.row_bytes; }

  // Whether Convert leaves all rows as they are.
  bool is_identity() const;

  // Converts `row`, which belongs to `id`, and appends the result to `rows`.
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
