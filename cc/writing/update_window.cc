#include "cc/writing/update_window.h"

#include <algorithm>

namespace persia {
namespace {

constexpr EventKind kForgotten{"clients were forgotten", EventLevel::kInfo, 1};

}  // namespace

UpdateWindow::Verdict UpdateWindow::Begin(uint64_t client, uint64_t sequence) {
  std::lock_guard<std::mutex> lock(mutex_);
  Verdict verdict = Verdict::kApply;
  Client* const known = Find(client, sequence, &verdict);
  if (known == nullptr) return verdict;
  if (sequence > known->highest) {
    MoveUp(known, sequence);
  } else if (known->highest - sequence >= kWindow) {
    return Verdict::kTooOld;
  }
  if (known->CannotTell(sequence)) return Verdict::kTooOld;
  State& state = known->states[sequence % kWindow];
  if (state == State::kApplied) return Verdict::kApplied;
  if (state == State::kInProgress) return Verdict::kInProgress;
  if (state == State::kUnknown) return Verdict::kTooOld;
  state = State::kInProgress;
  ++known->in_progress;
  return Verdict::kApply;
}

// Moves the client's window up to `sequence`, and clears the slots that newer
// updates reuse.
void UpdateWindow::MoveUp(Client* client, uint64_t sequence) const {
  const uint64_t steps = std::min(sequence - client->highest, kWindow);
  for (uint64_t i = 0; i < steps; ++i) {
    client->states[(sequence - i) % kWindow] = State::kUnseen;
  }
  client->highest = sequence;
}

void UpdateWindow::Finish(uint64_t client, uint64_t sequence, bool applied) {
  std::lock_guard<std::mutex> lock(mutex_);
  Client& known = clients_.at(client);
  --known.in_progress;
  // If the window has moved past this update, its slot belongs to a newer one.
  if (known.highest - sequence >= kWindow) return;
  known.states[sequence % kWindow] = applied ? State::kApplied : State::kUnseen;
}

// Returns the client, after moving it to the newest end of the list. If its
// update cannot be accepted, sets `*verdict` and returns null; a forgotten
// client then stays forgotten.
UpdateWindow::Client* UpdateWindow::Find(uint64_t number, uint64_t sequence,
                                         Verdict* verdict) {
  const auto known = clients_.find(number);
  if (known != clients_.end()) {
    Unlink(&known->second);
    Link(&known->second);
    return &known->second;
  }
  const auto forgotten = forgotten_.find(number);
  const bool comes_back = forgotten != forgotten_.end();
  if (comes_back && sequence <= forgotten->second) {
    *verdict = Verdict::kTooOld;
    return nullptr;
  }
  const uint64_t highest = comes_back ? forgotten->second : 0;
  // A returning client is no longer a forgotten one, so another client may be
  // forgotten in exchange, even if the limit is reached.
  Client* const client = Make(number, limits_.forgotten + (comes_back ? 1 : 0));
  if (client == nullptr) {
    *verdict = Verdict::kTooMany;
    return nullptr;
  }
  if (comes_back) forgotten_.erase(number);
  client->was_forgotten = comes_back;
  client->forgotten_at = client->highest = highest;
  return client;
}

// Adds a client to the list. Returns null if there is no room and no client may
// be forgotten.
UpdateWindow::Client* UpdateWindow::Make(uint64_t number,
                                         size_t most_forgotten) {
  if (clients_.size() >= limits_.clients && !MakeRoom(most_forgotten)) {
    return nullptr;
  }
  Client* const client = &clients_[number];
  client->number = number;
  Link(client);
  return client;
}

// Of the clients without an update in progress, forgets the one that has been
// idle longest. Returns false if the limit of forgotten clients is reached.
bool UpdateWindow::MakeRoom(size_t most_forgotten) {
  Client* client = oldest_;
  while (client != nullptr && client->in_progress > 0) client = client->newer;
  // All clients are busy: exceed the limit.
  if (client == nullptr) return true;
  if (forgotten_.size() >= most_forgotten) return false;
  forgotten_[client->number] = client->highest;
  TellEvent(events_, kForgotten, "client ", client->number,
            " had been idle longest of ", clients_.size(),
            " clients and was forgotten: its updates that are still in flight "
            "will be refused");
  Unlink(client);
  clients_.erase(client->number);
  return true;
}

void UpdateWindow::Link(Client* client) {
  client->older = newest_;
  client->newer = nullptr;
  (newest_ != nullptr ? newest_->newer : oldest_) = client;
  newest_ = client;
}

void UpdateWindow::Unlink(Client* client) {
  (client->older != nullptr ? client->older->newer : oldest_) = client->newer;
  (client->newer != nullptr ? client->newer->older : newest_) = client->older;
}

std::vector<ClientWindow> UpdateWindow::Export() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<ClientWindow> windows;
  for (const auto& [number, highest] : forgotten_) {
    ClientWindow& window = windows.emplace_back();
    window.client = number;
    window.highest = highest;
  }
  for (Client* client = oldest_; client != nullptr; client = client->newer) {
    ClientWindow window;
    window.client = client->number;
    window.highest = client->highest;
    for (uint64_t age = 0; age < kWindow && age <= client->highest; ++age) {
      const uint64_t sequence = client->highest - age;
      const State state = client->states[sequence % kWindow];
      if (state == State::kApplied || state == State::kUnknown ||
          client->CannotTell(sequence)) {
        window.Set(age);
      }
    }
    // A window without updates would mean that the client was forgotten. One of
    // which all updates were refused is as good as unknown.
    const bool is_unused = window.highest < kWindow && window.IsEmpty();
    if (!is_unused) windows.push_back(window);
  }
  return windows;
}

