// SlotWindows: the updates that were applied to each slot of a shard.
//
// A shard has an UpdateWindow of its own. Slots that it took over from another
// shard bring a window along, which tells of the updates that their former
// owner applied: so an update may be new to some slots of a shard, and not to
// others. Updates that come later count in all windows, so after a while the
// windows tell the same, and are joined.
//
// Thread-safe, except that functions that say so must run while no update is in
// progress. Never blocks beyond a short lock.

#ifndef PERSIA_CC_WRITING_SLOT_WINDOWS_H_
#define PERSIA_CC_WRITING_SLOT_WINDOWS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/client_window.h"
#include "cc/base/clock.h"
#include "cc/base/event_log.h"
#include "cc/base/slot_set.h"
#include "cc/service/hand_over_request.h"
#include "cc/writing/update_window.h"

namespace persia {

class SlotWindows {
 public:
  // How long after slots were taken over an update may still be sent that their
  // former owner may have applied. Later ones may be refused.
  static constexpr std::chrono::minutes kMostDelay{10};

  explicit SlotWindows(EventLog* events) : events_(events), own_(events) {}

  // An update that was begun. Pass it to Finish, unless `verdict` is another
  // one than kApply.
  struct Begun {
    UpdateWindow::Verdict verdict = UpdateWindow::Verdict::kApply;
    // The windows to which the update is new.
    std::vector<UpdateWindow*> windows;
    // The slots to which the update is to be applied; null for all.
    std::unique_ptr<SlotSet> only;
  };
  Begun Begin(uint64_t client, uint64_t sequence);
  void Finish(uint64_t client, uint64_t sequence, const Begun& begun,
              bool applied);

  // The functions below must run while no update is in progress.

  // What was applied to the shard's slots other than those that it took over.
  std::vector<ClientWindow> Export() const { return own_.Export(); }
  void Import(const std::vector<ClientWindow>& clients) {
    own_.Import(clients);
  }

  // What was applied to these slots: sets of slots that together are `slots`.
  std::vector<SlotsApplied> Export(const SlotSet& slots) const;
  // What was applied to slots that were taken over.
  std::vector<SlotsApplied> ExportTaken() const;

  // Adds slots that were taken over.
  void Take(const SlotsApplied& applied);
  // Forgets what was applied to slots that another shard has taken over.
  void GiveAway(const SlotSet& slots);

  // Whether Join may have something to do.
  bool may_join(Clock::time_point now) const {
    return now >= next_join_.load(std::memory_order_relaxed);
  }
  // Whether it ever may, as long as no more slots are taken over. Costs an
  // atomic load.
  bool has_taken() const {
    return next_join_.load(std::memory_order_relaxed) !=
           Clock::time_point::max();
  }
  // Joins windows that tell the same, and those that are older than kMostDelay.
  // Where these differ, it is unknown from then on whether an update was
  // applied.
  void Join(Clock::time_point now);

 private:
  // Slots that were taken over together.
  struct Taken {
    SlotSet slots;
    Clock::time_point at;
    std::unique_ptr<UpdateWindow> window;
  };

  void DropEmpty();

  EventLog* const events_;
  UpdateWindow own_;
  // Changes only while no update is in progress.
  std::vector<Taken> taken_;
  std::atomic<Clock::time_point> next_join_{Clock::time_point::max()};
};

}  // namespace persia

#endif  // PERSIA_CC_WRITING_SLOT_WINDOWS_H_
