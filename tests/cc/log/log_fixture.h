// What tests of the log share: records as text, a log to write them to, and all
// that a reader gives.

#ifndef PERSIA_TESTS_CC_LOG_LOG_FIXTURE_H_
#define PERSIA_TESTS_CC_LOG_LOG_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cc/log/log_reader.h"
#include "cc/log/log_writer.h"
#include "tests/cc/log/memory_files.h"

namespace persia {

inline LogPlace PlaceIn(FileSystem* files) { return {files, "log"}; }

// What a reader found.
struct Reading {
  std::vector<std::string> records;
  Status status;
  uint64_t position = 0;
  std::optional<TornTail> torn_tail;
};

// Reads the log. Fails the test if positions do not count up from `from`, or a
// record has another type than Append gives it.
Reading ReadLog(const LogPlace& place, uint64_t from = 0,
                uint64_t lose_from = 0);

// Reads the log without the records that `lose_from` gives up, and goes on
// where it ends. If that fails, the test fails, and the result is null.
std::unique_ptr<LogWriter> Continue(const LogPlace& place,
                                    const LogOptions& options = {},
                                    uint64_t lose_from = 0);

Result<uint64_t> Append(LogWriter* log, const std::string& text);

// Appends a record, and waits until it is durable.
Status AppendAndWait(LogWriter* log, const std::string& text);

// Waits for each record before the next one, so that each is in a batch and a
// sync of its own, and in a segment of its own if segments take no more.
void AppendEach(LogWriter* log, const std::vector<std::string>& texts);

// What AppendEach makes of a new log.
MemoryImage ImageOf(const std::vector<std::string>& texts,
                    const LogOptions& options = {});

// The path of the segment with this number.
std::string SegmentPath(int number);

}  // namespace persia

#endif  // PERSIA_TESTS_CC_LOG_LOG_FIXTURE_H_
