// A shard that comes back from its journal has the rows that it had.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "cc/service/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

using Service = std::unique_ptr<EmbeddingService>;

TableConfig Config(const std::string& name, const std::string& dtype,
                   const std::string& admission = "always",
                   const std::string& capacity = "unlimited",
                   const std::string& eviction = "never") {
  TableConfig config = MakeConfig(name, kDim, "uniform", "adagrad");
  config.row_dtype = SpecOf(dtype);
  config.admission = SpecOf(admission);
  config.capacity = SpecOf(capacity);
  config.eviction = SpecOf(eviction);
  return config;
}

const std::vector<TableConfig>& Configs() {
  static const std::vector<TableConfig> configs = {
      Config("plain", "float32"), Config("rounded", "float16"),
      Config("choosy", "float32", "min_count(count=2)"),
      Config("capped", "float32", "always", "rows(count=60)", "lru"),
      Config("short", "float16", "always", "unlimited", "ttl(steps=4)")};
  return configs;
}

// Requests as trainers make them, the same for each seed.
class Traffic {
 public:
  explicit Traffic(uint32_t seed) : random_(seed) {}

  // One step of each table, by any of three clients.
  void Run(EmbeddingService* service) {
    for (const TableConfig& config : Configs()) {
      const Ids ids = SomeIds();
      Train(service, config.name, ids);
      Floats gradients(ids.size() * kDim);
      for (float& gradient : gradients) gradient = Number();
      if (random_() % 7 == 0) gradients[0] = NAN;
      const uint64_t client = 1 + random_() % 3;
      UpdateBags(service, config.name, ids, gradients, client);
      if (random_() % 5 == 0) Assign(service, config);
      if (random_() % 5 == 0) Remove(service, config.name);
    }
  }

  uint64_t sequence(uint64_t client) { return sequences_[client]; }

 private:
  Ids SomeIds() {
    Ids ids;
    for (int64_t id = 0; id < 120; ++id) {
      if (random_() % 5 == 0) ids.push_back(id);
    }
    ids.push_back(static_cast<int64_t>(1000 + random_() % 1000));
    return ids;
  }

  float Number() { return static_cast<float>(random_() % 200) / 100 - 1; }

