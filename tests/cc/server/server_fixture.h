// A server with a table, and requests to it as bytes.

#ifndef PERSIA_TESTS_CC_SERVER_SERVER_FIXTURE_H_
#define PERSIA_TESTS_CC_SERVER_SERVER_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/server/server.h"
#include "cc/wire/messages.h"
#include "tests/cc/support/holding_service.h"
#include "tests/cc/support/raw_socket.h"
#include "tests/cc/support/row_requests.h"

namespace persia {

inline constexpr char kTable[] = "user";

class ServerFixture : public testing::Test {
 protected:
  ServerFixture() { CreateRowTable(&service_, kTable); }

  void StartServerWith(const ServerOptions& options) {
    auto server = StartServer(&service_, options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
  }

  RawSocket Connect() const { return RawSocket::Connect(server_->port()); }

  // The frame refers to ids_, so one kind of lookup at a time.
  OutFrame LookupFrame(uint64_t request_id, const std::string& table = kTable,
                       size_t count = 3) {
    ids_ = FirstIds(count);
    LookupRequest request;
    request.tables.resize(1);
    request.tables[0].ids.table = HashName(table);
    request.tables[0].ids.dim = kRowDim;
    request.tables[0].ids.ids = ids_;
    return EncodeLookup(request_id, request);
  }

  // Asks and expects the rows.
  void ExpectServed(RawSocket* client, uint64_t request_id = 1) {
    client->Send(LookupFrame(request_id));
    const RawFrame reply = client->ReceiveFrame();
    ASSERT_TRUE(reply.ok);
    EXPECT_EQ(reply.header.type, MessageType::kLookupReply);
    EXPECT_EQ(reply.header.request_id, request_id);
    uint64_t generation;
    Span<const float> rows;
    ASSERT_TRUE(
        DecodeLookupReply(reply.body, 3 * kRowDim, &generation, &rows).ok());
    EXPECT_EQ(std::vector<float>(rows.begin(), rows.end()),
              LookUpRows(&service_, kTable, FirstIds(3)));
  }

  // Expects an Error reply.
  Status ExpectError(RawSocket* client, uint64_t request_id) {
    const RawFrame reply = client->ReceiveFrame();
    EXPECT_TRUE(reply.ok);
    EXPECT_EQ(reply.header.type, MessageType::kError);
    EXPECT_EQ(reply.header.request_id, request_id);
    return DecodeError(reply.body);
  }

  // The counters that the server tells a new client.
  ServiceStats AskForStats() {
    RawSocket client = Connect();
    client.Send(EncodeStats(1));
    std::vector<ServiceStats> processes;
    EXPECT_TRUE(DecodeStatsReply(client.ReceiveFrame().body, &processes).ok());
    EXPECT_EQ(processes.size(), 1u);
    processes.resize(1);
    return processes[0];
  }

  HoldingService service_;
  std::unique_ptr<Server> server_;
  std::vector<int64_t> ids_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVER_SERVER_FIXTURE_H_
