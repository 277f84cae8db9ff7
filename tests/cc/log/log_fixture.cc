#include "tests/cc/log/log_fixture.h"

#include <gtest/gtest.h>

#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

uint16_t TypeOf(const std::string& text) {
  return static_cast<uint16_t>(text.size() + 7);
}

}  // namespace

Reading ReadLog(const LogPlace& place, uint64_t from, uint64_t lose_from) {
  Reading reading;
  auto log = LogReader::Open(place, from, lose_from);
  reading.status = log.status();
  if (!log.ok()) return reading;
  while (true) {
    const auto record = (*log)->Next();
    reading.status = record.status();
    if (!record.ok() || !record->has_value()) break;
    const std::string text((*record)->body.begin(), (*record)->body.end());
    EXPECT_EQ((*record)->position, from + reading.records.size());
    EXPECT_EQ((*record)->type, TypeOf(text));
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*record)->body.data()) % 8, 0u);
    reading.records.push_back(text);
  }
  reading.position = (*log)->position();
  reading.torn_tail = (*log)->torn_tail();
  return reading;
}

std::unique_ptr<LogWriter> Continue(const LogPlace& place,
                                    const LogOptions& options,
                                    uint64_t lose_from) {
  auto end = LogReader::Open(place, 0, lose_from);
  if (end.ok()) {
    while (true) {
      const auto record = (*end)->Next();
      EXPECT_TRUE(record.ok()) << record.status().message();
      if (!record.ok() || !record->has_value()) break;
    }
  }
  auto log = end.ok() ? LogWriter::Open(**end, options) : end.status();
  EXPECT_TRUE(log.ok()) << log.status().message();
  return log.ok() ? std::move(*log) : nullptr;
}

Result<uint64_t> Append(LogWriter* log, const std::string& text) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  const size_t half = text.size() / 2;
  const Span<const uint8_t> parts[] = {{bytes, half},
                                       {bytes + half, text.size() - half}};
  return log->Append(TypeOf(text), parts);
}

Status AppendAndWait(LogWriter* log, const std::string& text) {
  const auto position = Append(log, text);
  if (!position.ok()) return position.status();
  CallResult durable;
  log->WhenDurable(*position, durable.done());
  return durable.Wait();
}

void AppendEach(LogWriter* log, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const Status status = AppendAndWait(log, text);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

MemoryImage ImageOf(const std::vector<std::string>& texts,
                    const LogOptions& options) {
  MemoryFiles files;
  const auto log = Continue(PlaceIn(&files), options);
  AppendEach(log.get(), texts);
  EXPECT_TRUE(log->Close().ok());
  return files.image();
}

std::string SegmentPath(int number) {
  const std::string digits = std::to_string(number);
  return "log/log-" + std::string(20 - digits.size(), '0') + digits;
}

}  // namespace persia
