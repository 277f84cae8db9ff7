// BlockPool: memory of the process's tables, in blocks of 64 KiB carved from
// huge pages (2 MiB) where the kernel gives them.
//
// The kernel clears a huge page at its first touch, for so long that a request
// would stall. So a thread touches pages ahead of need, as many as were taken
// in the last second. A caller who outruns it gets a page that the kernel
// clears in small pieces, and which that thread makes a huge page of later.
//
// Thread-safe; blocks for a short lock.

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

  // The process's own. Never destroyed.
  static BlockPool& Global();

  BlockPool();
  // Blocks that were not freed become invalid.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // A block aligned to kBlockBytes, of undefined contents. Throws
  // std::bad_alloc when memory runs out.
  void* Allocate();

  // Gives back what Allocate gave. Pages that are free as a whole go back to
  // the kernel.
  void Free(void* block);

  size_t pages() const;  // Pages that hold memory, free ones included.

 private:
  using Page = std::byte*;

  // A page in use.
  struct Carved {
    uint32_t free;  // A bit for each free block.
    bool small;     // Made of small pages, so far.
  };

  // These expect the lock.
  void TakePage();  // Makes it the only one of partly_free_.
  void StartToucher();
  void MapRegion(bool small);
  void GiveBack(Page page, bool small);
  size_t PagesToKeepReady();
  bool DoOneThing(std::unique_lock<std::mutex>* lock);

  void KeepReady();

  mutable std::mutex mutex_;
  // All below are guarded by mutex_. A page is in one of these four.
  std::unordered_map<Page, Carved> carved_;
  std::vector<Page> ready_;       // Touched already, no block in use.
  std::vector<Page> cold_;        // Addresses, to become huge pages.
  std::vector<Page> small_cold_;  // Addresses, to be touched in small pieces.

  std::vector<Page> partly_free_;  // Those of carved_ with a free block.
  std::vector<Page> to_join_;      // Small, and full at some time.
  std::vector<Page> regions_;      // What was mapped, to unmap at the end.
  std::deque<Deadline> taken_;     // When pages were, in the last second.
  bool ending_ = false;
  std::condition_variable wake_;
  std::thread toucher_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_BLOCK_POOL_H_
