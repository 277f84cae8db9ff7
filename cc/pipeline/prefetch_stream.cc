#include "cc/pipeline/prefetch_stream.h"

#include <algorithm>
#include <set>
#include <utility>

namespace persia {

struct PrefetchStream::Entry {
  PrefetchIds ids;
  std::shared_ptr<LookupPlan> plan;
  std::shared_ptr<Lookup> lookup;  // Null until the lookup is sent.
  // The entry's rows reflect at least this many of the table's updates. They
  // are fresh enough while at most `allowance` more updates are committed.
  uint64_t reflected = 0;
  uint64_t allowance = 0;
  // The entry's rows reflect this program's updates up to this sequence, even
  // if they are copies from a cache.
  uint64_t visible = 0;
  bool claimed = false;
};

struct PrefetchStream::Batch {
  uint64_t number = 0;
  std::vector<Entry> entries;
  size_t claims = 0;
  size_t next = 0;  // The entry that is expected to be claimed next.
  bool sent = false;
  std::shared_ptr<BatchSlot> slot;  // Set once a training batch is sent.
};

namespace {

template <typename T>
bool AreEqual(Span<const T> a, Span<const T> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool AreSame(const TableIds& a, const TableIds& b) {
  return a.table == b.table && a.dim == b.dim && a.combiner == b.combiner &&
         AreEqual(a.ids, b.ids) && AreEqual(a.bag_offsets, b.bag_offsets) &&
         AreEqual(a.weights, b.weights);
}

bool IsFor(const PrefetchIds& registered, const LayerCall& call) {
  return registered.layer == call.layer && registered.absent == call.absent &&
         AreSame(registered, call);
}

// Joins lookups into at most two requests: one for training lookups, which may
// create rows, and one for the other lookups.
class Fuser {
 public:
  void Add(std::shared_ptr<Lookup> lookup, bool training) {
    auto& fused = training ? training_ : reading_;
    if (fused == nullptr) fused = std::make_shared<FusedLookup>(!training);
    fused->Add(std::move(lookup));
  }

  std::vector<std::shared_ptr<FusedLookup>> Take() {
    std::vector<std::shared_ptr<FusedLookup>> requests;
    if (training_ != nullptr) requests.push_back(std::move(training_));
    if (reading_ != nullptr) requests.push_back(std::move(reading_));
    return requests;
  }

 private:
  std::shared_ptr<FusedLookup> training_;
  std::shared_ptr<FusedLookup> reading_;
};

}  // namespace

PrefetchStream::PrefetchStream(uint64_t id, const StreamOptions& options,
                               const LookupPlanner* planner,
                               const PushQueue* pushes, Callbacks callbacks)
    : id_(id),
      options_(options),
      planner_(planner),
      pushes_(pushes),
      callbacks_(std::move(callbacks)) {}

PrefetchStream::~PrefetchStream() = default;

void PrefetchStream::Register(std::vector<PrefetchIds> layers) {
  std::vector<LookupPlanner::Ids> ids;
  for (const PrefetchIds& layer : layers) ids.push_back({&layer.layer, &layer});
  auto plans = planner_->Plan(ids);
  Batch batch;
  for (size_t i = 0; i < layers.size(); ++i) {
    Entry entry;
    entry.plan = std::move(plans[i]);
    entry.plan->absent = layers[i].absent;
    entry.ids = std::move(layers[i]);
    batch.entries.push_back(std::move(entry));
  }
  // Dropped batches are destroyed after the lock is released: see OnSlotFreed.
  std::vector<Batch> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_ || batch.entries.empty()) return;
  batch.number = next_number_++;
  batches_.push_back(std::move(batch));
  if (batches_.size() > MostBatches()) DropOldest(&dropped);
  SendAheadLater();
}

size_t PrefetchStream::MostBatches() const {
  const size_t window = (options_.staleness + size_t{1}) * options_.replicas;
  return 2 * window + kSpareBatches;
}

PrefetchStream::Claim PrefetchStream::TakeMatch(const LayerCall& call) {
  Claim claim;
  // Dropped batches are destroyed after the lock is released: see OnSlotFreed.
  std::vector<Batch> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  Entry* entry = nullptr;
  Batch* const batch = Find(call, &entry);
  if (batch == nullptr) return claim;
  if (mode_ == Mode::kUnknown) {
    mode_ = call.model_training ? Mode::kTraining : Mode::kReading;
  }
  if (mode_ == Mode::kReading && call.model_training) TrainAfterAll();
  if (IsLeftOut(*entry) || Trains(*entry) != call.training) return claim;

  const bool is_first = batch->claims == 0;
  const bool has_failed = batch->sent && entry->lookup->has_failed();
  claim.was_stale = batch->sent && (has_failed || IsStale(*entry));
  if (is_first && batch->sent && batch->slot != nullptr && !claim.was_stale) {
    claim.staleness = StalenessOf(*batch);
  }
  if (!batch->sent || claim.was_stale) {
    const bool all = !batch->sent;
    claim.to_send = Fuse(batch, std::nullopt, [&](const Entry& other) {
      return all || Trains(other) == Trains(*entry);
    });
  }
  entry->plan->replica = call.replica;
  claim.lookup = entry->lookup;
  entry->claimed = true;
  batch->next = entry - batch->entries.data() + 1;
  ++batch->claims;
  Drop(batch, &dropped);
  return claim;
}

void PrefetchStream::SendWhatMayGo() {
  std::lock_guard<std::mutex> lock(mutex_);
  SendAheadLater();
}

void PrefetchStream::Close() {
  std::deque<Batch> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  dropped.swap(batches_);
}

size_t PrefetchStream::depth() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return batches_.size();
}

