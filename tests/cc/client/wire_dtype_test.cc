// Clients whose rows and gradients travel in another dtype than float32.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "cc/base/hash.h"
#include "cc/wire/messages.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/raw_socket.h"

namespace persia {
namespace {

class WireDtypesTest
    : public testing::TestWithParam<std::tuple<WireDtype, size_t>> {
 protected:
  WireDtypesTest()
      : cluster_(std::get<1>(GetParam())),
        client_(MakeClient(cluster_.addresses(), OfDtype())) {}

  static WireDtype dtype() { return std::get<0>(GetParam()); }

  static RemoteServiceOptions OfDtype() {
    RemoteServiceOptions options;
    options.wire_dtype = dtype();
    return options;
  }

  // The most by which encoding may change a number, if the largest number of
  // its vector is `largest`.
  static float Tolerance(float largest) {
    switch (dtype()) {
      case WireDtype::kFloat32:
        return 0;
      case WireDtype::kFloat16:
        return largest * 0x1p-11f;
      case WireDtype::kBfloat16:
        return largest * 0x1p-8f;
      case WireDtype::kInt8:
        return largest / 253;
      case WireDtype::kInt4:
        return largest / 13;
    }
    return 0;
  }

  UpdateCounts Update(const std::vector<int64_t>& ids,
                      const std::vector<float>& gradients,
                      float learning_rate) {
    UpdateRequest request;
    request.deadline = DeadlineAfter(30);
    request.tables.resize(1);
    request.tables[0].ids.table = HashName(kUser);
    request.tables[0].ids.dim = kRowDim;
    request.tables[0].ids.ids = ids;
    request.tables[0].gradients = gradients;
    request.tables[0].learning_rate = learning_rate;
    CallResult result;
    client_->Update(&request, result.done());
    EXPECT_TRUE(result.Wait().ok()) << result.Wait().message();
    return request.counts;
  }

  Cluster cluster_;
  const std::unique_ptr<EmbeddingService> client_;
};

INSTANTIATE_TEST_SUITE_P(
    Dtypes, WireDtypesTest,
    testing::Combine(testing::Values(WireDtype::kFloat32, WireDtype::kFloat16,
                                     WireDtype::kBfloat16, WireDtype::kInt8,
                                     WireDtype::kInt4),
                     testing::Values(1, 3)));

TEST_P(WireDtypesTest, RowsAreTheShardsNearly) {
  const std::vector<int64_t> ids = FirstIds(500);
  const std::vector<float> rows = LookUpRows(cluster_.client(), kUser, ids);
  const std::vector<float> near = LookUpRows(client_.get(), kUser, ids);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_NEAR(near[i], rows[i], Tolerance(0.05f)) << i;
  }
  EXPECT_EQ(near == rows, dtype() == WireDtype::kFloat32);
}

// The gradients are far below the smallest float16 numbers.
TEST_P(WireDtypesTest, SmallGradientsAreApplied) {
  const std::vector<int64_t> ids = FirstIds(500);
  const std::vector<float> before = LookUpRows(cluster_.client(), kUser, ids);
  std::vector<float> gradients(before.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = static_cast<float>(i % 13) * 1e-12f;
  }
  EXPECT_EQ(Update(ids, gradients, 1e10f).applied, ids.size());
  const std::vector<float> after = LookUpRows(cluster_.client(), kUser, ids);
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_NEAR(before[i] - after[i], gradients[i] * 1e10f,
                Tolerance(0.12f) + 1e-7f)
        << i;
  }
}

TEST_P(WireDtypesTest, GradientsThatAreNotFiniteAreSkippedAlone) {
  const std::vector<int64_t> ids = FirstIds(50);
  const std::vector<float> before = LookUpRows(cluster_.client(), kUser, ids);
  std::vector<float> gradients(before.size(), 1.0f);
  gradients[7 * kRowDim + 1] = std::numeric_limits<float>::quiet_NaN();
  gradients[9 * kRowDim] = std::numeric_limits<float>::infinity();
  gradients[11 * kRowDim + 3] = -std::numeric_limits<float>::infinity();
  const UpdateCounts counts = Update(ids, gradients, 1);
  EXPECT_EQ(counts.nonfinite, 3u);
  EXPECT_EQ(counts.applied, 47u);
  const std::vector<float> after = LookUpRows(cluster_.client(), kUser, ids);
  for (size_t i = 0; i < before.size(); ++i) {
    const size_t row = i / kRowDim;
    const float step = row == 7 || row == 9 || row == 11 ? 0.0f : 1.0f;
    ASSERT_NEAR(after[i], before[i] - step, Tolerance(1) + 1e-6f) << i;
  }
}

// Error feedback cannot keep what int4 would lose of a bag.
TEST(WireDtypeOfBagsTest, GradientsOfBagsAreNotInt4) {
  RawListener listener;
  RemoteServiceOptions options;
  options.wire_dtype = WireDtype::kInt4;
  const auto client = MakeClient({LocalHost(listener.port())}, options);
  const std::vector<int64_t> ids = {1, 2, 3};
  const std::vector<uint32_t> offsets = {0, 2, 3};
  const std::vector<float> gradients(3 * kRowDim, 1.0f);
  UpdateRequest request;
  request.deadline = DeadlineAfter(30);
  request.tables.resize(2);
  for (TableUpdate& table : request.tables) {
    table.ids.dim = kRowDim;
    table.ids.ids = ids;
  }
  request.tables[0].ids.combiner = Combiner::kSum;
  request.tables[0].ids.bag_offsets = offsets;
  request.tables[0].gradients = Span<const float>(gradients).first(2 * kRowDim);
  request.tables[1].gradients = gradients;
  CallResult result;
  client->Update(&request, result.done());
  RawSocket server = listener.Accept();
  const RawFrame frame = server.ReceiveFrame();
  ASSERT_TRUE(frame.ok);
  UpdateRequest received;
  std::vector<WireVectors> vectors;
  ByteBuffer unpacked;
  ASSERT_TRUE(DecodeUpdate(frame.body, &received, &vectors, &unpacked).ok());
  EXPECT_EQ(vectors.at(0).dtype, WireDtype::kInt8);
  EXPECT_EQ(vectors.at(1).dtype, WireDtype::kInt4);
  server.Send(EncodeReply(frame.header.request_id, UpdateRequest()));
  EXPECT_TRUE(result.Wait().ok());
}

}  // namespace
}  // namespace persia
