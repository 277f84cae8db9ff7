// ClientWindow: which of a client's latest updates were applied.

#ifndef PERSIA_CC_CHECKPOINT_CLIENT_WINDOW_H_
#define PERSIA_CC_CHECKPOINT_CLIENT_WINDOW_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace persia {

struct ClientWindow {
  static constexpr size_t kSequences = 1024;

  uint64_t client = 0;
  uint64_t highest = 0;
  // Bit i of the whole array: whether sequence (highest - i) was applied.
  std::array<uint64_t, kSequences / 64> applied{};

  bool Has(uint64_t age) const { return applied[age / 64] >> age % 64 & 1; }
  void Set(uint64_t age) { applied[age / 64] |= uint64_t{1} << age % 64; }

  friend bool operator==(const ClientWindow& a, const ClientWindow& b) {
    return a.client == b.client && a.highest == b.highest &&
           a.applied == b.applied;
  }
};

}  // namespace persia

#endif  // PERSIA_CC_CHECKPOINT_CLIENT_WINDOW_H_
