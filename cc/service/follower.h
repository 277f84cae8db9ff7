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

  // Must end before the store's tables do.
  explicit Follower(const Subject& subject) : subject_(subject) {}

  // See ChangesRequest. Throws std::bad_alloc; then, and after an error, it
  // begins anew when it is asked next.
  Status Tell(ChangesRequest* request);

 private:
  struct Followed {
    const Table* table;
    std::unique_ptr<RowFeed> feed;
    bool is_known = false;  // To the follower.
    // Of the last delta: whether it has the table, and which of its ids.
    bool was_told = false;
    std::vector<int64_t> given{};
  };
  // What is left of what a reply may hold.
  struct Room;

  // All expect mutex_ to be held.
  void TellAgain(ChangesRequest* request);
  Status Begin(uint64_t base_save, uint64_t* epoch);
  bool Follow(FeedStart start);
  void FollowNewTables();
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
  size_t first_ = 0;  // The table that the next delta begins with.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FOLLOWER_H_
