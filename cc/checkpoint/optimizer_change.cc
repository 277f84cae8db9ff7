#include "cc/checkpoint/optimizer_change.h"

#include <utility>

#include "cc/checkpoint/row_converter.h"

namespace persia {
namespace {

constexpr size_t kRowsAtOnce = 65536;

Status CopyRows(Table* from, Table* to) {
  auto converter = RowConverter::Make({from->config(), from->time()},
                                      {to->config(), to->time()});
  if (!converter.ok()) return converter.status();
  const auto frozen = from->Freeze();
  if (!frozen.ok()) return frozen.status();
  const size_t row_bytes = (*converter)->from_row_bytes();
  RawRows rows;
  RawRows converted;
  for (bool more = true; more;) {
    rows.clear();
    converted.clear();
    const Result<bool> read = (*frozen)->Read(kRowsAtOnce, &rows);
    if (!read.ok()) return read.status();
    more = *read;
    for (size_t i = 0; i < rows.ids.size(); ++i) {
      (*converter)
          ->Convert(rows.ids[i], rows.bytes.data() + i * row_bytes, &converted);
    }
    to->Restore(converted);
  }
  return Status();
}

}  // namespace

Result<std::shared_ptr<Table>> WithOptimizer(
    Table* table, const Spec& optimizer, std::shared_ptr<MemoryMeter> meter) {
  TableConfig config = table->config();
  config.optimizer = optimizer;
  auto made = MakeTable(config, nullptr, std::move(meter), table->share());
  if (!made.ok()) return made.status();
  // The copied rows are within the table's capacity, so no row may be evicted
  // during the copy.
  (*made)->SetEvicts(false);
  PERSIA_RETURN_IF_ERROR(CopyRows(table, made->get()));
  (*made)->SetRounded(table->Rounded());
  (*made)->SetEvicts(true);
  return made;
}

}  // namespace persia
