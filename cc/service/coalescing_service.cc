#include "cc/service/coalescing_service.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/service/forwarding_service.h"
#include "cc/service/joined_lookup.h"

namespace persia {
namespace {

struct Member {
  LookupRequest* request;
  DoneCallback done;
};
using Members = std::vector<Member>;

bool IsPlain(const LookupRequest& request) {
  return std::all_of(request.tables.begin(), request.tables.end(),
                     [](const TableLookup& table) {
                       return table.ids.combiner == Combiner::kNone &&
                              table.rows.size() ==
                                  table.ids.ids.size() * table.ids.dim;
                     });
}

size_t RowBytes(const LookupRequest& request) {
  size_t floats = 0;
  for (const TableLookup& table : request.tables) floats += table.rows.size();
  return floats * sizeof(float);
}

bool EndsBefore(const Member& a, const Member& b) {
  return a.request->deadline < b.request->deadline;
}

Deadline EarliestDeadline(const Members& members) {
  return std::min_element(members.begin(), members.end(), EndsBefore)
      ->request->deadline;
}

class CoalescingService : public ForwardingService {
 public:
  CoalescingService(std::unique_ptr<EmbeddingService> inner,
                    const CoalescingOptions& options)
      : ForwardingService(std::move(inner)), options_(options) {}

  ~CoalescingService() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    EndInner();
    const Status ended(Code::kCancelled, "the service ended");
    for (Lane& lane : lanes_) End(lane.gathered, ended);
  }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    // A lookup with bags or with wrong sizes is not joined, so that a malformed
    // lookup cannot make others fail.
    if (!IsPlain(*request)) return inner()->Lookup(request, std::move(done));
    Lane* lane = &lanes_[request->read_only];
    Member member{request, std::move(done)};
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (MustWait(*lane, request->deadline)) {
        lane->gathered.push_back(std::move(member));
        return;
      }
      lane->deadlines.insert(request->deadline);
    }
    SendOne(lane, std::move(member));
  }

 private:
  // The state of one kind of lookups, training or read-only. Guarded by mutex_.
  struct Lane {
    std::multiset<Deadline> deadlines;  // Of the lookups in flight.
    Members gathered;
    bool sending = false;  // Whether a thread is in SendGathered.
  };

  // Whether a lookup with this deadline must be queued: if max_in_flight
  // lookups are in flight, and at least one of them ends by `deadline`. (A
  // queued lookup is sent only when a lookup in flight ends.) Requires mutex_.
  bool MustWait(const Lane& lane, Deadline deadline) const {
    return lane.deadlines.size() >= options_.max_in_flight &&
           *lane.deadlines.begin() <= deadline;
  }

  // Precondition of SendOne and SendJoined: lane->deadlines contains the
  // request's deadline.
  void SendOne(Lane* lane, Member member) {
    LookupRequest* request = member.request;
    inner()->Lookup(request, [this, lane, deadline = request->deadline,
                              done = std::move(member.done)](Status status) {
      EndOne(lane, deadline);
      done(std::move(status));
    });
  }

  void SendJoined(Lane* lane, std::shared_ptr<JoinedLookup> joined,
                  std::shared_ptr<Members> members) {
    LookupRequest* request = joined->request();
    inner()->Lookup(request, [this, lane, joined = std::move(joined),
                              members = std::move(members)](Status status) {
      EndOne(lane, joined->request()->deadline);
      if (status.ok()) joined->Spread();
      if (status.ok()) return End(*members, status);
      SendAgain(lane, *members, status);
    });
  }

  // Records that a lookup in flight has ended. Call it before the lookup's
  // `done`, because this service may be destroyed once `done` returns.
  void EndOne(Lane* lane, Deadline deadline) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      lane->deadlines.erase(lane->deadlines.find(deadline));
    }
    SendGathered(lane);
  }

  void SendGathered(Lane* lane) {
    std::unique_lock<std::mutex> lock(mutex_);
    // A lookup that completes inside SendOne or Join calls this function again.
    // That nested call returns here, and the outer call's loop continues,
    // because recursion could grow without bound.
    if (lane->sending) return;
    lane->sending = true;
    while (!stopping_ && !lane->gathered.empty() &&
           !MustWait(*lane, EarliestDeadline(lane->gathered))) {
      auto members = std::make_shared<Members>(TakeGathered(lane));
      lane->deadlines.insert(members->front().request->deadline);
      lock.unlock();
      if (members->size() == 1) {
        SendOne(lane, std::move(members->front()));
      } else {
        Join(lane, std::move(members));
      }
      lock.lock();
    }
    lane->sending = false;
  }

  // Removes the queued lookups with the earliest deadlines, up to
  // max_joined_bytes, and returns them. A lookup that remains queued thus never
  // waits for a lookup with a later deadline. Requires mutex_.
  Members TakeGathered(Lane* lane) {
    Members& gathered = lane->gathered;
    std::stable_sort(gathered.begin(), gathered.end(), EndsBefore);
    auto end = gathered.begin();
    size_t bytes = 0;
    do {
      bytes += RowBytes(*end->request);
      ++end;
    } while (end != gathered.end() &&
             bytes + RowBytes(*end->request) <= options_.max_joined_bytes);
    Members taken(std::make_move_iterator(gathered.begin()),
                  std::make_move_iterator(end));
    gathered.erase(gathered.begin(), end);
    return taken;
  }

  void Join(Lane* lane, std::shared_ptr<Members> members) {
    std::shared_ptr<JoinedLookup> joined;
    const Status status = CatchBadAlloc([&] {
      std::vector<LookupRequest*> requests;
      for (const Member& member : *members) requests.push_back(member.request);
      joined = std::make_shared<JoinedLookup>();
      return joined->Build(requests);
    });
    if (status.ok()) {
      return SendJoined(lane, std::move(joined), std::move(members));
    }
    EndOne(lane, members->front().request->deadline);
    End(*members, status);
  }

  // Sends each member of a joined lookup by itself, after the joined lookup
  // failed for a reason that may concern only one member.
  void SendAgain(Lane* lane, const Members& members, const Status& failure) {
    for (const Member& member : members) {
      const Deadline deadline = member.request->deadline;
      std::unique_lock<std::mutex> lock(mutex_);
      if (stopping_ || deadline <= Clock::now()) {
        lock.unlock();
        member.done(failure);
        continue;
      }
      lane->deadlines.insert(deadline);
      lock.unlock();
      SendOne(lane, member);
    }
  }

  static void End(const Members& members, const Status& status) {
    for (const Member& member : members) member.done(status);
  }

  const CoalescingOptions options_;
  std::mutex mutex_;
  bool stopping_ = false;  // Guarded by mutex_.
  Lane lanes_[2];          // For training lookups and for read-only lookups.
};

}  // namespace

std::unique_ptr<EmbeddingService> MakeCoalescingService(
    std::unique_ptr<EmbeddingService> inner, const CoalescingOptions& options) {
  return std::make_unique<CoalescingService>(std::move(inner), options);
}

}  // namespace persia
