// A service with a recovery folder, from which it can be opened again.

#ifndef PERSIA_TESTS_CC_SHARD_RECOVERY_FIXTURE_H_
#define PERSIA_TESTS_CC_SHARD_RECOVERY_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/shard/traffic.h"

namespace persia {

class RecoveryFixture : public ::testing::Test {
 protected:
  using Service = std::unique_ptr<EmbeddingService>;

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

  // Ends the service, and starts it again from its journal.
  Service Reopened(Service service) {
    service = nullptr;
    return Open();
  }

  // The events of all services so far.
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

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SHARD_RECOVERY_FIXTURE_H_
