#include "cc/base/event_log.h"

#include <algorithm>
#include <utility>

#include "cc/base/text.h"

namespace persia {
namespace {

constexpr auto kMinute = std::chrono::minutes(1);
constexpr size_t kMostEvents = 4096;
constexpr size_t kMostTextBytes = 2000;

// Puts `text`, which may be an error message of several lines, on one line.
std::string OneLine(std::string text) {
  if (text.size() > kMostTextBytes) {
    text.resize(kMostTextBytes);
    text += "...";
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return IsPlainText(text) ? text : Escaped(text);
}

}  // namespace

bool EventLog::Admits(const EventKind& kind) noexcept {
  try {
    const Clock::time_point now = now_();
    std::lock_guard<std::mutex> lock(mutex_);
    const auto [found, is_new] = minutes_.try_emplace(&kind);
    Minute& minute = found->second;
    if (is_new) minute.begin = now;
    if (now - minute.begin >= kMinute) {
      TellCounts();
      minute = Minute{now};
    }
    if (minute.told < kind.most_a_minute) {
      ++minute.told;
      return true;
    }
    // Wakes a blocked Take, so that at the end of this minute it returns the
    // number of events that were only counted.
    if (++minute.more == 1) added_.notify_all();
  } catch (const std::bad_alloc&) {
  }
  return false;
}

void EventLog::Add(EventLevel level, std::string text) noexcept {
  try {
    text = OneLine(std::move(text));
    std::lock_guard<std::mutex> lock(mutex_);
    Push(level, std::move(text));
  } catch (const std::bad_alloc&) {
  }
}

std::optional<Event> EventLog::Take(Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    TellCounts();
    if (!events_.empty()) {
      std::optional<Event> event(std::move(events_.front()));
      events_.pop_front();
      return event;
    }
    if (closed_ || Clock::now() >= deadline) return std::nullopt;
    added_.wait_until(lock, NextCount(deadline));
  }
}

void EventLog::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  added_.notify_all();
}

void EventLog::Push(EventLevel level, std::string text) {
  if (events_.size() >= kMostEvents) {
    ++lost_;
    return;
  }
  events_.push_back({level, UnixSeconds(), std::move(text)});
  added_.notify_all();
}

void EventLog::TellCounts() {
  const Clock::time_point now = now_();
  for (auto& [kind, minute] : minutes_) {
    const bool is_over = closed_ || now - minute.begin >= kMinute;
    if (minute.more == 0 || !is_over) continue;
    Push(kind->level, Concat(minute.more, " more ", kind->name));
    minute.more = 0;
  }
  if (lost_ > 0 && events_.size() < kMostEvents) {
    Push(EventLevel::kWarning,
         Concat(std::exchange(lost_, 0),
                " log events were lost, since they were not read in time"));
  }
}

Deadline EventLog::NextCount(Deadline limit) const {
  for (const auto& [kind, minute] : minutes_) {
    if (minute.more > 0) limit = std::min(limit, minute.begin + kMinute);
  }
  return limit;
}

}  // namespace persia
