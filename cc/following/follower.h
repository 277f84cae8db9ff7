// Follower: the state of one program that follows a store. It records which
// changes the program has received and which must still be sent.
//
// A follower of weights is told only of slots that the store's shard owns; rows
// of other slots are those of a move that is under way, or left over from one.
// A follower of whole rows is told of the slots that it asks for, and begins
// again if the shard gets one of them.
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
  struct Subject {
    const Store* store;
    // Returns the id of a save since which all changes are known and no slot
    // has moved, or 0 if there is none.
    std::function<uint64_t()> base_save;
    // Returns the slots that the store's shard owns; null if it owns all. If
    // slots may move during Tell, a slot's rows must be removed only after this
    // function has stopped returning the slot.
    std::function<OwnedSlots()> slots = nullptr;
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
    const Table* table;  // Valid as long as there is a feed.
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
  Status TellNext(ChangesRequest* request);
  void TellAgain(ChangesRequest* request);
  Status Begin(uint64_t base_save, uint64_t* epoch);
  void UseForm(const ChangesRequest& request);
  OwnedSlots SlotsNow() const;
  SlotSet AskedSlots() const;
  // Of slots that the shard owns, those whose rows the feeds report; null for
  // all.
  std::shared_ptr<const SlotSet> SlotsOfFeeds(const SlotSet& owned) const;
  void UseSlots(OwnedSlots now);
  // Leaves out of a reply what it must not tell of slots that are not `owned`.
  void LeaveOutForeign(const SlotSet& owned, ChangesRequest* request) const;
  bool Follow(FeedStart start);
  void FollowNewTables();
  void ForgetDropped();
  bool AnyLost() const;
  // Appends the table to the reply, without rows.
  TableChanges* Tell(const Followed& followed, TableFate fate,
                     ChangesRequest* request) const;
  void Take(ChangesRequest* request);
  bool TakeFrom(Followed* followed, Room* room, ChangesRequest* request);

  const Subject subject_;
  std::mutex mutex_;
  // mutex_ guards all members below.
  uint64_t epoch_ = 0;
  uint64_t version_ = 0;
  SlotSet asked_;    // The slots that the program asks for; none for all.
  FeedForm form_;    // Of the feeds in tables_.
  OwnedSlots held_;  // What the shard owned when form_ was made.
  // The slots of which the follower was not told all rows yet, and those of
  // which it was not before the last delta.
  SlotSet fresh_;
  SlotSet told_fresh_;
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
