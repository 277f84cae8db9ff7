#include "cc/service/update_epochs.h"

#include <algorithm>

namespace persia {

uint64_t UpdateEpochs::Since(uint64_t client, uint64_t sequence) const {
  if (sequence == 0) return 0;
  const auto found = clients_.find(client);
  if (found == clients_.end()) return kNever;
  const Client& known = found->second;
  if (sequence < known.first || sequence > known.newest) return kNever;
  return known.since[sequence % kWindow];
}

void UpdateEpochs::Acknowledge(uint64_t client, uint64_t sequence) {
  const uint64_t epoch = Advance();
  Client* known = ClientOf(client, sequence);
  known->heard_at = epoch;
  // Each skipped sequence gets the epoch of the sequence before it. If no
  // update with the skipped sequence came to this service, that epoch is right.
  // Otherwise the update will be acknowledged later, and the epoch is corrected
  // then, before the client can request to see the update.
  while (known->newest < sequence) {
    const uint64_t before = known->since[known->newest % kWindow];
    known->since[++known->newest % kWindow] = before;
  }
  if (known->newest - known->first >= kWindow) {
    known->first = known->newest - kWindow + 1;
  }
  for (uint64_t s = std::max(sequence, known->first); s <= known->newest; ++s) {
    known->since[s % kWindow] = epoch;
  }
}

// Returns the client's entry. If the client is unknown, or if the newest update
// in its entry is at least kWindow updates before `sequence`, the entry starts
// anew at `sequence`.
UpdateEpochs::Client* UpdateEpochs::ClientOf(uint64_t client,
                                             uint64_t sequence) {
  auto found = clients_.find(client);
  if (found == clients_.end() && clients_.size() >= kMaxClients) {
    clients_.erase(std::min_element(
        clients_.begin(), clients_.end(), [](const auto& a, const auto& b) {
          return a.second.heard_at < b.second.heard_at;
        }));
  }
  const bool is_new = found == clients_.end();
  Client* known = is_new ? &clients_[client] : &found->second;
  const bool is_far =
      sequence > known->newest && sequence - known->newest >= kWindow;
  if (is_new || is_far) known->first = known->newest = sequence;
  return known;
}

}  // namespace persia
