// ClientWindow: records which of a client's latest updates were applied, so
// that a resent update is not applied again.

#ifndef PERSIA_CC_BASE_CLIENT_WINDOW_H_
#define PERSIA_CC_BASE_CLIENT_WINDOW_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace persia {

struct ClientWindow {
  static constexpr size_t kSequences = 1024;

  uint64_t client = 0;
  uint64_t highest = 0;
  // Bit i, counted over the whole array, tells whether the update with sequence
  // number (highest - i) was applied.
  std::array<uint64_t, kSequences / 64> applied{};

  bool Has(uint64_t age) const { return applied[age / 64] >> age % 64 & 1; }
  bool IsEmpty() const { return applied == ClientWindow().applied; }
  void Set(uint64_t age) { applied[age / 64] |= uint64_t{1} << age % 64; }

  friend bool operator==(const ClientWindow& a, const ClientWindow& b) {
    return a.client == b.client && a.highest == b.highest &&
           a.applied == b.applied;
  }
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_CLIENT_WINDOW_H_