// ---- Claims: all functions in this section require mutex_.

uint64_t PrefetchStream::StepOf(uint64_t number) const {
  return number / static_cast<uint64_t>(options_.replicas);
}

bool PrefetchStream::Trains(const Entry& entry) const {
  return mode_ == Mode::kTraining && entry.ids.trainable;
}

bool PrefetchStream::IsLeftOut(const Entry& entry) const {
  switch (mode_) {
    case Mode::kUnknown:
      return false;
    case Mode::kTraining:
      return entry.ids.use == LookupUse::kReading;
    case Mode::kReading:
      return entry.ids.use == LookupUse::kTraining;
  }
  return false;
}

// Whether every entry of the batch has been claimed or is left out.
bool PrefetchStream::IsClaimed(const Batch& batch) const {
  return std::all_of(
      batch.entries.begin(), batch.entries.end(),
      [this](const Entry& entry) { return entry.claimed || IsLeftOut(entry); });
}

PrefetchStream::Batch* PrefetchStream::Find(const LayerCall& call,
                                            Entry** match) {
  for (Batch& batch : batches_) {
    // If a batch's step is over, its remaining entries are never claimed.
    if (batch.slot != nullptr && batch.slot->stepped()) continue;
    const size_t count = batch.entries.size();
    for (size_t i = 0; i < count; ++i) {
      Entry& entry = batch.entries[(batch.next + i) % count];
      if (entry.claimed || IsLeftOut(entry) || !IsFor(entry.ids, call)) {
        continue;
      }
      *match = &entry;
      return &batch;
    }
  }
  return nullptr;
}

// Switches the stream from evaluation to training. The lookups that were sent
// ahead for evaluation are discarded.
void PrefetchStream::TrainAfterAll() {
  mode_ = Mode::kTraining;
  for (Batch& batch : batches_) batch.sent = false;
}

uint64_t PrefetchStream::MissingUpdates(const Entry& entry) const {
  return pushes_->ProgressOf(entry.ids.table).committed - entry.reflected;
}

bool PrefetchStream::IsStale(const Entry& entry) const {
  if (MissingUpdates(entry) > entry.allowance) return true;
  const int bound = Trains(entry) ? options_.staleness : 0;
  return pushes_->UpdatesAfter(entry.ids.table, entry.visible) >
         static_cast<uint64_t>(bound);
}

uint64_t PrefetchStream::StalenessOf(const Batch& batch) const {
  uint64_t most = 0;
  for (const Entry& entry : batch.entries) {
    if (!Trains(entry)) continue;
    most = std::max(most, MissingUpdates(entry));
    if (!options_.has_copies) continue;
    most =
        std::max(most, pushes_->UpdatesAfter(entry.ids.table, entry.visible));
  }
  return most;
}

// Creates lookups for the wanted entries that are not claimed yet, and returns
// requests of these lookups. If `visible_ahead` is set, the requests are sent
// ahead of their step, and the rows must reflect the updates up to that
// sequence. Otherwise the requests are for a running step.
std::vector<std::shared_ptr<FusedLookup>> PrefetchStream::Fuse(
    Batch* batch, std::optional<uint64_t> visible_ahead,
    const std::function<bool(const Entry&)>& is_wanted) {
  if (mode_ == Mode::kTraining && batch->slot == nullptr) OpenSlot(batch);
  Fuser fuser;
  for (Entry& entry : batch->entries) {
    if (entry.claimed || IsLeftOut(entry) || !is_wanted(entry)) continue;
    const PushQueue::Progress progress = pushes_->ProgressOf(entry.ids.table);
    if (visible_ahead) {
      entry.reflected = progress.acknowledged;
      entry.allowance = Trains(entry) ? options_.staleness : 0;
      entry.visible = *visible_ahead;
    } else {
      // The caller sends the request once enough of the table's updates are
      // acknowledged, so the rows are fresh until another update is committed.
      entry.reflected = progress.committed;
      entry.allowance = 0;
      entry.visible = UINT64_MAX;
    }
    if (Trains(entry)) entry.plan->slot = batch->slot;
    entry.lookup = std::make_shared<Lookup>(entry.plan);
    fuser.Add(entry.lookup, Trains(entry));
  }
  batch->sent = true;
  return fuser.Take();
}

