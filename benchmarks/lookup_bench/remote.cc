#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "benchmarks/lookup_bench/requesters.h"
#include "benchmarks/support/fail.h"
#include "benchmarks/support/measure.h"
#include "cc/base/hash.h"
#include "cc/client/remote_service.h"
#include "cc/service/await.h"

namespace persia::bench {
namespace {

constexpr double kDeadlineSeconds = 60;
constexpr float kGradient = 1e-3f;
constexpr float kLearningRate = 1e-3f;

std::string NameOf(size_t table) {
  return "lookup_bench/" + std::to_string(table);
}

TableConfig ConfigOf(size_t table, size_t dim) {
  TableConfig config;
  config.name = NameOf(table);
  config.dim = static_cast<uint32_t>(dim);
  config.initializer = {"uniform", {{"minval", -0.05}, {"maxval", 0.05}}};
  config.optimizer = {"adagrad", {}};
  return config;
}

TableKey KeyOf(size_t table) { return HashName(NameOf(table)); }

std::unique_ptr<EmbeddingService> Connect(
    const std::vector<std::string>& shards) {
  auto service = MakeRemoteService(shards, RemoteServiceOptions());
  CheckOk(service.status());
  return std::move(*service);
}

void Create(EmbeddingService* service, size_t table, size_t dim) {
  CreateTableRequest request;
  request.deadline = DeadlineAfter(kDeadlineSeconds);
  request.config = ConfigOf(table, dim);
  CheckOk(Await([&](DoneCallback done) {
    service->CreateTable(&request, std::move(done));
  }));
}

class RemoteRequester : public Requester {
 public:
  RemoteRequester(const RequestIds* ids, size_t dim, RemoteWork work,
                  const std::vector<std::string>& shards, size_t first,
                  int in_flight)
      : ids_(ids),
        dim_(dim),
        work_(work),
        turn_(first),
        service_(Connect(shards)) {
    for (size_t table = 0; table < ids->tables(); ++table) {
      keys_.push_back(KeyOf(table));
      // As every program that trains does, which thus learns of the cluster.
      Create(service_.get(), table, dim);
    }
    size_t most_rows = 0;
    for (size_t request = 0; request < ids->requests(); ++request) {
      const size_t rows = RequestIds::CountRows(ids->unique(request));
      most_rows = std::max(most_rows, rows);
    }
    for (int slot = 0; slot < in_flight; ++slot) {
      slots_.push_back(std::make_unique<Slot>(most_rows * dim));
      free_.push_back(slots_.back().get());
    }
  }

  ~RemoteRequester() override { Drain(); }

  size_t Next() override {
    Slot* const slot = TakeFreeSlot();
    slot->begin = Now();
    if (work_ == RemoteWork::kDedupeAndLookup) {
      slot->deduped = ids_->Dedupe(turn_);
      LookUp(slot, slot->deduped);
    } else if (work_ == RemoteWork::kLookup) {
      LookUp(slot, ids_->unique(turn_));
    } else {
      Update(slot, ids_->unique(turn_));
    }
    turn_ = (turn_ + 1) % ids_->requests();
    return std::exchange(answered_rows_, 0);
  }

  void Drain() override {
    std::vector<Slot*> all;
    while (all.size() < slots_.size()) all.push_back(TakeFreeSlot());
    free_.assign(all.begin(), all.end());
    answered_rows_ = 0;
  }

 private:
  // A request in flight, with the memory that it needs until it is answered.
  struct Slot {
    explicit Slot(size_t weights) : memory(weights * sizeof(float)) {
      std::fill_n(memory.floats(), weights, kGradient);
    }

    RequestIds::OfTables deduped;
    HugeArray memory;  // The rows, or their gradients.
    LookupRequest lookup;
    UpdateRequest update;
    size_t rows = 0;
    double begin = 0;
    double end = 0;
    Status status;
  };

  TableIds IdsOf(const RequestIds::OfTables& unique, size_t table) const {
    TableIds ids;
    ids.table = keys_[table];
    ids.dim = static_cast<uint32_t>(dim_);
    ids.ids = unique[table].ids;
    return ids;
  }

  void LookUp(Slot* slot, const RequestIds::OfTables& unique) {
    slot->rows = RequestIds::CountRows(unique);
    slot->lookup = LookupRequest();
    slot->lookup.deadline = DeadlineAfter(kDeadlineSeconds);
    float* out = slot->memory.floats();
    for (size_t table = 0; table < unique.size(); ++table) {
      TableLookup lookup;
      lookup.ids = IdsOf(unique, table);
      lookup.rows = {out, lookup.ids.ids.size() * dim_};
      out += lookup.rows.size();
      slot->lookup.tables.push_back(lookup);
    }
    service_->Lookup(&slot->lookup, Answered(slot));
  }

