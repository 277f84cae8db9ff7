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

  // The frame refers to ids_, so a test may have frames of one kind of lookup
  // at a time.
  OutFrame LookupFrame(uint64_t request_id, const std::string& table = kTable,
                       size_t count = 3,
                       WireDtype dtype = WireDtype::kFloat32) {
    ids_ = FirstIds(count);
    LookupRequest request;
    request.tables.resize(1);
    request.tables[0].ids.table = HashName(table);
    request.tables[0].ids.dim = kRowDim;
    request.tables[0].ids.ids = ids_;
    return EncodeLookup(request_id, request, dtype);
  }

  // The rows in a reply to such a lookup.
  static std::vector<float> DecodeRows(const RawFrame& reply, size_t count) {
    EXPECT_TRUE(reply.ok);
    EXPECT_EQ(reply.header.type, kReplyType<LookupRequest>);
    uint64_t generation;
    std::vector<WireVectors> tables;
    const Status status =
        DecodeLookupReply(reply.body, {{count, kRowDim}}, &generation, &tables);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<float> rows(count * kRowDim);
    if (!status.ok()) return rows;
    DecodeVectors(tables[0], VectorPlaces{count, 0, nullptr}, kRowDim,
                  rows.data());
    return rows;
  }

  // Sends a lookup, and expects its rows.
  void ExpectServed(RawSocket* client, uint64_t request_id = 1) {
    client->Send(LookupFrame(request_id));
    const RawFrame reply = client->ReceiveFrame();
    EXPECT_EQ(reply.header.request_id, request_id);
    EXPECT_EQ(DecodeRows(reply, 3), LookUpRows(&service_, kTable, FirstIds(3)));
  }

  // Expects an Error reply.
  Status ExpectError(RawSocket* client, uint64_t request_id) {
    const RawFrame reply = client->ReceiveFrame();
    EXPECT_TRUE(reply.ok);
    EXPECT_EQ(reply.header.type, MessageType::kError);
    EXPECT_EQ(reply.header.request_id, request_id);
    return DecodeError(reply.body);
  }

  // The counters that a new client gets from the server.
  ServiceStats AskForStats() {
    RawSocket client = Connect();
    return StatsOver(&client);
  }
  static ServiceStats StatsOver(RawSocket* client) {
    client->Send(EncodeRequest(1, StatsRequest()));
    StatsRequest answered;
    EXPECT_TRUE(DecodeReply(client->ReceiveFrame().body, &answered).ok());
    EXPECT_EQ(answered.processes.size(), 1u);
    answered.processes.resize(1);
    return answered.processes[0];
  }

  HoldingService service_;
  std::unique_ptr<Server> server_;
  std::vector<int64_t> ids_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVER_SERVER_FIXTURE_H_