// Moves to `dropped` all batches of steps before the step of `claimed`, and
// also `claimed` itself if all of its entries have been claimed.
void PrefetchStream::Drop(Batch* claimed, std::vector<Batch>* dropped) {
  const uint64_t step = StepOf(claimed->number);
  while (StepOf(batches_.front().number) < step) DropOldest(dropped);
  if (!IsClaimed(*claimed)) return;
  const auto at =
      std::find_if(batches_.begin(), batches_.end(),
                   [&](const Batch& batch) { return &batch == claimed; });
  dropped->push_back(std::move(*at));
  batches_.erase(at);
}

void PrefetchStream::DropOldest(std::vector<Batch>* dropped) {
  const Batch& oldest = batches_.front();
  if (oldest.claims == 0) callbacks_.on_dropped();
  dropped->push_back(std::move(batches_.front()));
  batches_.pop_front();
}

// ---- The window.

// Opens the batch's slot, with which the batch enters the window. Requires that
// mutex_ is held.
void PrefetchStream::OpenSlot(Batch* batch) {
  const uint64_t number = batch->number;
  batch->slot =
      std::make_shared<BatchSlot>(id_, StepOf(number), options_.staleness,
                                  [weak = weak_from_this(), number] {
                                    if (auto self = weak.lock())
                                      self->OnSlotFreed(number);
                                  });
  window_[number] = batch->slot->pushed();
}

// Removes a batch from the window. May be called on any thread, but never while
// that thread holds mutex_.
void PrefetchStream::OnSlotFreed(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  window_.erase(number);
  SendAheadLater();
}

// Schedules SendAhead on another thread if a batch may be sent now. Requires
// that mutex_ is held.
void PrefetchStream::SendAheadLater() {
  if (closed_ || sending_ || NextToSend() == nullptr) return;
  sending_ = true;
  callbacks_.run_later([self = shared_from_this()] { self->SendAhead(); });
}

void PrefetchStream::SendAhead() {
  while (true) {
    std::vector<std::shared_ptr<FusedLookup>> requests;
    uint64_t visible = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      Batch* const batch = closed_ ? nullptr : NextToSend();
      if (batch == nullptr) {
        sending_ = false;
        return;
      }
      visible = VisibleTo(*batch);
      requests = Fuse(batch, visible, [](const Entry&) { return true; });
    }
    for (auto& request : requests) callbacks_.send(std::move(request), visible);
  }
}

// Returns the next batch to send ahead, or null if no batch may be sent now.
// Requires that mutex_ is held.
PrefetchStream::Batch* PrefetchStream::NextToSend() {
  if (mode_ == Mode::kUnknown) return nullptr;
  const auto next =
      std::find_if(batches_.begin(), batches_.end(),
                   [](const Batch& batch) { return !batch.sent; });
  if (next == batches_.end()) return nullptr;
  if (mode_ == Mode::kReading || window_.empty()) return &*next;
  const uint64_t ahead_of_oldest =
      StepOf(next->number) - StepOf(window_.begin()->first);
  const auto most = static_cast<uint64_t>(options_.staleness);
  return ahead_of_oldest <= most ? &*next : nullptr;
}

// Returns the sequence of the newest update that the rows of a batch must
// reflect if the batch is sent ahead now. Requires that mutex_ is held.
//
// Earlier steps of the stream count as pushed, since they will be pushed before
// the rows are used. The `pushed` flags are read before newest_sequence(), so
// that a step pushed between the two reads counts twice rather than not at all.
uint64_t PrefetchStream::VisibleTo(const Batch& batch) const {
  std::set<uint64_t> unpushed_steps;
  for (const auto& [number, pushed] : window_) {
    const uint64_t step = StepOf(number);
    if (!*pushed && step < StepOf(batch.number)) unpushed_steps.insert(step);
  }
  const uint64_t newest = pushes_->newest_sequence() + unpushed_steps.size();
  const uint64_t lack = mode_ == Mode::kTraining ? options_.staleness : 0;
  return newest - std::min(newest, lack);
}

}  // namespace persia
