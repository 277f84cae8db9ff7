// Whether a client can read what a server answers.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_REPLY_CHECK_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_REPLY_CHECK_H_

#include "cc/wire/frame.h"
#include "tests/fuzz/support/sample_messages.h"

namespace persia {

// FuzzChecks the reply to a request: a whole frame of its type, or an Error,
// that a client's decoder takes.
void CheckReply(const SampleMessage& request, const OutFrame& reply);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_REPLY_CHECK_H_
