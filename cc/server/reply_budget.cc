#include "cc/server/reply_budget.h"

#include <algorithm>

namespace persia {

// ---- Methods of Charge.

ReplyBudget::Charge& ReplyBudget::Charge::operator=(Charge&& other) noexcept {
  GiveBack();
  budget_ = std::move(other.budget_);
  part_ = other.part_;
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void ReplyBudget::Charge::GiveBack() {
  if (bytes_ != 0) budget_->GiveBack(part_, std::exchange(bytes_, 0));
}

// A charge that grows may move to the part for larger requests; a charge that
// shrinks stays in its part.
bool ReplyBudget::Charge::TryResize(uint64_t bytes) {
  if (bytes <= bytes_) {
    Resize(bytes);
    return true;
  }
  const size_t part = std::max(part_, budget_->PartOf(bytes));
  if (!budget_->TryMove(part_, bytes_, part, bytes, /*anyway=*/false)) {
    return false;
  }
  part_ = part;
  bytes_ = bytes;
  return true;
}

void ReplyBudget::Charge::Resize(uint64_t bytes) {
  (void)budget_->TryMove(part_, bytes_, part_, bytes, /*anyway=*/true);
  bytes_ = bytes;
}

// ---- Methods of ReplyBudget.

ReplyBudget::ReplyBudget(uint64_t total_bytes)
    : total_bytes_(total_bytes),
      parts_{Part{kShortBytes, total_bytes / 16},
             Part{total_bytes / 64, total_bytes / 16 * 7},
             Part{UINT64_MAX, total_bytes / 2}} {}

size_t ReplyBudget::PartOf(uint64_t bytes) const {
  size_t part = 0;
  while (bytes > parts_[part].most_bytes) ++part;
  return part;
}

uint64_t ReplyBudget::Take(uint64_t bytes, std::function<void()> granted) {
  std::lock_guard<std::mutex> lock(mutex_);
  Part& part = parts_[PartOf(bytes)];
  if (part.waiters.empty() && part.HasRoom(bytes)) {
    part.taken += bytes;
    return 0;
  }
  part.waiters.push_back({++last_number_, bytes, std::move(granted)});
  ++waiter_count_;
  return last_number_;
}

ReplyBudget::Charge ReplyBudget::Given(uint64_t bytes) {
  Charge charge;
  charge.budget_ = shared_from_this();
  charge.part_ = PartOf(bytes);
  charge.bytes_ = bytes;
  return charge;
}

void ReplyBudget::Cancel(uint64_t number, uint64_t bytes) {
  Grants grants;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Part& part = parts_[PartOf(bytes)];
    const auto waiter =
        std::find_if(part.waiters.begin(), part.waiters.end(),
                     [&](const Waiter& w) { return w.number == number; });
    if (waiter == part.waiters.end()) {
      part.taken -= bytes;
    } else {
      part.waiters.erase(waiter);
      --waiter_count_;
    }
    grants = Grant(&part);
  }
  for (const auto& granted : grants) granted();
}

bool ReplyBudget::TryMove(size_t from, uint64_t old_bytes, size_t to,
                          uint64_t bytes, bool anyway) {
  Grants grants;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Part& old_part = parts_[from];
    Part& part = parts_[to];
    old_part.taken -= old_bytes;
    if (!anyway && !part.HasRoom(bytes)) {
      old_part.taken += old_bytes;
      return false;
    }
    part.taken += bytes;
    grants = Grant(&old_part);
  }
  for (const auto& granted : grants) granted();
  return true;
}

void ReplyBudget::GiveBack(size_t part, uint64_t bytes) {
  (void)TryMove(part, bytes, part, 0, /*anyway=*/true);
}

uint64_t ReplyBudget::taken() {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t taken = 0;
  for (const Part& part : parts_) taken += part.taken;
  return taken;
}

// Grants room to waiting requests in the order of arrival, until there is not
// enough room for the next one.
ReplyBudget::Grants ReplyBudget::Grant(Part* part) {
  Grants grants;
  while (!part->waiters.empty() && part->HasRoom(part->waiters.front().bytes)) {
    part->taken += part->waiters.front().bytes;
    grants.push_back(std::move(part->waiters.front().granted));
    part->waiters.pop_front();
    --waiter_count_;
  }
  return grants;
}

}  // namespace persia
