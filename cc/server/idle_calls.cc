#include "cc/server/idle_calls.h"

#include <algorithm>

namespace persia {
namespace {

// The maximum number of idle calls that are retained. The call that was
// retained last is reused first, so more calls would be used only in bursts of
// requests.
constexpr size_t kMaxCalls = 4;

// The largest buffer that an idle call may retain indefinitely, in bytes.
constexpr uint64_t kKeptBytes = uint64_t{64} << 10;

}  // namespace

std::shared_ptr<Call> IdleCalls::Take() {
  if (calls_.empty()) {
    next_ = std::make_shared<Call>();
  } else {
    next_ = std::move(calls_.back());
    calls_.pop_back();
  }
  return next_;
}

void IdleCalls::EndIdle() {
  next_ = nullptr;
  Count();
}

void IdleCalls::Keep(std::shared_ptr<Call> call) {
  const uint64_t bytes = call->bytes();
  call->Clear();
  if (calls_.size() < kMaxCalls) {
    const uint64_t all = server_->kept_bytes + call->kept();
    if (all > server_->options.max_kept_total_bytes) call->Trim(kKeptBytes);
    calls_.push_back(std::move(call));
    Count();
  }
  if (recent_bytes_) {
    recent_bytes_ = std::max(*recent_bytes_, bytes);
  } else if (bytes > kKeptBytes) {
    recent_bytes_ = bytes;
    StartTimer();
  }
}

void IdleCalls::Close() {
  server_->kept_bytes -= kept_bytes_;
  kept_bytes_ = 0;
  is_closed_ = true;
  timer_.cancel();
}

// Starts the timer that calls Trim. Since the timer frees memory, no request
// spends time on this.
void IdleCalls::StartTimer() {
  timer_.expires_at(DeadlineAfter(server_->options.memory_seconds));
  timer_.async_wait([calls = weak_from_this()](const ErrorCode& error) {
    const auto self = calls.lock();
    if (!error && self != nullptr) self->Trim();
  });
}

void IdleCalls::Trim() {
  // The timer may have expired just before Close cancelled it.
  if (is_closed_) return;
  const uint64_t needed = std::max(kKeptBytes, *recent_bytes_);
  // A buffer may have a capacity of 1.5 times the size that was requested.
  const uint64_t kept = needed + needed / 2;
  for (const auto& call : calls_) call->Trim(kept);
  const bool reads = next_ != nullptr && reads_body_();
  if (next_ != nullptr && !reads) next_->Trim(kept);
  Count();
  recent_bytes_.reset();
  if (!reads && needed == kKeptBytes) return;
  recent_bytes_ = 0;
  StartTimer();
}

void IdleCalls::Count() {
  uint64_t bytes = next_ == nullptr ? 0 : next_->kept();
  for (const auto& call : calls_) bytes += call->kept();
  server_->kept_bytes += bytes - kept_bytes_;
  kept_bytes_ = bytes;
}

}  // namespace persia
