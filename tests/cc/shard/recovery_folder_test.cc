// Recovery folders with bases, torn or unfinished files, or other users.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cc/shard/local_service.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/shard/recovery_fixture.h"
#include "tests/cc/shard/traffic.h"

namespace persia {
namespace {

using RecoveryTest = RecoveryFixture;

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

// A base gets its name only after the log has the record that says which
// updates the base lacks.
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
    EXPECT_NE(status.message().find("needs the log from record"),
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

TEST_F(RecoveryTest, IsTheSameFromEveryWholeRecord) {
  // A crash may tear the log anywhere: what is left is its first records.
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

}  // namespace
}  // namespace persia
