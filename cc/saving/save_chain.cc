#include "cc/saving/save_chain.h"

#include <algorithm>
#include <utility>

namespace persia {

uint64_t SaveChain::Base(const SlotSet& slots) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return base_.slots == slots ? KnownBase() : 0;
}

uint64_t SaveChain::known_base() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return base_moved_ ? 0 : KnownBase();
}

void SaveChain::NoteMove() {
  std::lock_guard<std::mutex> lock(mutex_);
  begun_moved_ = base_moved_ = true;
}

uint64_t SaveChain::KnownBase() const {
  const bool is_known =
      std::none_of(base_tables_.begin(), base_tables_.end(),
                   [](const auto& table) { return table->lost_changes(); });
  return is_known ? base_.save_id : 0;
}

void SaveChain::Begin(const ShardHeader& header, Tables tables) {
  std::lock_guard<std::mutex> lock(mutex_);
  begun_ = header;
  begun_moved_ = false;
  tables_ = std::move(tables);
}

Status SaveChain::Commit(const CommittedSave& save) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (committed_.save_id == save.save_id) return Status();
  PERSIA_RETURN_IF_ERROR(CheckIsBegun(save.save_id));
  for (const auto& table : tables_) table->CommitSave();
  base_ = begun_;
  base_moved_ = begun_moved_;
  base_tables_ = std::move(tables_);
  begun_ = ShardHeader();
  committed_ = save;
  return Status();
}

Status SaveChain::CheckBegun(uint64_t save_id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return CheckIsBegun(save_id);
}

Status SaveChain::CheckIsBegun(uint64_t save_id) const {
  if (begun_.save_id == save_id) return Status();
  return Status(Code::kFailedPrecondition,
                Concat("save ", save_id,
                       " is not the last that this shard began: the shard was "
                       "restarted, began another save, or dropped or cleared a "
                       "table since"));
}

void SaveChain::Break() {
  std::lock_guard<std::mutex> lock(mutex_);
  begun_ = base_ = ShardHeader();
  tables_.clear();
  base_tables_.clear();
}

CommittedSave SaveChain::committed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return committed_;
}

}  // namespace persia
