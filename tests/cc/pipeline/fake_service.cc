#include "tests/cc/pipeline/fake_service.h"

#include <algorithm>
#include <utility>

#include "cc/service/pooling.h"
#include "tests/cc/pipeline/wait.h"

namespace persia {

void FakeControl::HoldLookups(bool hold) {
  std::lock_guard<std::mutex> lock(mutex_);
  hold_lookups_ = hold;
}

void FakeControl::HoldUpdates(bool hold) {
  std::lock_guard<std::mutex> lock(mutex_);
  hold_updates_ = hold;
}

void FakeControl::TakeBags() {
  std::lock_guard<std::mutex> lock(mutex_);
  takes_bags_ = true;
}

void FakeControl::CompleteLookup(const Status& status) {
  CompleteOldest(&held_lookups_, status);
}

void FakeControl::CompleteUpdate(const Status& status) {
  CompleteOldest(&held_updates_, status);
}

void FakeControl::CompleteOldest(std::deque<std::function<void(Status)>>* held,
                                 const Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (held->empty()) {
    ADD_FAILURE() << "no call is held";
    return;
  }
  work_.push_back(
      [done = std::move(held->front()), status] { return done(status); });
  held->pop_front();
  changed_.notify_all();
}

void FakeControl::ReleaseAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  hold_lookups_ = false;
  hold_updates_ = false;
  MoveHeldToWork(Status());
}

void FakeControl::MoveHeldToWork(const Status& status) {
  for (auto* held : {&held_lookups_, &held_updates_}) {
    for (auto& done : *held) {
      work_.push_back([done = std::move(done), status] { done(status); });
    }
    held->clear();
  }
  changed_.notify_all();
}

void FakeControl::SetGeneration(uint64_t generation) {
  std::lock_guard<std::mutex> lock(mutex_);
  generation_ = generation;
}

void FakeControl::SetCounts(const UpdateCounts& counts) {
  std::lock_guard<std::mutex> lock(mutex_);
  counts_ = counts;
}

std::vector<SeenLookup> FakeControl::WaitForLookups(size_t count) {
  std::unique_lock<std::mutex> lock(mutex_);
  WaitUntil(&lock, &changed_, "lookups",
            [&] { return lookups_.size() >= count; });
  return lookups_;
}

std::vector<SeenUpdate> FakeControl::WaitForUpdates(size_t count) {
  std::unique_lock<std::mutex> lock(mutex_);
  WaitUntil(&lock, &changed_, "updates",
            [&] { return updates_.size() >= count; });
  return updates_;
}

size_t FakeControl::lookups() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return lookups_.size();
}

size_t FakeControl::updates() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return updates_.size();
}

std::thread::id FakeControl::service_thread() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return service_thread_;
}

void FakeControl::WaitUntilDestroyed() {
  std::unique_lock<std::mutex> lock(mutex_);
  WaitUntil(&lock, &changed_, "the service's end", [&] { return destroyed_; });
}

class FakeService : public EmbeddingService {
 public:
  explicit FakeService(std::shared_ptr<FakeControl> control)
      : control_(std::move(control)) {
    std::lock_guard<std::mutex> lock(control_->mutex_);
    control_->stopping_ = false;
    control_->destroyed_ = false;
    thread_ = std::thread([this] { Work(); });
    control_->service_thread_ = thread_.get_id();
  }

  ~FakeService() override {
    CancelHeld();
    thread_.join();
    std::lock_guard<std::mutex> lock(control_->mutex_);
    control_->destroyed_ = true;
    control_->changed_.notify_all();
  }

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    request->rows = request->config.seed;
    {
      std::lock_guard<std::mutex> lock(control_->mutex_);
      request->takes_bags = control_->takes_bags_;
    }
    done(Status());
  }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    SeenLookup seen;
    seen.read_only = request->read_only;
    for (TableLookup& table : request->tables) {
      seen.tables.push_back(See(table.ids));
      seen.tables.back().absent = table.absent;
      FillRows(&table);
    }
    std::unique_lock<std::mutex> lock(control_->mutex_);
    request->generation = control_->generation_;
    control_->lookups_.push_back(std::move(seen));
    FinishCall(std::move(lock), control_->hold_lookups_,
               &control_->held_lookups_, std::move(done));
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    SeenUpdate seen;
    seen.trainer = request->trainer;
    seen.client = request->client;
    seen.sequence = request->sequence;
    seen.generation = request->generation;
    seen.seconds_left = SecondsUntil(request->deadline);
    for (const TableUpdate& table : request->tables) {
      seen.tables.push_back(See(table.ids));
      seen.tables.back().gradients.assign(table.gradients.begin(),
                                          table.gradients.end());
      seen.tables.back().learning_rate = table.learning_rate;
    }
    std::unique_lock<std::mutex> lock(control_->mutex_);
    request->counts = control_->counts_;
    control_->updates_.push_back(std::move(seen));
    FinishCall(std::move(lock), control_->hold_updates_,
               &control_->held_updates_, std::move(done));
  }

  void Stats(StatsRequest* request, DoneCallback done) override {
    request->processes.resize(1);
    request->processes[0].address = "fake";
    done(Status());
  }

 protected:
  // Sessions forward these calls unchanged.
  void OtherCall(const AnyRequest&, DoneCallback done) override {
    done(Status());
  }

 private:
  static SeenTable See(const TableIds& ids) {
    SeenTable seen;
    seen.table = ids.table;
    seen.dim = ids.dim;
    seen.ids.assign(ids.ids.begin(), ids.ids.end());
    seen.combiner = ids.combiner;
    seen.bag_offsets.assign(ids.bag_offsets.begin(), ids.bag_offsets.end());
    return seen;
  }

  static void FillRows(TableLookup* table) {
    const TableIds& ids = table->ids;
    EXPECT_EQ(table->rows.size(), ids.vectors() * ids.dim);
    if (ids.combiner != Combiner::kNone) return FillVectors(table);
    float* row = table->rows.data();
    for (const int64_t id : ids.ids) {
      std::fill(row, row + ids.dim, static_cast<float>(id));
      row += ids.dim;
    }
  }

  static void FillVectors(TableLookup* table) {
    const TableIds& ids = table->ids;
    BagPooler pooler;
    pooler.Build(ids);
    std::vector<float> rows;
    for (const int64_t id : pooler.unique_ids()) {
      rows.insert(rows.end(), ids.dim, static_cast<float>(id));
    }
    pooler.Pool(rows, table->rows);
  }

  void FinishCall(std::unique_lock<std::mutex> lock, bool hold,
                  std::deque<std::function<void(Status)>>* held,
                  DoneCallback done) {
    if (hold) held->push_back(std::move(done));
    control_->changed_.notify_all();
    lock.unlock();
    if (!hold) done(Status());
  }

  void CancelHeld() {
    std::lock_guard<std::mutex> lock(control_->mutex_);
    control_->stopping_ = true;
    control_->MoveHeldToWork(Status(Code::kCancelled, "the service ends"));
  }

  void Work() {
    std::unique_lock<std::mutex> lock(control_->mutex_);
    while (true) {
      control_->changed_.wait(lock, [&] {
        return control_->stopping_ || !control_->work_.empty();
      });
      if (control_->work_.empty()) return;
      std::function<void()> work = std::move(control_->work_.front());
      control_->work_.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
    }
  }

  const std::shared_ptr<FakeControl> control_;
  std::thread thread_;
};

std::unique_ptr<EmbeddingService> MakeFakeService(
    std::shared_ptr<FakeControl> control) {
  return std::make_unique<FakeService>(std::move(control));
}

}  // namespace persia
