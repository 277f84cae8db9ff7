// Processes that are killed while they append, to files of the operating
// system.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/log/log_fixture.h"

namespace persia {
namespace {

// The text of the record at `position`.
std::string TextAt(uint64_t position) {
  return Concat(position, " ", std::string(position % 300, 'x'));
}

// Appends for ever, and writes to `pipe` what is durable.
[[noreturn]] void AppendUntilKilled(const LogPlace& place, SyncMode sync,
                                    int pipe) {
  LogOptions options;
  options.segments.sync = sync;
  options.segments.max_bytes = 20'000;
  options.max_batch_bytes = 5'000;
  const auto log = Continue(place, options);
  if (log == nullptr) ::_exit(1);
  while (true) {
    const auto position = Append(log.get(), TextAt(log->position()));
    if (!position.ok()) ::_exit(1);
    log->WhenDurable(*position, [pipe, position](const Status& status) {
      if (!status.ok()) ::_exit(1);
      const uint64_t number = *position;
      if (::write(pipe, &number, sizeof(number)) < 0) ::_exit(1);
    });
  }
}

// Runs a process that appends, and kills it once it has said `count` times that
// a record is durable. Returns the highest position that it reported as
// durable.
uint64_t KillAfter(const LogPlace& place, SyncMode sync, int count) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) AppendUntilKilled(place, sync, pipe[1]);
  ::close(pipe[1]);
  uint64_t position = 0, highest = 0;
  for (int i = 0; ::read(pipe[0], &position, 8) == 8; ++i) {
    highest = std::max(highest, position);
    if (i + 1 == count) ::kill(child, SIGKILL);
  }
  ::close(pipe[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  return highest;
}

class LogKillTest : public ::testing::TestWithParam<SyncMode> {};

TEST_P(LogKillTest, WhatAKilledProcessSaidIsDurableIsThere) {
  const TemporaryFolder folder;
  const LogPlace place{LocalFiles(), folder / "log"};
  for (const int count : {1, 2, 5, 20, 100, 400, 3, 50}) {
    const uint64_t highest = KillAfter(place, GetParam(), count);
    const Reading reading = ReadLog(place);
    ASSERT_TRUE(reading.status.ok()) << reading.status.message();
    ASSERT_GT(reading.records.size(), highest);
    for (size_t i = 0; i < reading.records.size(); ++i) {
      ASSERT_EQ(reading.records[i], TextAt(i));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SyncModes, LogKillTest,
                         ::testing::Values(SyncMode::kDevice,
                                           SyncMode::kSystem));

}  // namespace
}  // namespace persia
