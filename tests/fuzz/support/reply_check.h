// Checks that a client can read a server's replies.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_REPLY_CHECK_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_REPLY_CHECK_H_

#include "cc/wire/frame.h"
#include "tests/cc/support/sample_messages.h"

namespace persia {

// FuzzChecks the reply to a request: a whole frame of the reply's type, or an
// Error, which a client can decode.
void CheckReply(const SampleMessage& request, const OutFrame& reply);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_REPLY_CHECK_H_
