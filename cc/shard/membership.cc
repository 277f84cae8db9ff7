#include "cc/shard/membership.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace persia {

void SetShare(const ShardSlots& slots, const SlotSet& others) {
  const SlotSet all =
      slots.ownership->owned_slots() | slots.prepared->arriving() | others;
  slots.store->SetShare(static_cast<uint32_t>(all.count()));
}

Member TakenPlace(Member member, const std::string& address) {
  member.address = address;
  member.standby.clear();
  ++member.incarnation;
  ++member.version;
  return member;
}

SlotSet Adopt(const ShardSlots& slots, SharedTopology topology) {
  const SlotSet before = slots.ownership->owned_slots();
  slots.ownership->Set(std::move(topology));
  const SlotSet after = slots.ownership->owned_slots();
  for (const SlotsApplied& arrived : slots.prepared->Arrive(after & ~before)) {
    slots.windows->Take(arrived);
  }
  const SlotSet lost = before & ~after;
  if (lost.any()) slots.windows->GiveAway(lost);
  return lost;
}

Status Membership::Exchange(TopologyRequest* request, uint64_t* log_end) {
  const Ownership& ownership = *subject_.slots.ownership;
  std::lock_guard<std::mutex> changing(changing_);
  const SharedTopology shown = ownership.topology();
  const auto after = ownership.After(shown, *request);
  if (!after.ok()) return after.status();
  if (*after != shown) {
    auto logged = ownership.After(Logged(), *request);
    if (!logged.ok()) return logged.status();
    PERSIA_RETURN_IF_ERROR(Use(*after, &*logged, log_end));
  }
  // A process whose standby has taken its place is no shard any more.
  request->member = ownership.IsReplaced() ? 0 : ownership.member();
  request->topology.clear();
  if (*after != nullptr) request->topology = (*after)->Encode();
  return Status();
}

Status Membership::Learn(const std::vector<uint8_t>& topology) {
  TopologyRequest request;
  request.told = topology;
  uint64_t log_end = 0;
  PERSIA_RETURN_IF_ERROR(Exchange(&request, &log_end));
  return log_end == 0 ? Status() : subject_.journal->BlockUntilDurable(log_end);
}

Status Membership::UnlessRestoring(const std::function<Status()>& work) const {
  return subject_.unless_restoring == nullptr ? work()
                                              : subject_.unless_restoring(work);
}

SharedTopology Membership::Logged() {
  std::lock_guard<std::mutex> lock(mutex_);
  return logged_;
}

// While the gate is closed, no update is logged. So a recovery, too, finds that
// all updates before the topology's record were for the slots that the shard
// owned before.
Status Membership::Use(const SharedTopology& shown,
                       const SharedTopology* logged, uint64_t* log_end) {
  Ownership* const ownership = subject_.slots.ownership;
  const uint64_t member = ownership->member();
  const SharedTopology now = ownership->topology();
  std::optional<Gate::Closed> closed;
  const bool changes_slots =
      now == nullptr || now->RouteOf(member) != shown->RouteOf(member);
  if (changes_slots) closed.emplace(subject_.gate);
  std::lock_guard<std::mutex> lock(mutex_);
  if (logged != nullptr) {
    PERSIA_RETURN_IF_ERROR(LogTopology(*logged, log_end));
    logged_ = *logged;
  }
  if (changes_slots) {
    given_away_ |= Adopt(subject_.slots, shown);
    SetShare(subject_.slots, handed_over_);
    if (subject_.on_moved != nullptr) subject_.on_moved();
  } else {
    ownership->Set(shown);
  }
  return Status();
}

Status Membership::SetStandby(const std::string& address) {
  uint64_t log_end = 0;
  return ChangeOwn(
      [&](Member* own) {
        own->standby = address;
        ++own->version;
        return Status();
      },
      &log_end);
}

Status Membership::Retire(const std::string& address) {
  const auto own = subject_.slots.ownership->Own();
  if (own && subject_.slots.ownership->IsReplaced() &&
      own->address == address) {
    return Status();
  }
  uint64_t log_end = 0;
  PERSIA_RETURN_IF_ERROR(ChangeOwn(
      [&](Member* own) {
        if (own->standby != address) {
          return Status(Code::kFailedPrecondition,
                        Concat("the standby at ", address,
                               " has not had all rows of this shard yet"));
        }
        *own = TakenPlace(*own, address);
        return Status();
      },
      &log_end));
  return subject_.journal == nullptr
             ? Status()
             : subject_.journal->BlockUntilDurable(log_end);
}

