// A follower of a service whose tables have kDim columns.

#ifndef PERSIA_TESTS_CC_SERVICE_CHANGES_CALLS_H_
#define PERSIA_TESTS_CC_SERVICE_CHANGES_CALLS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "cc/service/changes_request.h"
#include "tests/cc/store/table_calls.h"

namespace persia {

using Weights = std::map<int64_t, Floats>;

// A copy of all tables, which Poll and CatchUp bring up to date.
class Copy {
 public:
  using Ask = std::function<Status(ChangesRequest*)>;

  explicit Copy(Ask ask, uint64_t follower = 7) : ask_(std::move(ask)) {
    position.follower = follower;
  }

  // Takes one delta; if it is `lost`, the reply is not applied.
  Status Poll(uint64_t max_rows = 1000, bool lost = false) {
    ChangesRequest request;
    request.deadline = DeadlineAfter(60);
    request.shard = shard;
    request.position = position;
    request.max_rows = max_rows;
    PERSIA_RETURN_IF_ERROR(ask_(&request));
    if (lost) return Status();
    Apply(request);
    return Status();
  }

  // Takes deltas until none is left. Returns how many ids were told.
  size_t CatchUp(uint64_t max_rows = 1000) {
    size_t all = 0;
    do {
      const Status status = Poll(max_rows);
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok()) break;
      all += told;
    } while (!complete);
    return all;
  }

  const Weights& operator[](const std::string& table) { return rows_[table]; }
  std::set<std::string> tables() const {
    std::set<std::string> names;
    for (const auto& [name, rows] : rows_) names.insert(name);
    return names;
  }

  FollowPosition position;
  uint32_t shard = 0;
  // What the last delta began.
  Begins begins = Begins::kNothing;
  // What the last delta that began something began.
  Begins began = Begins::kNothing;
  bool complete = false;
  size_t told = 0;  // Ids.
  // As of the last delta.
  OwnedSlots held;
  SlotSet fresh;

 private:
  void Apply(const ChangesRequest& request) {
    EXPECT_EQ(request.position.version,
              request.begins == Begins::kNothing ? position.version + 1 : 1);
    position = request.position;
    complete = request.complete;
    begins = request.begins;
    if (begins != Begins::kNothing) began = begins;
    NoteSlots(request);
    told = 0;
    for (const TableChanges& table : request.tables) ApplyTo(table);
    if (!complete) return;
    for (auto& [name, rows] : rows_) {
      for (auto row = rows.begin(); row != rows.end();) {
        const bool stays =
            !fresh_[SlotOf(row->first)] || told_[name].count(row->first) > 0;
        row = stays ? std::next(row) : rows.erase(row);
      }
    }
    fresh_.reset();
    told_.clear();
  }

  void NoteSlots(const ChangesRequest& request) {
    SlotSet stays = CommonSlots(held, request.held);
    if (begins != Begins::kNothing) stays.reset();
    fresh = request.fresh;
    fresh_ = (fresh_ & stays) | fresh;
    held = request.held;
    for (auto& [name, ids] : told_) {
      for (auto id = ids.begin(); id != ids.end();) {
        id = stays[SlotOf(*id)] ? std::next(id) : ids.erase(id);
      }
    }
  }

  void ApplyTo(const TableChanges& table) {
    if (table.fate != TableFate::kStays) {
      rows_.erase(table.config.name);
      told_.erase(table.config.name);
    }
    if (table.fate == TableFate::kDropped) return;
    Weights& rows = rows_[table.config.name];
    const size_t dim = table.config.dim;
    told += table.rows.size();
    ASSERT_EQ(table.rows.weights.size(), table.rows.ids.size() * dim);
    for (const int64_t id : table.rows.erased) rows.erase(id);
    for (size_t i = 0; i < table.rows.ids.size(); ++i) {
      const float* row = table.rows.weights.data() + i * dim;
      rows[table.rows.ids[i]] = Floats(row, row + dim);
      told_[table.config.name].insert(table.rows.ids[i]);
    }
  }

  const Ask ask_;
  std::map<std::string, Weights> rows_;
  SlotSet fresh_;
  // The ids that were told since their slots are fresh.
  std::map<std::string, std::set<int64_t>> told_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVICE_CHANGES_CALLS_H_
