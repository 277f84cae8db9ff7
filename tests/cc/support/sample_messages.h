// Valid messages of every type, which tests cut and mutate.

#ifndef PERSIA_TESTS_CC_SUPPORT_SAMPLE_MESSAGES_H_
#define PERSIA_TESTS_CC_SUPPORT_SAMPLE_MESSAGES_H_

#include <cstdint>
#include <vector>

#include "cc/store/table_config.h"
#include "cc/wire/frame.h"

namespace persia {

struct SampleMessage {
  MessageType type = MessageType::kError;
  std::vector<uint8_t> body;
};

// Small tables, each of which differs in all settings; the requests are for
// them.
std::vector<TableConfig> SampleTables();

std::vector<SampleMessage> SampleRequests();
std::vector<SampleMessage> SampleReplies();

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SUPPORT_SAMPLE_MESSAGES_H_