// Changes the shard's description of itself.
Status Membership::ChangeOwn(const std::function<Status(Member* own)>& change,
                             uint64_t* log_end) {
  const Ownership& ownership = *subject_.slots.ownership;
  std::lock_guard<std::mutex> changing(changing_);
  const SharedTopology shown = ownership.topology();
  if (shown == nullptr || ownership.IsReplaced(*shown)) {
    return Status(Code::kFailedPrecondition,
                  shown == nullptr ? "this shard belongs to no cluster"
                                   : "a standby has taken this shard's place");
  }
  Member own = *shown->Find(ownership.member());
  PERSIA_RETURN_IF_ERROR(change(&own));
  auto after = std::make_shared<const Topology>(shown->WithMember(own));
  auto merged = Logged()->Merged(*after);
  if (!merged.ok()) return merged.status();
  const SharedTopology logged =
      std::make_shared<const Topology>(std::move(*merged));
  return Use(after, &logged, log_end);
}

Status Membership::GiveAway(const SlotSet& slots, uint64_t taker) {
  const Ownership& ownership = *subject_.slots.ownership;
  SharedTopology moved;
  {
    std::lock_guard<std::mutex> changing(changing_);
    const SharedTopology shown = ownership.topology();
    if (shown == nullptr || (slots & ~ownership.owned_slots()).any()) {
      return Status(Code::kFailedPrecondition,
                    Concat("this shard does not own the slots ",
                           ToString(slots & ~ownership.owned_slots())));
    }
    const Member* const taking = shown->Find(taker);
    if (taking == nullptr || taking->has_left) {
      return Status(Code::kFailedPrecondition,
                    "the shard that takes the slots over is no member of the "
                    "cluster");
    }
    moved = std::make_shared<const Topology>(shown->WithOwner(slots, taker));
    std::lock_guard<std::mutex> lock(mutex_);
    auto logged = logged_->Merged(*moved);
    if (!logged.ok()) return logged.status();
    auto shared = std::make_shared<const Topology>(std::move(*logged));
    uint64_t log_end = 0;
    PERSIA_RETURN_IF_ERROR(LogTopology(shared, &log_end));
    logged_ = std::move(shared);
  }
  PERSIA_RETURN_IF_ERROR(BlockUntilSafe());
  std::lock_guard<std::mutex> changing(changing_);
  auto after = ownership.topology()->Merged(*moved);
  if (!after.ok()) return after.status();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    handed_over_ |= slots;
  }
  return Use(std::make_shared<const Topology>(std::move(*after)));
}

Status Membership::BeginTaking(const SlotSet& slots, uint64_t generation) {
  std::lock_guard<std::mutex> clearing(clearing_);
  PERSIA_RETURN_IF_ERROR(
      UnlessRestoring([&] { return BeginArrival(slots, generation); }));
  Clear(slots);
  return Status();
}

Status Membership::BeginArrival(const SlotSet& slots, uint64_t generation) {
  const Ownership& ownership = *subject_.slots.ownership;
  std::lock_guard<std::mutex> changing(changing_);
  const SlotSet own = ownership.owned_slots();
  if (ownership.topology() == nullptr || (own & slots).any()) {
    return Status(Code::kFailedPrecondition,
                  ownership.topology() == nullptr
                      ? "this shard belongs to no cluster"
                      : Concat("this shard owns the slots ",
                               ToString(own & slots), " already"));
  }
  if (own.any() && *subject_.generation != generation) {
    return Status(
        Code::kFailedPrecondition,
        Concat("this shard's tables have generation ",
               subject_.generation->load(), ", and those of the slots' owner ",
               generation, ": a restore is in progress, try again after it"));
  }
  *subject_.generation = generation;
  std::lock_guard<std::mutex> lock(mutex_);
  PERSIA_RETURN_IF_ERROR(LogCleared(slots, /*arrives=*/true, /*removes=*/true));
  subject_.slots.prepared->Begin(slots);
  given_away_ |= slots;
  SetShare(subject_.slots, handed_over_);
  return Status();
}

