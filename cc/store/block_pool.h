// BlockPool: memory for the tables of the process, in blocks of 64 KiB that are
// carved from huge pages (2 MiB) where the kernel provides them.
//
// The kernel clears a huge page at the first page fault, which takes so long
// that a request would stall. So a thread touches pages ahead of need: as many
// as were used in the last second. A caller that needs pages faster gets one
// that the kernel clears in small pieces; the thread collapses it into a huge
// page later.
//
// Thread-safe; blocks only for a short lock.

#ifndef PERSIA_CC_STORE_BLOCK_POOL_H_
#define PERSIA_CC_STORE_BLOCK_POOL_H_

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

  // The pool of the process. Never destroyed.
  static BlockPool& Global();

  BlockPool();
  // Blocks that were not freed become invalid.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Returns a block aligned to kBlockBytes, with undefined contents. Throws
  // std::bad_alloc when memory runs out.
  void* Allocate();

  // Frees a block that Allocate returned. Pages whose blocks are all free are
  // returned to the kernel, except some that are kept ready.
  void Free(void* block);

  size_t pages() const;  // Pages that hold memory, in use or ready.

 private:
  using Page = std::byte*;

  // A page in use.
  struct Carved {
    uint32_t free;  // A bit for each free block.
    bool small;     // Consists of small pages so far.
  };

  // These require the lock.
  void TakePage();  // Requires partly_free_ to be empty; adds a page to it.
  void StartToucher();
  void MapRegion(bool small);
  void GiveBack(Page page, bool small);
  size_t PagesToKeepReady();
  bool DoOneThing(std::unique_lock<std::mutex>* lock);

  void KeepReady();

  mutable std::mutex mutex_;
  // Everything below is guarded by mutex_. A page is in one of these four.
  std::unordered_map<Page, Carved> carved_;
  std::vector<Page> ready_;       // Touched; no block is in use.
  std::vector<Page> cold_;        // Not touched yet; for huge pages.
  std::vector<Page> small_cold_;  // Not touched yet; for small pages.

  std::vector<Page> partly_free_;  // Pages of carved_ that have a free block.
  std::vector<Page> to_join_;      // Small pages that became full.
  std::vector<Page> regions_;      // All mappings, for the destructor.
  std::deque<Deadline> taken_;  // When pages were taken, for the last second.
  bool ending_ = false;
  std::condition_variable wake_;
  std::thread toucher_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_BLOCK_POOL_H_
