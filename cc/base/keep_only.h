// KeepOnly: removes some elements of a vector that has several per row.

#ifndef PERSIA_CC_BASE_KEEP_ONLY_H_
#define PERSIA_CC_BASE_KEEP_ONLY_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace persia {

// Removes the groups of `each` elements that do not stay.
template <typename T>
void KeepOnly(const std::vector<bool>& stays, size_t each,
              std::vector<T>* elements) {
  size_t kept = 0;
  for (size_t i = 0; i < stays.size(); ++i) {
    if (!stays[i]) continue;
    std::copy_n(elements->begin() + static_cast<ptrdiff_t>(i * each), each,
                elements->begin() + static_cast<ptrdiff_t>(kept * each));
    ++kept;
  }
  elements->resize(kept * each);
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_KEEP_ONLY_H_