Status Membership::Prepare(const SlotsApplied& applied) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    uint64_t log_end = 0;
    PERSIA_RETURN_IF_ERROR(
        Log(RecordBody::Applied({applied, /*is_owned=*/false}), &log_end));
    subject_.slots.prepared->Prepare(applied);
  }
  return BlockUntilSafe();
}

Status Membership::StopTaking(const SlotSet& slots) {
  std::lock_guard<std::mutex> clearing(clearing_);
  SlotSet gone;
  {
    std::lock_guard<std::mutex> changing(changing_);
    gone = slots & ~subject_.slots.ownership->owned_slots();
    if (gone.none()) return Status();
    std::lock_guard<std::mutex> lock(mutex_);
    PERSIA_RETURN_IF_ERROR(
        LogCleared(gone, /*arrives=*/false, /*removes=*/true));
    subject_.slots.prepared->Drop(gone);
    given_away_ |= gone;
    handed_over_ |= gone;
    SetShare(subject_.slots, handed_over_);
  }
  Clear(gone);
  return Status();
}

SlotSet Membership::arriving() {
  std::lock_guard<std::mutex> lock(mutex_);
  return subject_.slots.prepared->arriving();
}

void Membership::Sweep() {
  std::lock_guard<std::mutex> clearing(clearing_);
  SlotSet gone;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    gone = given_away_ & ~subject_.slots.ownership->owned_slots();
  }
  if (gone.any()) Clear(gone);
}

// Outside the gate, which nobody could close during the walk: the rows are of
// slots that the shard does not own, so no request meets them, and saves leave
// them out. The log of a base that is written meanwhile says that they go: they
// are in given_away_ when the base is begun.
void Membership::Clear(const SlotSet& slots) {
  for (const auto& table : subject_.slots.store->ShareAll()) {
    table->RemoveSlots(slots);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  given_away_ &= ~slots;
  handed_over_ &= ~slots;
  SetShare(subject_.slots, handed_over_);
}

SlotSet Membership::given_away() {
  std::lock_guard<std::mutex> lock(mutex_);
  return given_away_;
}

Status Membership::LogAll(const SlotSet& unswept) {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t log_end = 0;
  PERSIA_RETURN_IF_ERROR(LogTopology(logged_, &log_end));
  const PreparedSlots& prepared = *subject_.slots.prepared;
  const SlotSet gone =
      (given_away_ | unswept) & ~subject_.slots.ownership->owned_slots();
  if (gone.any()) {
    PERSIA_RETURN_IF_ERROR(
        LogCleared(gone, /*arrives=*/false, /*removes=*/true));
  }
  if (prepared.arriving().any()) {
    PERSIA_RETURN_IF_ERROR(LogCleared(prepared.arriving(), /*arrives=*/true,
                                      /*removes=*/false));
  }
  for (const SlotsApplied& applied : prepared.prepared()) {
    PERSIA_RETURN_IF_ERROR(
        Log(RecordBody::Applied({applied, /*is_owned=*/false}), &log_end));
  }
  for (const SlotsApplied& applied : subject_.slots.windows->ExportTaken()) {
    PERSIA_RETURN_IF_ERROR(
        Log(RecordBody::Applied({applied, /*is_owned=*/true}), &log_end));
  }
  return Status();
}

Status Membership::LogTopology(const SharedTopology& topology,
                               uint64_t* log_end) {
  const Ownership& own = *subject_.slots.ownership;
  return Log(RecordBody::Topology(own.member(), own.incarnation(),
                                  topology == nullptr ? std::vector<uint8_t>()
                                                      : topology->Encode()),
             log_end);
}

Status Membership::LogCleared(const SlotSet& slots, bool arrives,
                              bool removes) {
  uint64_t log_end = 0;
  return Log(RecordBody::Cleared(
                 {subject_.generation->load(), slots, arrives, removes}),
             &log_end);
}

Status Membership::Log(const RecordBody& record, uint64_t* log_end) {
  if (subject_.journal == nullptr) return Status();
  const auto position = Append(record, subject_.journal);
  if (!position.ok()) return position.status();
  *log_end = *position + 1;
  return Status();
}

Status Membership::BlockUntilSafe() {
  if (subject_.journal == nullptr) return Status();
  const uint64_t position = subject_.journal->position();
  return subject_.block_until_safe == nullptr
             ? subject_.journal->BlockUntilDurable(position)
             : subject_.block_until_safe(position);
}

}  // namespace persia
