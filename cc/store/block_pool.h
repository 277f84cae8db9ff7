// BlockPool: memory for the tables of the process, in blocks of 40, 48 and 64
// KiB that are carved from huge pages (2 MiB) where the kernel provides them.
// The blocks of a page have one size.
//
// The kernel clears a huge page at its first page fault, which takes so long
// that a request would stall. So a thread of the pool touches pages ahead of
// need: as many as were used in the last second. If callers need pages faster,
// they get 2 MiB of small pages (4 KiB), which the kernel clears one at a time;
// the thread later collapses them into a huge page.
//
// Thread-safe; blocks only for a short lock.

#ifndef PERSIA_CC_STORE_BLOCK_POOL_H_
#define PERSIA_CC_STORE_BLOCK_POOL_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cc/base/clock.h"

namespace persia {

class BlockPool {
 public:
  static constexpr size_t kBlockBytes = size_t{64} << 10;
  static constexpr std::array<size_t, 3> kSizes = {
      size_t{40} << 10, size_t{48} << 10, kBlockBytes};

  // Whether the pool has blocks of `bytes` bytes.
  static constexpr bool HasSize(size_t bytes) {
    return bytes == kSizes[0] || bytes == kSizes[1] || bytes == kSizes[2];
  }

  // The pool of the process. Never destroyed.
  static BlockPool& Global();

  BlockPool();
  // Blocks that were not freed become invalid.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Returns a block of `bytes` bytes, aligned to 8 KiB, or to kBlockBytes if it
  // has that size, with undefined contents. Precondition: HasSize(bytes).
  // Throws std::bad_alloc when memory runs out.
  void* Allocate(size_t bytes = kBlockBytes);

  // Frees a block that Allocate returned. Pages whose blocks are all free are
  // returned to the kernel, except some that the pool retains for later calls.
  void Free(void* block);

  size_t pages() const;  // Pages that hold memory, in use or ready.

 private:
  using Page = std::byte*;

  // A page that is carved into blocks, of which at least one is in use.
  struct Carved {
    uint64_t free;  // A bit for each free block.
    size_t block_bytes;
    bool small;  // The page still consists of small pages.
  };

  // The caller of each function in this group must hold mutex_.
  // Adds a page to partly_free_, for blocks of this size.
  void TakePage(size_t block_bytes);
  void StartToucher();
  void MapRegion(bool small);
  void GiveBack(Page page, bool small);
  size_t PagesToKeepReady();
  bool DoOneThing(std::unique_lock<std::mutex>* lock);

  void KeepReady();

  mutable std::mutex mutex_;
  // Everything below is guarded by mutex_. A page is in carved_, ready_, cold_
  // or small_cold_.
  std::unordered_map<Page, Carved> carved_;
  // Huge pages that were touched, with no block in use.
  std::vector<Page> ready_;
  // Huge pages that were not touched yet.
  std::vector<Page> cold_;
  // Pages that consist of small pages and were not touched yet.
  std::vector<Page> small_cold_;

  // Pages of carved_ that have a free block, by the size of their blocks, as in
  // kSizes.
  std::array<std::vector<Page>, kSizes.size()> partly_free_;
  // Full pages of 2 MiB that still consist of small pages, to be collapsed into
  // huge pages.
  std::vector<Page> to_join_;
  std::vector<Page> regions_;   // All mappings, for the destructor.
  std::deque<Deadline> taken_;  // Times of TakePage in the last second.
  bool ending_ = false;
  std::condition_variable wake_;
  std::thread toucher_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_BLOCK_POOL_H_
