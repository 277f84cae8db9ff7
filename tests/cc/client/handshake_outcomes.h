// What every handshake has to bring about, with TLS or with a token.

#ifndef PERSIA_TESTS_CC_CLIENT_HANDSHAKE_OUTCOMES_H_
#define PERSIA_TESTS_CC_CLIENT_HANDSHAKE_OUTCOMES_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/handshake_frames.h"

namespace persia {

// No refusal takes nearly so long: a call that waits so long was not refused.
inline constexpr double kLongSeconds = 600;

// The outcome of a refused call: its message has `part`, and no token.
inline void ExpectRefusal(const Status& status, const std::string& address,
                          Code code, const std::string& part) {
  const std::string& message = status.message();
  EXPECT_EQ(status.code(), code) << message;
  EXPECT_EQ(message.find(Concat("shard 0 of 1 (", address, "): ")), 0u)
      << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find(kToken), std::string::npos);
  EXPECT_EQ(message.find(kOtherToken), std::string::npos);
}

// The call fails at once, without another attempt, because it would always
// fail. The client makes one connection.
inline void ExpectRefused(EmbeddingService* client, const std::string& address,
                          Code code, const std::string& part) {
  const PendingLookup lookup(client, kUser, FirstIds(3), kLongSeconds);
  ExpectRefusal(lookup.Wait(), address, code, part);
}

// After each cut of its connection, a client with `options` goes on with the
// requests under way.
inline void ExpectCutsAreMended(Shard* shard, RemoteServiceOptions options) {
  options.counters = std::make_shared<WireCounters>();
  const auto client = MakeClient({shard->address()}, options);
  CreateRowTable(client.get(), kUser);
  for (uint64_t cuts = 1; cuts <= 3; ++cuts) {
    shard->service()->Hold();
    const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
    shard->service()->WaitForHeld(1);
    shard->Kill();
    shard->service()->ReleaseAll();
    shard->Restart();
    EXPECT_TRUE(lookup.Wait().ok()) << lookup.Wait().message();
    EXPECT_GE(options.counters->reconnects, cuts);
  }
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_CLIENT_HANDSHAKE_OUTCOMES_H_
