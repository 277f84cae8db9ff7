#include "cc/shard/row_placer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/hash.h"
#include "cc/checkpoint/row_converter.h"

namespace persia {
namespace {

// Takes the rows of these slots out of `delta`, and converts them.
RawRows TakeRows(RowDelta* delta, const SlotSet& slots,
                 RowConverter* converter) {
  const auto is_wanted = [&](int64_t id) { return slots[SlotOf(id)]; };
  RawRows rows;
  if (converter->is_identity() &&
      std::all_of(delta->ids.begin(), delta->ids.end(), is_wanted)) {
    rows.ids = std::move(delta->ids);
    rows.bytes = std::move(delta->bytes);
    return rows;
  }
  rows.ids.reserve(delta->ids.size());
  rows.bytes.reserve(delta->bytes.size());
  for (size_t i = 0; i < delta->ids.size(); ++i) {
    if (!is_wanted(delta->ids[i])) continue;
    converter->Convert(delta->ids[i],
                       delta->bytes.data() + i * converter->from_row_bytes(),
                       &rows);
  }
  return rows;
}

}  // namespace

Result<bool> RowPlacer::Place(ChangesRequest* changes, const SlotSet& slots) {
  const Gate::Pass pass(subject_.gate);
  for (TableChanges& table : changes->tables) {
    const auto placed = CatchBadAlloc([&] { return PlaceIn(&table, slots); });
    if (!placed.ok() || !*placed) return placed;
  }
  return true;
}

Result<bool> RowPlacer::PlaceIn(TableChanges* changes, const SlotSet& slots) {
  // The taker drops it if the program that did has not.
  if (changes->fate == TableFate::kDropped) return true;
  if (changes->fate == TableFate::kCleared) return false;
  const auto found = FindOrMake(*changes);
  if (!found.ok()) return found.status();
  Table* const table = *found;
  if (!(table->identity() == changes->identity)) return false;
  auto converter = RowConverter::Make({changes->config, changes->time},
                                      {table->config(), table->time()});
  if (!converter.ok()) return converter.status();
  const size_t row_bytes = (*converter)->from_row_bytes();
  if (changes->rows.bytes.size() != changes->rows.ids.size() * row_bytes) {
    return Status(
        Code::kDataLoss,
        Concat("rows of table \"", changes->config.name, "\" have ",
               changes->row_bytes, " bytes, but should have ", row_bytes));
  }
  const RawRows rows = TakeRows(&changes->rows, slots, converter->get());
  uint64_t log_end = 0;  // Unused: nothing is acknowledged yet.
  if (!rows.ids.empty()) {
    PERSIA_RETURN_IF_ERROR(subject_.writer->Place(table, rows, &log_end));
  }
  std::vector<int64_t> erased;
  for (const int64_t id : changes->rows.erased) {
    if (slots[SlotOf(id)]) erased.push_back(id);
  }
  if (erased.empty()) return true;
  RemoveRequest removal;
  removal.ids = erased;
  PERSIA_RETURN_IF_ERROR(subject_.writer->Remove(table, &removal, &log_end));
  return true;
}

Result<Table*> RowPlacer::FindOrMake(const TableChanges& changes) {
  const TableKey key = HashName(changes.config.name);
  const auto found = subject_.store->Find(key);
  if (found.ok()) return found;
  CreateTableRequest request;
  request.config = changes.config;
  request.step = OpeningStep::kPrepare;
  request.identity = changes.identity.number;
  uint64_t log_end = 0;
  PERSIA_RETURN_IF_ERROR(subject_.maker->Do(&request, &log_end));
  if (changes.identity.is_complete) {
    request.config = changes.config;
    request.step = OpeningStep::kComplete;
    request.identity = changes.identity.number;
    PERSIA_RETURN_IF_ERROR(subject_.maker->Do(&request, &log_end));
  }
  return subject_.store->Find(key);
}

}  // namespace persia
