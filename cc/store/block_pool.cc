#include "cc/store/block_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "cc/base/thread_priority.h"

namespace persia {
namespace {

constexpr size_t kPageBytes = size_t{2} << 20;
constexpr size_t kRegionPages = 32;
// A region has one page more than it uses, so that its first page can be
// aligned.
constexpr size_t kRegionBytes = (kRegionPages + 1) * kPageBytes;
constexpr size_t kMostReady = 128;
constexpr size_t kLeastReady = 2;
// At most one page is kept ready per so many in use: what is ready and not
// needed is memory that other programs lack.
constexpr size_t kUsedAReady = 32;
constexpr auto kRecent = std::chrono::seconds(1);
static_assert(kPageBytes / BlockPool::kSizes[0] < 64,
              "Carved::free has a bit for each block");

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Since Linux 6.1; older kernels return an error.
#endif

// The value of Carved::free of a page without a block in use.
uint64_t AllFree(size_t block_bytes) {
  return (uint64_t{1} << (kPageBytes / block_bytes)) - 1;
}

// The index of a size in BlockPool::kSizes.
size_t KindOf(size_t block_bytes) {
  const auto& sizes = BlockPool::kSizes;
  return static_cast<size_t>(
      std::find(sizes.begin(), sizes.end(), block_bytes) - sizes.begin());
}

std::byte* FirstPage(std::byte* region) {
  const auto at = reinterpret_cast<uintptr_t>(region);
  return region + (kPageBytes - at % kPageBytes) % kPageBytes;
}

std::byte* PageOf(void* block) {
  const auto at = reinterpret_cast<uintptr_t>(block);
  return static_cast<std::byte*>(block) - at % kPageBytes;
}

// madvise is only a hint: where the kernel ignores it everything works, but
// slower.
void Advise(std::byte* page, int advice) { madvise(page, kPageBytes, advice); }

void Touch(std::byte* page) {
  constexpr size_t kSmallPage = 4096;
  for (size_t at = 0; at < kPageBytes; at += kSmallPage) {
    *const_cast<volatile std::byte*>(page + at) = std::byte{0};
  }
}

void Remove(std::vector<std::byte*>* pages, std::byte* page) {
  pages->erase(std::remove(pages->begin(), pages->end(), page), pages->end());
}

}  // namespace

BlockPool& BlockPool::Global() {
  static auto* pool = new BlockPool;
  return *pool;
}

BlockPool::BlockPool() = default;

BlockPool::~BlockPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (toucher_.joinable()) toucher_.join();
  for (const Page region : regions_) munmap(region, kRegionBytes);
}

void* BlockPool::Allocate(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Page>& partly_free = partly_free_[KindOf(bytes)];
  if (partly_free.empty()) TakePage(bytes);
  const Page page = partly_free.back();
  Carved& carved = carved_.at(page);
  const int block = __builtin_ctzll(carved.free);
  carved.free &= carved.free - 1;
  if (carved.free == 0) {
    partly_free.pop_back();
    if (carved.small) to_join_.push_back(page);
  }
  return page + static_cast<size_t>(block) * bytes;
}

void BlockPool::Free(void* block) {
  const Page page = PageOf(block);
  const auto offset =
      static_cast<size_t>(static_cast<std::byte*>(block) - page);
  std::lock_guard<std::mutex> lock(mutex_);
  Carved& carved = carved_.at(page);
  std::vector<Page>& partly_free = partly_free_[KindOf(carved.block_bytes)];
  if (carved.free == 0) partly_free.push_back(page);
  carved.free |= uint64_t{1} << (offset / carved.block_bytes);
  if (carved.free != AllFree(carved.block_bytes)) return;
  const bool small = carved.small;
  carved_.erase(page);
  Remove(&partly_free, page);
  Remove(&to_join_, page);
  GiveBack(page, small);
}

size_t BlockPool::pages() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return carved_.size() + ready_.size();
}

void BlockPool::TakePage(size_t block_bytes) {
  StartToucher();
  std::vector<Page>* from = ready_.empty() ? &small_cold_ : &ready_;
  if (from->empty()) MapRegion(/*small=*/true);
  const Page page = from->back();
  std::vector<Page>& partly_free = partly_free_[KindOf(block_bytes)];
  partly_free.reserve(partly_free.size() + 1);
  carved_[page] = {AllFree(block_bytes), block_bytes, from == &small_cold_};
  partly_free.push_back(page);
  from->pop_back();
  taken_.push_back(Clock::now());
  wake_.notify_all();
}

void BlockPool::StartToucher() {
  if (toucher_.joinable()) return;
  try {
    toucher_ = std::thread([this] { KeepReady(); });
  } catch (const std::system_error&) {
    // If the thread cannot be started, all pages are small ones, which are
    // slower.
  }
}

void BlockPool::MapRegion(bool small) {
  std::vector<Page>* pages = small ? &small_cold_ : &cold_;
  pages->reserve(pages->size() + kRegionPages);
  regions_.reserve(regions_.size() + 1);
  void* mapped = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  madvise(mapped, kRegionBytes, small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  regions_.push_back(static_cast<Page>(mapped));
  const Page first = FirstPage(regions_.back());
  for (size_t p = kRegionPages; p-- > 0;) {
    pages->push_back(first + p * kPageBytes);
  }
}

void BlockPool::GiveBack(Page page, bool small) {
  if (!small && ready_.size() < PagesToKeepReady()) {
    ready_.push_back(page);
    return;
  }
  Advise(page, MADV_DONTNEED);
  (small ? small_cold_ : cold_).push_back(page);
}

size_t BlockPool::PagesToKeepReady() {
  const Deadline recent = Clock::now() - kRecent;
  while (!taken_.empty() && taken_.front() < recent) taken_.pop_front();
  const size_t most =
      std::clamp(carved_.size() / kUsedAReady, kLeastReady, kMostReady);
  return std::min(most, taken_.size());
}

void BlockPool::KeepReady() {
  YieldToOthers();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    bool idle = true;
    try {
      idle = !DoOneThing(&lock);
    } catch (const std::bad_alloc&) {
      // Preparing pages ahead failed. An Allocate that needs the memory will
      // throw the error itself.
    }
    if (idle && !ending_) wake_.wait_for(lock, kRecent);
  }
}

// Does one piece of work: touches a page, gives a page's memory back to the
// system, or collapses a page into a huge page. Returns false if there was
// nothing to do. Releases the lock while it touches or collapses a page, since
// either takes a long time.
bool BlockPool::DoOneThing(std::unique_lock<std::mutex>* lock) {
  const size_t wanted = PagesToKeepReady();
  if (ready_.size() < wanted) {
    if (cold_.empty()) MapRegion(/*small=*/false);
    const Page page = cold_.back();
    cold_.pop_back();
    lock->unlock();
    Touch(page);
    lock->lock();
    ready_.push_back(page);
    return true;
  }
  if (ready_.size() > wanted) {
    const Page page = ready_.back();
    ready_.pop_back();
    Advise(page, MADV_DONTNEED);
    cold_.push_back(page);
    return true;
  }
  if (to_join_.empty()) return false;
  const Page page = to_join_.back();
  to_join_.pop_back();
  carved_.at(page).small = false;
  lock->unlock();
  Advise(page, MADV_HUGEPAGE);
  Advise(page, MADV_COLLAPSE);
  lock->lock();
  return true;
}

}  // namespace persia