void UpdateWindow::Import(const std::vector<ClientWindow>& clients) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const ClientWindow& window : clients) {
    const auto known = clients_.find(window.client);
    if (known != clients_.end()) {
      Unlink(&known->second);
      clients_.erase(known);
    }
    forgotten_.erase(window.client);
    if (window.IsEmpty()) {
      forgotten_[window.client] = window.highest;
      continue;
    }
    Client* const client = Make(window.client, ~size_t{0});
    client->highest = window.highest;
    for (uint64_t age = 0; age < kWindow && age <= window.highest; ++age) {
      if (!window.Has(age)) continue;
      client->states[(window.highest - age) % kWindow] = State::kApplied;
    }
  }
}

void UpdateWindow::Doubt(const std::vector<ClientWindow>& others) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::unordered_map<uint64_t, const ClientWindow*, KeyedHash> by_client;
  for (const ClientWindow& other : others) by_client[other.client] = &other;
  for (auto& [number, client] : clients_) {
    const auto other = by_client.find(number);
    ClientWindow none;
    none.client = number;
    Doubt(other == by_client.end() ? none : *other->second, &client);
  }
  for (const ClientWindow& other : others) {
    if (clients_.count(other.client) > 0) continue;
    uint64_t& highest = forgotten_[other.client];
    highest = std::max(highest, other.highest);
  }
}

void UpdateWindow::Doubt(const ClientWindow& other, Client* client) {
  if (other.highest > client->highest) MoveUp(client, other.highest);
  for (uint64_t age = 0; age < kWindow && age <= client->highest; ++age) {
    const uint64_t sequence = client->highest - age;
    State& state = client->states[sequence % kWindow];
    const bool is_newer = sequence > other.highest;
    const uint64_t age_there = is_newer ? 0 : other.highest - sequence;
    const bool is_known = is_newer || age_there < kWindow;
    const bool is_applied = !is_newer && is_known && other.Has(age_there);
    if (!is_known || is_applied != (state == State::kApplied)) {
      state = State::kUnknown;
    }
  }
}

}  // namespace persia