  void Update(Slot* slot, const RequestIds::OfTables& unique) {
    slot->rows = RequestIds::CountRows(unique);
    slot->update = UpdateRequest();
    slot->update.deadline = DeadlineAfter(kDeadlineSeconds);
    const float* gradients = slot->memory.floats();
    for (size_t table = 0; table < unique.size(); ++table) {
      TableUpdate update;
      update.ids = IdsOf(unique, table);
      update.gradients = {gradients, update.ids.ids.size() * dim_};
      update.learning_rate = kLearningRate;
      gradients += update.gradients.size();
      slot->update.tables.push_back(update);
    }
    service_->Update(&slot->update, Answered(slot));
  }

  DoneCallback Answered(Slot* slot) {
    return [this, slot](Status status) {
      const double end = Now();
      // Notify under the lock: otherwise this object could be destroyed
      // meanwhile.
      std::lock_guard<std::mutex> lock(mutex_);
      slot->end = end;
      slot->status = std::move(status);
      answered_.push_back(slot);
      changed_.notify_one();
    };
  }

  Slot* TakeFreeSlot() {
    while (true) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        if (free_.empty()) {
          changed_.wait(lock, [this] { return !answered_.empty(); });
        }
        taken_.swap(answered_);
      }
      for (Slot* slot : taken_) Finish(slot);
      taken_.clear();
      if (free_.empty()) continue;
      Slot* const slot = free_.front();
      free_.pop_front();
      return slot;
    }
  }

  void Finish(Slot* slot) {
    CheckOk(slot->status);
    answered_rows_ += slot->rows;
    seconds.push_back(slot->end - slot->begin);
    free_.push_back(slot);
  }

  const RequestIds* const ids_;
  const size_t dim_;
  const RemoteWork work_;
  size_t turn_;
  std::vector<TableKey> keys_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Slot*> free_;
  size_t answered_rows_ = 0;
  std::vector<Slot*> taken_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot*> answered_;  // Guarded by mutex_.

  // The last member, so that it is destroyed before what its callbacks use.
  std::unique_ptr<EmbeddingService> service_;
};

class DedupeRequester : public Requester {
 public:
  DedupeRequester(const RequestIds* ids, size_t first)
      : ids_(ids), turn_(first) {}

  size_t Next() override {
    turn_ = (turn_ + 1) % ids_->requests();
    const double begin = Now();
    const size_t rows = RequestIds::CountRows(ids_->Dedupe(turn_));
    seconds.push_back(Now() - begin);
    return rows;
  }

 private:
  const RequestIds* const ids_;
  size_t turn_;
};

void CreateRows(EmbeddingService* service, size_t table, size_t dim,
                Span<const int64_t> ids) {
  constexpr size_t kBatch = 100'000;
  std::vector<float> rows(kBatch * dim);
  for (size_t begin = 0; begin < ids.size(); begin += kBatch) {
    TableLookup lookup;
    lookup.ids.table = KeyOf(table);
    lookup.ids.dim = static_cast<uint32_t>(dim);
    lookup.ids.ids = ids.subspan(begin, std::min(kBatch, ids.size() - begin));
    lookup.rows = {rows.data(), lookup.ids.ids.size() * dim};
    LookupRequest request;
    request.deadline = DeadlineAfter(kDeadlineSeconds);
    request.tables.push_back(lookup);
    CheckOk(Await([&](DoneCallback done) {
      service->Lookup(&request, std::move(done));
    }));
  }
}

uint64_t CountRows(EmbeddingService* service) {
  StatsRequest request;
  request.deadline = DeadlineAfter(kDeadlineSeconds);
  CheckOk(Await(
      [&](DoneCallback done) { service->Stats(&request, std::move(done)); }));
  uint64_t rows = 0;
  for (const ServiceStats& process : request.processes) {
    for (const TableStats& table : process.tables) rows += table.rows;
  }
  return rows;
}

}  // namespace

void FillShards(const Workload& workload,
                const std::vector<std::string>& shards, size_t tables,
                size_t dim) {
  const auto service = Connect(shards);
  for (size_t table = 0; table < tables; ++table) {
    Create(service.get(), table, dim);
  }
  for (size_t feature = 0; feature < workload.features(); ++feature) {
    CreateRows(service.get(), std::min(feature, tables - 1), dim,
               workload.rows_of(feature));
  }
  // With fewer rows, lookups would be faster and not comparable.
  const uint64_t rows = CountRows(service.get());
  if (rows != workload.rows()) {
    Fail("the shards should hold " + std::to_string(workload.rows()) +
         " rows and hold " + std::to_string(rows));
  }
}

std::unique_ptr<Requester> MakeRemoteRequester(
    const RequestIds* ids, size_t dim, RemoteWork work,
    const std::vector<std::string>& shards, size_t first, int in_flight) {
  return std::make_unique<RemoteRequester>(ids, dim, work, shards, first,
                                           in_flight);
}

std::unique_ptr<Requester> MakeDedupeRequester(const RequestIds* ids,
                                               size_t first) {
  return std::make_unique<DedupeRequester>(ids, first);
}

}  // namespace persia::bench
