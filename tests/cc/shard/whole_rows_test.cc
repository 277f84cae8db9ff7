// Whole rows that a shard assigns, removes and exports.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "cc/base/hash.h"
#include "tests/cc/shard/local_service_fixture.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

// Table "c" (dim 2) has Adagrad's accumulator, 0.5 at first, behind each row.
class LocalServiceWholeRowsTest : public LocalServiceFixture {
 protected:
  LocalServiceWholeRowsTest() {
    EXPECT_TRUE(Create(MakeConfig("c", 2, "ones",
                                  "adagrad(initial_accumulator_value=0.5)"))
                    .ok());
    request_.table = HashName("c");
    request_.dim = 2;
    request_.ids = ids_;
    request_.weights = weights_;
  }

  // All rows of "c", in any order.
  ExportRequest Export() {
    ExportRequest request;
    request.table = HashName("c");
    request.max_rows = 100;
    EXPECT_TRUE(Call(&EmbeddingService::Export, &request).ok());
    EXPECT_TRUE(request.cursor.at_end());
    return request;
  }

  void ExpectRefused(const std::string& message) {
    const Status status = Call(&EmbeddingService::Assign, &request_);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), message);
    EXPECT_TRUE(Export().page.ids.empty());
  }

  const Ids ids_ = {7};
  const Floats weights_ = {3, 4};
  AssignRequest request_;
};

TEST_F(LocalServiceWholeRowsTest, AssignCreatesARowWithANewState) {
  EXPECT_TRUE(Call(&EmbeddingService::Assign, &request_).ok());
  const ExportRequest all = Export();
  EXPECT_EQ(all.dim, 2u);
  EXPECT_EQ(all.state_size, 2u);
  EXPECT_EQ(all.page.ids, ids_);
  EXPECT_EQ(all.page.weights, weights_);
  EXPECT_EQ(all.page.state, (Floats{0.5, 0.5}));
}

TEST_F(LocalServiceWholeRowsTest, AssignTakesTheStateThatItIsGiven) {
  const Floats state = {8, 9};
  request_.state_size = 2;
  request_.state = state;
  EXPECT_TRUE(Call(&EmbeddingService::Assign, &request_).ok());
  EXPECT_EQ(Export().page.state, state);
}

TEST_F(LocalServiceWholeRowsTest, AssignOfAnotherWidthIsRefused) {
  request_.dim = 1;
  ExpectRefused("table \"c\" has output_dim 2, received 1");
}

TEST_F(LocalServiceWholeRowsTest, AssignOfAnotherStateIsRefused) {
  request_.state_size = 3;
  ExpectRefused(
      "a row of table \"c\" has 2 numbers of optimizer state, received 3");
}

TEST_F(LocalServiceWholeRowsTest, AssignWithTooFewNumbersIsRefused) {
  request_.weights = Span<const float>(weights_.data(), 1);
  ExpectRefused("weights must have 1 x 2 floats, received 1");
  request_.weights = weights_;
  request_.state_size = 2;
  request_.state = Span<const float>(weights_.data(), 1);
  ExpectRefused("state must have 1 x 2 floats, received 1");
}

TEST_F(LocalServiceWholeRowsTest, RemoveCountsTheRowsThatThereWere) {
  EXPECT_TRUE(Call(&EmbeddingService::Assign, &request_).ok());
  const Ids ids = {6, 7, 8};
  RemoveRequest request;
  request.table = HashName("c");
  request.ids = ids;
  EXPECT_TRUE(Call(&EmbeddingService::Remove, &request).ok());
  EXPECT_EQ(request.removed, 1u);
  EXPECT_TRUE(Export().page.ids.empty());
  EXPECT_TRUE(Call(&EmbeddingService::Remove, &request).ok());
  EXPECT_EQ(request.removed, 0u);
}

TEST_F(LocalServiceWholeRowsTest, ExportOfNoRowsOrAnotherShardIsRefused) {
  ExportRequest request;
  request.table = HashName("c");
  EXPECT_EQ(Call(&EmbeddingService::Export, &request).message(),
            "max_rows must be at least 1, received 0");
  request.max_rows = 1;
  request.cursor.shard = 1;
  EXPECT_EQ(Call(&EmbeddingService::Export, &request).message(),
            "an export of one shard must have shard 0, received 1");
}

// The cursor may be from before the shard was restarted.
TEST_F(LocalServiceWholeRowsTest, ExportFromAnotherTablesCursorIsRefused) {
  EXPECT_TRUE(Call(&EmbeddingService::Assign, &request_).ok());
  ExportRequest request;
  request.table = HashName("c");
  request.max_rows = 1;
  EXPECT_TRUE(Call(&EmbeddingService::Export, &request).ok());
  ASSERT_FALSE(request.cursor.at_end());
  request.cursor.position ^= 1;
  const Status status = Call(&EmbeddingService::Export, &request);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "the order of the rows of table \"c\" changed after the export "
            "began: its shard was restarted, or the table was restored or "
            "created again; export again");
}

TEST_F(LocalServiceWholeRowsTest, ExportAfterTheEndGivesNothing) {
  EXPECT_TRUE(Call(&EmbeddingService::Assign, &request_).ok());
  ExportRequest request = Export();
  EXPECT_TRUE(Call(&EmbeddingService::Export, &request).ok());
  EXPECT_TRUE(request.page.ids.empty());
  EXPECT_TRUE(request.cursor.at_end());
}

TEST_F(LocalServiceWholeRowsTest, ExportBoundsThePagesOfWideRows) {
  constexpr uint32_t kWide = 1 << 16;
  EXPECT_TRUE(Create(MakeConfig("wide", kWide, "zeros", "sgd")).ok());
  Ids ids(500);  // 125 MiB.
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  Look("wide", kWide, ids);
  ExportRequest request;
  request.table = HashName("wide");
  request.max_rows = 1 << 30;
  EXPECT_TRUE(Call(&EmbeddingService::Export, &request).ok());
  EXPECT_FALSE(request.cursor.at_end());
  EXPECT_LE(request.page.weights.size() * sizeof(float), size_t{96} << 20);
}

TEST_F(LocalServiceWholeRowsTest, AnUnknownTableIsNotFound) {
  request_.table = 12345;
  EXPECT_EQ(Call(&EmbeddingService::Assign, &request_).code(), Code::kNotFound);
  RemoveRequest remove;
  remove.table = 12345;
  EXPECT_EQ(Call(&EmbeddingService::Remove, &remove).code(), Code::kNotFound);
  ExportRequest request;
  request.table = 12345;
  request.max_rows = 1;
  EXPECT_EQ(Call(&EmbeddingService::Export, &request).code(), Code::kNotFound);
}

}  // namespace
}  // namespace persia
