// Follower: what one who follows a store has been told, and is still to be.
//
// Thread-safe: its calls are made one after the other.

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
  // What is followed. `base_save` gives the save since which all changes are
  // known, or 0.
  struct Subject {
    const Store* store;
    std::function<uint64_t()> base_save;
  };

  // Must end, or let go of them, before the store's tables do.
  explicit Follower(const Subject& subject) : subject_(subject) {}

  // See ChangesRequest. Throws std::bad_alloc; then, and after an error, it
  // begins anew when it is asked next.
  Status Tell(ChangesRequest* request);

  // The table was dropped, or another one has its place.
  void LetGo(TableKey table);

 private:
  struct Followed {
    TableConfig config;
    // Null once the table went.
    std::unique_ptr<RowFeed> feed;
    // What is still to be told.
    TableFate fate = TableFate::kStays;
    bool is_known = false;  // To the follower.
    // Of the last delta: whether it has the table, and which of its ids.
    bool was_told = false;
    TableFate told_fate = TableFate::kStays;
    std::vector<int64_t> given{};
  };
  // What is left of what a reply may hold.
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
  Begins begins_ = Begins::kNothing;  // Of the last delta.
  std::vector<Followed> tables_;
  uint64_t store_version_ = 0;  // Of the store whose tables these are.
  size_t first_ = 0;            // The table that the next delta begins with.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FOLLOWER_H_
