// Follower: what a follower of a store has been sent, and what must still be
// sent.
//
// Thread-safe: a lock serializes its calls.

#ifndef PERSIA_CC_SERVICE_FOLLOWER_H_
#define PERSIA_CC_SERVICE_FOLLOWER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/base/status.h"
#include "cc/service/changes_request.h"
#include "cc/store/store.h"

namespace persia {

class Follower {
 public:
  // What is followed. `base_save` returns the save since which all changes are
  // known, or 0.
  struct Subject {
    const Store* store;
    std::function<uint64_t()> base_save;
  };

  // Must be destroyed, or release the tables by LetGo, before the store's
  // tables are destroyed.
  explicit Follower(const Subject& subject) : subject_(subject) {}

  // Answers a ChangesRequest. Throws std::bad_alloc. After that, or an error,
  // the next call starts over.
  Status Tell(ChangesRequest* request);

  // The table was dropped or replaced: releases it.
  void LetGo(TableKey table);

 private:
  struct Followed {
    TableConfig config;
    // Null once the table was dropped or replaced.
    std::unique_ptr<RowFeed> feed;
    // Not yet reported to the follower.
    TableFate fate = TableFate::kStays;
    bool is_known = false;  // Whether the follower has been told of the table.
    // About the last delta: whether it has the table, with which fate and which
    // ids.
    bool was_told = false;
    TableFate told_fate = TableFate::kStays;
    std::vector<int64_t> given{};
  };
  // The space left in a reply.
  struct Room;

  // All expect mutex_ to be held.
  void TellAgain(ChangesRequest* request);
  Status Begin(uint64_t base_save, uint64_t* epoch);
  bool Follow(FeedStart start);
  void FollowNewTables();
  void ForgetDropped();
  bool AnyLost() const;
  void Take(ChangesRequest* request);
  bool TakeFrom(Followed* followed, Room* room, ChangesRequest* request);

  const Subject subject_;
  std::mutex mutex_;
  // All below are guarded by mutex_.
  uint64_t epoch_ = 0;
  uint64_t version_ = 0;
  Begins begins_ = Begins::kNothing;  // What the last delta began.
  std::vector<Followed> tables_;
  uint64_t store_version_ = 0;  // The store's version when tables_ was updated.
  size_t first_ = 0;  // Index of the table that the next delta begins with.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FOLLOWER_H_
