#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "benchmarks/lookup_bench/requesters.h"
#include "benchmarks/support/fail.h"
#include "benchmarks/support/measure.h"
#include "cc/base/dedupe.h"
#include "cc/base/hash.h"
#include "cc/client/remote_service.h"
#include "cc/pipeline/await.h"

namespace persia::bench {
namespace {

constexpr double kDeadlineSeconds = 60;

TableConfig ConfigOf(size_t table) {
  TableConfig config;
  config.name = "lookup_bench/" + std::to_string(table);
  config.dim = kDim;
  config.initializer = {"uniform", {{"minval", -0.05}, {"maxval", 0.05}}};
  config.optimizer = {"adagrad", {}};
  return config;
}

std::unique_ptr<EmbeddingService> Connect(
    const std::vector<std::string>& shards) {
  auto service = MakeRemoteService(shards, RemoteServiceOptions());
  CheckOk(service.status());
  return std::move(*service);
}

// The parts that a request is deduplicated and asked for in.
std::vector<UniqueIds> DedupeRequest(const Workload& workload, size_t request,
                                     size_t tables) {
  std::vector<UniqueIds> unique;
  if (tables == 1) {
    unique.push_back(Dedupe(workload.ids(request)));
    return unique;
  }
  for (size_t feature = 0; feature < tables; ++feature) {
    unique.push_back(Dedupe(workload.ids(request, feature)));
  }
  return unique;
}

size_t CountRows(const std::vector<UniqueIds>& unique) {
  size_t rows = 0;
  for (const UniqueIds& one : unique) rows += one.ids.size();
  return rows;
}

class RemoteRequester : public Requester {
 public:
  RemoteRequester(const Workload* workload,
                  const std::vector<std::string>& shards, size_t tables,
                  size_t first, int in_flight)
      : workload_(workload),
        tables_(tables),
        turn_(first),
        service_(Connect(shards)) {
    for (size_t table = 0; table < tables; ++table) {
      keys_.push_back(HashName(ConfigOf(table).name));
    }
    for (int slot = 0; slot < in_flight; ++slot) {
      slots_.push_back(std::make_unique<Slot>(workload->ids(0).size()));
      free_.push_back(slots_.back().get());
    }
  }

  ~RemoteRequester() override { Drain(); }

  size_t Next() override {
    Slot* const slot = TakeFreeSlot();
    slot->begin = Now();
    slot->unique = DedupeRequest(*workload_, turn_, tables_);
    turn_ = (turn_ + 1) % workload_->requests();
    Ask(slot);
    return std::exchange(answered_rows_, 0);
  }

  void Drain() override {
    std::vector<Slot*> all;
    while (all.size() < slots_.size()) all.push_back(TakeFreeSlot());
    free_.assign(all.begin(), all.end());
    answered_rows_ = 0;
  }

 private:
  // A request under way, and what it needs until it is answered.
  struct Slot {
    explicit Slot(size_t rows) : memory(rows * kDim * sizeof(float)) {}

    std::vector<UniqueIds> unique;
    HugeArray memory;
    LookupRequest request;
    double begin = 0;
    double end = 0;
    Status status;
  };

  void Ask(Slot* slot) {
    slot->request = LookupRequest();
    slot->request.deadline = DeadlineAfter(kDeadlineSeconds);
    float* out = slot->memory.floats();
    for (size_t table = 0; table < slot->unique.size(); ++table) {
      TableLookup lookup;
      lookup.ids.table = keys_[table];
      lookup.ids.dim = kDim;
      lookup.ids.ids = slot->unique[table].ids;
      lookup.rows = {out, lookup.ids.ids.size() * kDim};
      out += lookup.rows.size();
      slot->request.tables.push_back(lookup);
    }
    service_->Lookup(&slot->request, [this, slot](Status status) {
      const double end = Now();
      // Under the lock, lest this object goes while it is told.
      std::lock_guard<std::mutex> lock(mutex_);
      slot->end = end;
      slot->status = std::move(status);
      answered_.push_back(slot);
      changed_.notify_one();
    });
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
    answered_rows_ += CountRows(slot->unique);
    seconds.push_back(slot->end - slot->begin);
    free_.push_back(slot);
  }

  const Workload* const workload_;
  const size_t tables_;
  size_t turn_;
  std::vector<TableKey> keys_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Slot*> free_;
  size_t answered_rows_ = 0;
  std::vector<Slot*> taken_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot*> answered_;  // Guarded by mutex_.

  // Last, so that it is gone before what its callbacks use.
  std::unique_ptr<EmbeddingService> service_;
};

class DedupeRequester : public Requester {
 public:
  DedupeRequester(const Workload* workload, size_t tables, size_t first)
      : workload_(workload), tables_(tables), turn_(first) {}

  size_t Next() override {
    turn_ = (turn_ + 1) % workload_->requests();
    const double begin = Now();
    const size_t rows = CountRows(DedupeRequest(*workload_, turn_, tables_));
    seconds.push_back(Now() - begin);
    return rows;
  }

 private:
  const Workload* const workload_;
  const size_t tables_;
  size_t turn_;
};

void Create(EmbeddingService* service, size_t table) {
  CreateTableRequest request;
  request.deadline = DeadlineAfter(kDeadlineSeconds);
  request.config = ConfigOf(table);
  CheckOk(Await([&](DoneCallback done) {
    service->CreateTable(&request, std::move(done));
  }));
}

void CreateRows(EmbeddingService* service, size_t table,
                Span<const int64_t> ids) {
  constexpr size_t kBatch = 100'000;
  std::vector<float> rows(kBatch * kDim);
  for (size_t begin = 0; begin < ids.size(); begin += kBatch) {
    TableLookup lookup;
    lookup.ids.table = HashName(ConfigOf(table).name);
    lookup.ids.dim = kDim;
    lookup.ids.ids = ids.subspan(begin, std::min(kBatch, ids.size() - begin));
    lookup.rows = {rows.data(), lookup.ids.ids.size() * kDim};
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
                const std::vector<std::string>& shards, size_t tables) {
  const auto service = Connect(shards);
  for (size_t table = 0; table < tables; ++table) Create(service.get(), table);
  for (size_t feature = 0; feature < workload.features(); ++feature) {
    CreateRows(service.get(), std::min(feature, tables - 1),
               workload.rows_of(feature));
  }
  // Fewer rows would be fast, and another measurement.
  const uint64_t rows = CountRows(service.get());
  if (rows != workload.rows()) {
    Fail("the shards should hold " + std::to_string(workload.rows()) +
         " rows and hold " + std::to_string(rows));
  }
}

std::unique_ptr<Requester> MakeRemoteRequester(
    const Workload* workload, const std::vector<std::string>& shards,
    size_t tables, size_t first, int in_flight) {
  return std::make_unique<RemoteRequester>(workload, shards, tables, first,
                                           in_flight);
}

std::unique_ptr<Requester> MakeDedupeRequester(const Workload* workload,
                                               size_t tables, size_t first) {
  return std::make_unique<DedupeRequester>(workload, tables, first);
}

}  // namespace persia::bench
