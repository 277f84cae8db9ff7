// Rows and gradients of each dtype at a server.

#include <gtest/gtest.h>

#include <vector>

#include "tests/cc/server/server_fixture.h"

namespace persia {
namespace {

class WireDtypeTest : public ServerFixture {
 protected:
  // One plain table of an update.
  static TableUpdate Update(const std::vector<int64_t>& ids) {
    TableUpdate update;
    update.ids.table = HashName(kTable);
    update.ids.dim = kRowDim;
    update.ids.ids = ids;
    update.learning_rate = 1;
    return update;
  }

  // The most by which a dtype may change a row. Rows are within 0.05; the
  // coarsest dtypes round them to steps of a 7th, a 127th or a 256th of that.
  static float Tolerance(WireDtype dtype) {
    if (dtype == WireDtype::kFloat32) return 0;
    return dtype == WireDtype::kInt4 ? 0.05f / 14 : 0.05f / 254;
  }
};

TEST_F(WireDtypeTest, RowsComeInTheDtypeThatWasAskedFor) {
  StartServerWith(ServerOptions());
  constexpr size_t kCount = 100;
  const std::vector<float> rows =
      LookUpRows(&service_, kTable, FirstIds(kCount));
  // One call after the other, so that each finds the memory of the last.
  RawSocket client = Connect();
  for (const WireDtype dtype :
       {WireDtype::kInt8, WireDtype::kFloat32, WireDtype::kFloat16,
        WireDtype::kBfloat16, WireDtype::kInt4, WireDtype::kFloat32}) {
    client.Send(LookupFrame(1, kTable, kCount, dtype));
    const RawFrame reply = client.ReceiveFrame();
    EXPECT_EQ(reply.body.size(), 16 + PaddedBytes(dtype, kCount, kRowDim));
    const std::vector<float> decoded = DecodeRows(reply, kCount);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_NEAR(decoded[i], rows[i], Tolerance(dtype))
          << static_cast<int>(dtype);
    }
  }
}

TEST_F(WireDtypeTest, PackedIdsAreLimited) {
  ServerOptions options;
  options.request.ids = 100;
  StartServerWith(options);
  RawSocket client = Connect();
  client.Send(LookupFrame(1, kTable, 101, WireDtype::kInt4));
  const Status status = ExpectError(&client, 1);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "a request must have at most 100 ids, received 101: send fewer at "
            "once, or raise --max-request-ids of the server");
  client.Send(LookupFrame(2, kTable, 100, WireDtype::kInt4));
  EXPECT_EQ(client.ReceiveFrame().header.type, kReplyType<LookupRequest>);
}

TEST_F(WireDtypeTest, AnUnknownDtypeIsRefused) {
  StartServerWith(ServerOptions());
  RawSocket client = Connect();
  client.Send(LookupFrame(5, kTable, 3, static_cast<WireDtype>(5)));
  Status status = ExpectError(&client, 5);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "wire dtype must be 0 to 4, received 5");

  const std::vector<int64_t> ids = {1};
  const std::vector<float> gradients(kRowDim);
  WireVectors unknown = AsWireVectors(gradients);
  unknown.dtype = static_cast<WireDtype>(5);
  UpdateRequest update;
  update.tables = {Update(ids)};
  client.Send(EncodeUpdate(6, update, {unknown}));
  status = ExpectError(&client, 6);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  ExpectServed(&client, 7);
}

TEST_F(WireDtypeTest, TablesOfAnUpdateHaveDtypesOfTheirOwn) {
  StartServerWith(ServerOptions());
  const std::vector<float> before = LookUpRows(&service_, kTable, FirstIds(7));
  const std::vector<std::vector<int64_t>> ids = {{0}, {1, 2}, {3}, {4, 5}, {6}};
  // 7 x 16 is exact in all dtypes.
  const std::vector<float> gradients(2 * kRowDim, 112);
  const std::vector<WireDtype> dtypes = {
      WireDtype::kInt8, WireDtype::kFloat32, WireDtype::kFloat16,
      WireDtype::kBfloat16, WireDtype::kInt4};
  UpdateRequest update;
  std::vector<std::vector<uint64_t>> memory(ids.size());
  std::vector<WireVectors> vectors;
  for (size_t t = 0; t < ids.size(); ++t) {
    update.tables.push_back(Update(ids[t]));
    const VectorPlaces all{ids[t].size(), 0, nullptr};
    memory[t].resize(PaddedBytes(dtypes[t], all.count, kRowDim) / 8);
    auto* bytes = reinterpret_cast<uint8_t*>(memory[t].data());
    EncodeVectors(dtypes[t], VectorKind::kGradients, gradients.data(), all,
                  kRowDim, bytes);
    vectors.push_back(
        {dtypes[t],
         ConstBytes(bytes, EncodedBytes(dtypes[t], all.count, kRowDim))});
  }
  RawSocket client = Connect();
  client.Send(EncodeUpdate(1, update, vectors));
  const RawFrame reply = client.ReceiveFrame();
  ASSERT_EQ(reply.header.type, kReplyType<UpdateRequest>);
  UpdateRequest answered;
  ASSERT_TRUE(DecodeReply(reply.body, &answered).ok());
  EXPECT_EQ(answered.counts.applied, 7u);
  const std::vector<float> after = LookUpRows(&service_, kTable, FirstIds(7));
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i] - 112, 1e-4f) << i;
  }
}

TEST_F(WireDtypeTest, RowsAreBoundedBeforeTheyAreEncoded) {
  ServerOptions options;
  options.max_body_bytes = 1000;  // 62 rows, and more than 100 ids.
  StartServerWith(options);
  RawSocket client = Connect();
  client.Send(LookupFrame(1, kTable, 63));
  EXPECT_EQ(ExpectError(&client, 1).code(), Code::kResourceExhausted);
  for (const WireDtype dtype : {WireDtype::kFloat16, WireDtype::kBfloat16,
                                WireDtype::kInt8, WireDtype::kInt4}) {
    client.Send(LookupFrame(2, kTable, 63, dtype));
    EXPECT_EQ(ExpectError(&client, 2).message(),
              "the rows of this lookup, before they are encoded, have 1008 "
              "bytes, over the limit of 1000: send fewer ids at once");
    client.Send(LookupFrame(3, kTable, 60, dtype));
    EXPECT_EQ(client.ReceiveFrame().header.type, kReplyType<LookupRequest>);
  }
}

TEST_F(WireDtypeTest, GradientsAreBoundedOnceTheyAreDecoded) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  StartServerWith(options);
  constexpr uint32_t kDim = 64;
  const std::vector<int64_t> ids = FirstIds(10);
  UpdateRequest update;
  update.tables.push_back(Update(ids));
  update.tables[0].ids.dim = kDim;
  std::vector<uint64_t> bytes(100);
  const WireVectors gradients{
      WireDtype::kInt8,
      ConstBytes(reinterpret_cast<const uint8_t*>(bytes.data()),
                 EncodedBytes(WireDtype::kInt8, ids.size(), kDim))};
  RawSocket client = Connect();
  client.Send(EncodeUpdate(1, update, {gradients}));
  EXPECT_EQ(ExpectError(&client, 1).message(),
            "the gradients of this update, decoded, have 2560 bytes, over the "
            "limit of 1000: send fewer ids at once");
  ExpectServed(&client, 2);
}

}  // namespace
}  // namespace persia
