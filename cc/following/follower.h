// Follower: the state of one program that follows a store. It records which
// changes the program has received and which must still be sent.
//
// Thread-safe: a lock serializes its calls.

#ifndef PERSIA_CC_FOLLOWING_FOLLOWER_H_
#define PERSIA_CC_FOLLOWING_FOLLOWER_H_

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
  // The store that is followed. `base_save` returns the id of a save since
  // which all changes are known, or 0 if there is none.
  struct Subject {
    const Store* store;
    std::function<uint64_t()> base_save;
  };

  // Before the store's tables are destroyed, the Follower must be destroyed, or
  // LetGo must be called for each table.
  explicit Follower(const Subject& subject) : subject_(subject) {}

  // Fills in the reply to a ChangesRequest. Throws std::bad_alloc if memory
  // runs out. After an exception or an error, the next call begins a new epoch.
  Status Tell(ChangesRequest* request);

  // Releases a table that was dropped or replaced.
  void LetGo(TableKey table);

 private:
  struct Followed {
    TableConfig config;
    // The table's changes; null if the table was dropped or replaced.
    std::unique_ptr<RowFeed> feed;
    // A clearing or dropping of the table that was not yet reported to the
    // follower.
    TableFate fate = TableFate::kStays;
    bool is_known = false;  // Whether any delta has contained the table.
    // Whether the last delta contained the table. If it did, told_fate and
    // given are the fate and ids that it reported, which are needed to repeat
    // it.
    bool was_told = false;
    TableFate told_fate = TableFate::kStays;
    std::vector<int64_t> given{};
  };
  // The number of rows and bytes that still fit into a reply.
  struct Room;

  // The caller of each method below must hold mutex_.
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
  // mutex_ guards all members below.
  uint64_t epoch_ = 0;
  uint64_t version_ = 0;
  // Whether the last delta began an epoch, and with which rows.
  Begins begins_ = Begins::kNothing;
  std::vector<Followed> tables_;
  // The store's version at the last update of tables_.
  uint64_t store_version_ = 0;
  // The index of the table with which the next delta starts.
  size_t first_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_FOLLOWING_FOLLOWER_H_