  // As bags of two ids, every second time.
  void UpdateBags(EmbeddingService* service, const std::string& table,
                  const Ids& ids, const Floats& gradients, uint64_t client) {
    UpdateRequest request;
    request.client = client;
    request.sequence = ++sequences_[client];
    std::vector<uint32_t> offsets = {0};
    Floats weights(ids.size(), 0.5f);
    TableIds bags = IdsOf(table, ids);
    Span<const float> given(gradients);
    if (random_() % 2 == 0) {
      while (offsets.back() < ids.size()) {
        const auto left = static_cast<uint32_t>(ids.size()) - offsets.back();
        offsets.push_back(offsets.back() + std::min<uint32_t>(2, left));
      }
      bags.combiner = Combiner::kMean;
      bags.bag_offsets = offsets;
      bags.weights = weights;
      given = given.first((offsets.size() - 1) * kDim);
    }
    request.tables = {{bags, given, 0.1f}};
    const Status status = Call(service, &EmbeddingService::Update, &request);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  void Assign(EmbeddingService* service, const TableConfig& config) {
    const Ids ids = SomeIds();
    const Floats weights(ids.size() * kDim, Number());
    const Floats state(ids.size() * kDim, 1.5f);
    AssignRequest request;
    request.table = HashName(config.name);
    request.dim = kDim;
    request.ids = ids;
    request.weights = weights;
    if (random_() % 2 == 0) {
      request.state_size = kDim;
      request.state = state;
    }
    const Status status = Call(service, &EmbeddingService::Assign, &request);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  void Remove(EmbeddingService* service, const std::string& table) {
    const Ids ids = SomeIds();
    RemoveRequest request;
    request.table = HashName(table);
    request.ids = ids;
    const Status status = Call(service, &EmbeddingService::Remove, &request);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  std::mt19937 random_;
  std::map<uint64_t, uint64_t> sequences_;
};

class RecoveryTest : public ::testing::Test {
 protected:
  Service Open(uint64_t base_bytes = 1 << 30) {
    LocalServiceOptions options;
    options.checkpoints.root = folder_ / "checkpoints";
    options.recovery.journal.folder = folder_ / "recovery";
    options.recovery.journal.sync = SyncMode::kSystem;
    options.recovery.journal.least_base_bytes = base_bytes;
    options.recovery.level = level_;
    options.events = &events_;
    auto service = OpenLocalService(options);
    EXPECT_TRUE(service.ok()) << service.status().message();
    return service.ok() ? std::move(*service) : nullptr;
  }

  Service OpenWithTables(uint64_t base_bytes = 1 << 30) {
    Service service = Open(base_bytes);
    for (const TableConfig& config : Configs()) {
      EXPECT_TRUE(Create(service.get(), config).ok());
    }
    return service;
  }

  bool HasBase() {
    for (const auto& file :
         std::filesystem::directory_iterator(folder_ / "recovery")) {
      const std::string name = file.path().filename();
      if (name.rfind("base-", 0) == 0 && name.find('.') == std::string::npos) {
        return true;
      }
    }
    return false;
  }

  // It ends, and comes back.
  Service Reopened(Service service) {
    service = nullptr;
    return Open();
  }

  // What was told, of all services so far.
  std::string Told() {
    events_.Close();
    std::string told;
    while (const auto event = events_.Take(DeadlineAfter(0))) {
      told += event->text + "\n";
    }
    return told;
  }

  TemporaryFolder folder_;
  EventLog events_;
  RecoveryLevel level_ = RecoveryLevel::kLog;
};

std::map<std::string, Rows> AllRows(EmbeddingService* service) {
  std::map<std::string, Rows> rows;
  for (const TableConfig& config : Configs()) {
    rows[config.name] = RowsOf(service, config.name);
  }
  return rows;
}

TEST_F(RecoveryTest, GivesTheSameRowsAfterEachEnd) {
  Traffic traffic(1);
  auto expected = AllRows(OpenWithTables().get());
  for (int life = 0; life < 4; ++life) {
    const Service service = Open();
    ASSERT_EQ(AllRows(service.get()), expected) << life;
    for (int step = 0; step < 8; ++step) traffic.Run(service.get());
    expected = AllRows(service.get());
  }
  EXPECT_GT(expected["plain"].size(), 60u);
}

TEST_F(RecoveryTest, GoesOnAsIfNothingHadHappened) {
  // Without eviction by use: when a row was used is not logged.
  Traffic through(2);
  Traffic broken(2);
  const Service undisturbed = MakeLocalService();
  for (const TableConfig& config : Configs()) {
    ASSERT_TRUE(Create(undisturbed.get(), config).ok());
  }
  (void)OpenWithTables();
  for (int life = 0; life < 5; ++life) {
    const Service service = Open(/*base_bytes=*/1 << 12);
    for (int step = 0; step < 6; ++step) {
      through.Run(undisturbed.get());
      broken.Run(service.get());
    }
    for (const std::string table : {"plain", "rounded"}) {
      ASSERT_EQ(RowsOf(service.get(), table), RowsOf(undisturbed.get(), table))
          << table;
    }
  }
}

TEST_F(RecoveryTest, ReadsABaseAndWhatCameAfterIt) {
  Traffic traffic(3);
  Service service = OpenWithTables(/*base_bytes=*/1 << 12);
  const Deadline give_up = DeadlineAfter(60);
  while (!HasBase() && Clock::now() < give_up) traffic.Run(service.get());
  ASSERT_TRUE(HasBase());
  for (int step = 0; step < 3; ++step) traffic.Run(service.get());
  const auto expected = AllRows(service.get());
  service = nullptr;
  service = Open();
  EXPECT_EQ(AllRows(service.get()), expected);
  EXPECT_NE(Told().find("a base and"), std::string::npos);
}

// A base has its name once the log has the record that says what it lacks.
TEST_F(RecoveryTest, RefusesABaseWithoutTheLogThatGoesOnFromIt) {
  Traffic traffic(6);
  Service service = OpenWithTables(/*base_bytes=*/1 << 12);
  const Deadline give_up = DeadlineAfter(60);
  while (!HasBase() && Clock::now() < give_up) traffic.Run(service.get());
  service = nullptr;
  const std::filesystem::path whole = folder_ / "whole";
  std::filesystem::rename(folder_ / "recovery", whole);
  const auto refused = [&](bool keeps_headers) {
    std::filesystem::remove_all(folder_ / "recovery");
    std::filesystem::copy(whole, folder_ / "recovery");
    for (const auto& file :
         std::filesystem::directory_iterator(folder_ / "recovery")) {
      if (file.path().filename().string().rfind("log-", 0) != 0) continue;
      if (keeps_headers) {
        std::filesystem::resize_file(file, kSegmentHeaderBytes);
      } else {
        std::filesystem::remove(file);
      }
    }
    LocalServiceOptions options;
    options.recovery.journal.folder = folder_ / "recovery";
    const Status status = OpenLocalService(options).status();
    EXPECT_EQ(status.code(), Code::kDataLoss) << status.message();
    EXPECT_NE(status.message().find("goes with the log from record"),
              std::string::npos)
        << status.message();
  };
  refused(/*keeps_headers=*/false);
  refused(/*keeps_headers=*/true);
}

TEST_F(RecoveryTest, TellsAsAWarningWhatACrashTore) {
  {
    const Service service = OpenWithTables();
    Traffic traffic(7);
    traffic.Run(service.get());
  }
  std::filesystem::path segment;
  for (const auto& file :
       std::filesystem::directory_iterator(folder_ / "recovery")) {
    if (file.file_size() > kSegmentHeaderBytes) segment = file;
  }
  std::filesystem::resize_file(segment,
                               std::filesystem::file_size(segment) - 3);
  (void)Open();
  events_.Close();
  std::vector<std::string> warnings;
  while (const auto event = events_.Take(DeadlineAfter(0))) {
    if (event->level == EventLevel::kWarning) warnings.push_back(event->text);
  }
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("left out the last "), std::string::npos)
      << warnings[0];
  EXPECT_NE(warnings[0].find("in which 1 records begin"), std::string::npos)
      << warnings[0];
}

TEST_F(RecoveryTest, LeavesOutAndRemovesABaseThatIsUnfinished) {
  Traffic traffic(5);
  Service service = OpenWithTables();
  traffic.Run(service.get());
  const auto expected = AllRows(service.get());
  service = nullptr;
  const std::string unfinished = folder_ / "recovery/base-0000000000000007.tmp";
  std::ofstream(unfinished) << "a part";
  service = Open();
  EXPECT_EQ(AllRows(service.get()), expected);
  EXPECT_FALSE(std::filesystem::exists(unfinished));
}

TEST_F(RecoveryTest, KnowsWhichUpdatesWereApplied) {
  const Floats gradients(kDim, 1.0f);
  {
    const Service service = OpenWithTables();
    Train(service.get(), "plain", {7});
    for (uint64_t sequence : {1, 2, 4}) {
      ASSERT_TRUE(
          Step(service.get(), "plain", {7}, gradients, 9, sequence).ok());
    }
  }
  const Service service = Open();
  const Rows before = RowsOf(service.get(), "plain");
  for (uint64_t sequence : {1, 2, 4}) {
    ASSERT_TRUE(Step(service.get(), "plain", {7}, gradients, 9, sequence).ok());
  }
  EXPECT_EQ(RowsOf(service.get(), "plain"), before);
  ASSERT_TRUE(Step(service.get(), "plain", {7}, gradients, 9, 3).ok());
  EXPECT_NE(RowsOf(service.get(), "plain"), before);
}

TEST_F(RecoveryTest, KeepsRowsThatWereOnlyLookedUp) {
  Floats looked;
  {
    const Service service = OpenWithTables();
    looked = Train(service.get(), "plain", {1, 2});
  }
  const Service service = Open();
  EXPECT_EQ(RowsOf(service.get(), "plain").size(), 2u);
  UpdateCounts counts;
  ASSERT_TRUE(Step(service.get(), "plain", {1, 2}, Floats(2 * kDim, 1.0f), 1, 1,
                   &counts)
                  .ok());
  EXPECT_EQ(counts.applied, 2u);
  EXPECT_NE(Train(service.get(), "plain", {1, 2}), looked);
}

TEST_F(RecoveryTest, IsTheSameFromEveryWholeRecord) {
  // A crash may tear the log anywhere: what is left is a beginning of it.
  {
    const Service service = OpenWithTables();
    Traffic traffic(4);
    traffic.Run(service.get());
  }
  const std::filesystem::path whole = folder_ / "whole";
  std::filesystem::rename(folder_ / "recovery", whole);
  std::map<uintmax_t, std::filesystem::path> segments;
  for (const auto& file : std::filesystem::directory_iterator(whole)) {
    segments[file.file_size()] = file.path().filename();
  }
  const auto& [bytes, segment] = *segments.rbegin();
  size_t rows = ~size_t{0};
  for (uintmax_t size = bytes; size > 4000; size -= 97) {
    std::filesystem::remove_all(folder_ / "recovery");
    std::filesystem::copy(whole, folder_ / "recovery");
    std::filesystem::resize_file(folder_ / "recovery" / segment, size);
    const Service service = Open();
    ASSERT_NE(service, nullptr);
    const size_t now = RowsOf(service.get(), "plain").size();
    EXPECT_LE(now, rows);
    rows = now;
  }
}

// Whether a reader finds a row of table "short", which live for 4 lookups.
bool Finds(EmbeddingService* service, int64_t id) {
  Floats row(kDim);
  const Ids ids = {id};
  LookupRequest request;
  request.read_only = true;
  request.tables = {{IdsOf("short", ids), row}};
  const Status status = Call(service, &EmbeddingService::Lookup, &request);
  EXPECT_TRUE(status.ok()) << status.message();
  return std::any_of(row.begin(), row.end(), [](float x) { return x != 0; });
}

TEST_F(RecoveryTest, ARowWhoseTimeWasOverStaysAway) {
  Service service = OpenWithTables();
  Train(service.get(), "short", {1});
  for (int step = 0; step < 3; ++step) Train(service.get(), "short", {2});
  EXPECT_TRUE(Finds(service.get(), 1));
  Train(service.get(), "short", {2});
  service = Reopened(std::move(service));
  EXPECT_FALSE(Finds(service.get(), 1));
  EXPECT_TRUE(Finds(service.get(), 2));
  // Nor does it when it was seen to be over, or was in a base.
  service = Reopened(std::move(service));
  EXPECT_FALSE(Finds(service.get(), 1));
}

TEST_F(RecoveryTest, ARowOfABaseWhoseTimeWasOverStaysAway) {
  Service service = OpenWithTables(/*base_bytes=*/1 << 12);
  Train(service.get(), "short", {1});
  const Floats gradients(kDim, 1.0f);
  const Deadline give_up = DeadlineAfter(60);
  for (uint64_t step = 1; !HasBase() && Clock::now() < give_up; ++step) {
    Train(service.get(), "plain", {7});
    ASSERT_TRUE(Step(service.get(), "plain", {7}, gradients, 1, step).ok());
  }
  ASSERT_TRUE(HasBase());
  for (int step = 0; step < 3; ++step) Train(service.get(), "short", {2});
  service = Reopened(std::move(service));
  EXPECT_TRUE(Finds(service.get(), 1));
  Train(service.get(), "short", {2});
  service = Reopened(std::move(service));
  EXPECT_FALSE(Finds(service.get(), 1));
  EXPECT_TRUE(Finds(service.get(), 2));
}

TEST_F(RecoveryTest, ARowThatWasUsedLivesOnAsItWouldHave) {
  Service service = OpenWithTables();
  Train(service.get(), "short", {1, 3});
  Train(service.get(), "short", {2});
  Train(service.get(), "short", {3});
  for (int step = 0; step < 2; ++step) {
    service = Reopened(std::move(service));
    EXPECT_TRUE(Finds(service.get(), 1)) << step;
    Train(service.get(), "short", {2});
  }
  service = Reopened(std::move(service));
  Train(service.get(), "short", {2});
  EXPECT_FALSE(Finds(service.get(), 1));
  EXPECT_TRUE(Finds(service.get(), 3));
}

TEST_F(RecoveryTest, LetsNobodyElseUseTheFolder) {
  const Service service = Open();
  LocalServiceOptions options;
  options.recovery.journal.folder = folder_ / "recovery";
  options.recovery.journal.lock_seconds = 0;
  const auto second = OpenLocalService(options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(second.status().message().find("in use by another process"),
            std::string::npos);
}

TEST_F(RecoveryTest, WaitsForOneThatIsAboutToEnd) {
  Service first = OpenWithTables();
  std::thread end([&] { first = nullptr; });
  const Service second = Open();
  end.join();
  EXPECT_NE(second, nullptr);
}

TEST_F(RecoveryTest, RefusesAFolderOfAnotherLevel) {
  (void)OpenWithTables();
  LocalServiceOptions options;
  options.checkpoints.root = folder_ / "checkpoints";
  options.recovery.journal.folder = folder_ / "recovery";
  options.recovery.level = RecoveryLevel::kCheckpoint;
  const auto second = OpenLocalService(options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(second.status().message().find("--recovery log"),
            std::string::npos);
}

TEST_F(RecoveryTest, HoldsWhenManyThreadsChangeTheSameRows) {
  Service service = OpenWithTables(/*base_bytes=*/1 << 14);
  RunInThreads([&](int thread) {
    std::mt19937 random(static_cast<uint32_t>(thread));
    for (uint64_t sequence = 1; sequence <= 150; ++sequence) {
      Ids ids;
      for (int64_t id = 0; id < 100; ++id) {
        if (random() % 6 == 0) ids.push_back(id);
      }
      const std::string table = sequence % 2 == 0 ? "capped" : "rounded";
      Train(service.get(), table, ids);
      const Floats gradients(ids.size() * kDim,
                             static_cast<float>(random() % 9) - 4);
      const auto client = static_cast<uint64_t>(thread + 1);
      EXPECT_TRUE(
          Step(service.get(), table, ids, gradients, client, sequence).ok());
    }
  });
  const auto expected = AllRows(service.get());
  service = nullptr;
  service = Open();
  EXPECT_EQ(AllRows(service.get()), expected);
}

class CheckpointRecoveryTest : public RecoveryTest {
 protected:
  CheckpointRecoveryTest() { level_ = RecoveryLevel::kCheckpoint; }
};

TEST_F(CheckpointRecoveryTest, BringsTheTablesBackWithoutACheckpoint) {
  {
    const Service service = OpenWithTables();
    Train(service.get(), "plain", {1});
    ASSERT_TRUE(Step(service.get(), "plain", {1}, Floats(kDim), 5, 1).ok());
  }
  const Service service = Open();
  StatsRequest stats;
  ASSERT_TRUE(Call(service.get(), &EmbeddingService::Stats, &stats).ok());
  EXPECT_EQ(stats.processes[0].tables.size(), Configs().size());
  EXPECT_EQ(RowsOf(service.get(), "plain").size(), 0u);
  // Training goes on, and what is lost is told.
  Train(service.get(), "plain", {1});
  ASSERT_TRUE(Step(service.get(), "plain", {1}, Floats(kDim), 5, 4).ok());
  const std::string told = Told();
  EXPECT_NE(told.find("client 5: this shard's rows lack up to 3"),
            std::string::npos)
      << told;
}

}  // namespace
}  // namespace persia
