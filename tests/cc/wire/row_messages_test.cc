// Lookup, Update and their replies.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "tests/cc/wire/expect_bytes.h"

namespace persia {
namespace {

constexpr WireDtype kReplyDtype = WireDtype::kInt8;

Status AsLookup(ConstBytes body) {
  LookupRequest request;
  WireDtype dtype;
  ByteBuffer unpacked;
  return DecodeLookup(body, &request, &dtype, &unpacked);
}

Status AsUpdate(ConstBytes body) {
  UpdateRequest request;
  std::vector<WireVectors> gradients;
  ByteBuffer unpacked;
  return DecodeUpdate(body, &request, &gradients, &unpacked);
}

// Two tables: plain ids, and weighted bags.
class RowMessagesTest : public testing::Test {
 protected:
  RowMessagesTest() {
    plain_.table = 0xaabb;
    plain_.dim = 2;
    plain_.ids = plain_ids_;
    bags_.table = 0xccdd;
    bags_.dim = 1;
    bags_.ids = bag_ids_;
    bags_.combiner = Combiner::kMean;
    bags_.bag_offsets = offsets_;
    bags_.weights = weights_;
    lookup_.read_only = true;
    lookup_.client = 3;
    lookup_.visible_sequence = 4;
    lookup_.route = 5;
    lookup_.tables = {TableLookup{plain_, {}}, TableLookup{bags_, {}}};
    lookup_.tables[0].absent = AbsentRows::kMarked;
    lookup_.tables[1].absent = AbsentRows::kInitial;
    update_.client = 7;
    update_.sequence = 8;
    update_.generation = 9;
    update_.route = 10;
    update_.trainer = {"a:9", 13};
    update_.tables = {TableUpdate{plain_, {}, 0.5f, 11},
                      TableUpdate{bags_, {}, 2.0f, 12}};
    gradients_ = {AsWireVectors(plain_gradients_),
                  {WireDtype::kBfloat16, bag_gradients_}};
  }

  Status ReceivedLookup() const {
    return AsLookup(Body(EncodeLookup(1, lookup_, kReplyDtype)).bytes());
  }
  Status ReceivedUpdate() const {
    return AsUpdate(Body(EncodeUpdate(1, update_, gradients_)).bytes());
  }

  const std::vector<int64_t> plain_ids_ = {1, -1};
  const std::vector<int64_t> bag_ids_ = {5, 6, 7};
  const std::vector<uint32_t> offsets_ = {0, 1, 3};
  const std::vector<float> weights_ = {1.0f, 2.0f, 0.5f};
  const std::vector<float> plain_gradients_ = {1, 2, 3, 4};
  const std::vector<uint8_t> bag_gradients_ = {0x80, 0xbf, 0x00, 0xc0};
  TableIds plain_, bags_;
  LookupRequest lookup_;
  UpdateRequest update_;
  std::vector<WireVectors> gradients_;
};

constexpr char kPlainRecord[] =
    "bbaa000000000000\n0200000000000000\n0200000000000000\n"
    "0000000000000000\n0000000000000000\n";
constexpr char kBagRecord[] =
    "ddcc000000000000\n0300000000000000\n0100000002000000\n"
    "0300000000000000\n0300000000000000\n";
// The smallest id, and how much larger each is, in a byte; padded.
constexpr char kPackedBagIds[] = "0500000000000000\n0001020000000000\n";
constexpr char kPlainArrays[] = "0100000000000000\nffffffffffffffff\n";
constexpr char kBagIds[] =
    "0500000000000000\n0600000000000000\n0700000000000000\n";
constexpr char kBagArrays[] =
    "0000000001000000\n0300000000000000\n"  // Offsets, padded.
    "0000803f00000040\n0000003f00000000";   // Weights, padded.

TEST_F(RowMessagesTest, LookupHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeLookup(1, lookup_, kReplyDtype)).bytes()),
            std::string("0300000000000000\n0400000000000000\n"
                        "0500000000000000\n"
                        "0100000002000000\n0300000000000000\n") +
                kPlainRecord + "0200000008000000\n" + kBagRecord +
                "0100000001000000\n" + kPackedBagIds + kPlainArrays +
                kBagArrays);
}

TEST_F(RowMessagesTest, LookupOfFloat32HasPlainIds) {
  EXPECT_EQ(Hex(Body(EncodeLookup(1, lookup_, WireDtype::kFloat32)).bytes()),
            std::string("0300000000000000\n0400000000000000\n"
                        "0500000000000000\n"
                        "0100000002000000\n0000000000000000\n") +
                kPlainRecord + "0200000008000000\n" + kBagRecord +
                "0100000008000000\n" + kPlainArrays + kBagIds + kBagArrays);
}

TEST_F(RowMessagesTest, UpdateHasTheseBytes) {
  EXPECT_EQ(Hex(Body(EncodeUpdate(1, update_, gradients_)).bytes()),
            std::string("0700000000000000\n0800000000000000\n"
                        "0900000000000000\n0a00000000000000\n"
                        "020000000d000000\n"
                        "03000000613a3900\n") +
                kPlainRecord + "0000003f00000000\n0b00000008000000\n" +
                kBagRecord + "0000004002000000\n0c00000001000000\n" +
                kPackedBagIds + kPlainArrays +
                "0000803f00000040\n0000404000008040\n" + kBagArrays +
                "\n80bf00c000000000");
}

TEST_F(RowMessagesTest, NameOfAProgramHasALimit) {
  update_.trainer.program.assign(TrainerState::kMostProgramBytes, 'x');
  EXPECT_TRUE(ReceivedUpdate().ok());
  update_.trainer.program += 'x';
  EXPECT_EQ(ReceivedUpdate().message(),
            "the name of an update's program must have at most 256 bytes, "
            "received 257");
}

TEST_F(RowMessagesTest, LookupReplyHasTheseBytes) {
  const std::vector<float> rows = {1, 2, 3};
  const Span<const float> all(rows);
  const OutFrame frame = EncodeLookupReply(
      1, 4, WireDtype::kFloat32,
      {AsWireVectors(all.first(2)).bytes, AsWireVectors(all.last(1)).bytes});
  EXPECT_EQ(Hex(Body(frame).bytes()),
            "0400000000000000\n0000000000000000\n"
            "0000803f00000040\n0000404000000000");
  // Rows that are adjacent in memory are sent together, without being copied.
  ASSERT_EQ(frame.payload.size(), 2u);
  EXPECT_EQ(frame.payload[0].data(),
            reinterpret_cast<const uint8_t*>(rows.data()));
  EXPECT_EQ(frame.payload[0].size(), 12u);
}

TEST_F(RowMessagesTest, LookupReplyOfAnotherDtypeHasTheseBytes) {
  const std::vector<uint8_t> first = {1, 2, 3, 4, 5, 6};
  const std::vector<uint8_t> second = {7, 8};
  EXPECT_EQ(
      Hex(Body(EncodeLookupReply(1, 4, WireDtype::kBfloat16, {first, second}))
              .bytes()),
      "0400000000000000\n0200000000000000\n"
      "0102030405060000\n0708000000000000");
}

TEST_F(RowMessagesTest, UpdateReplyHasTheseBytes) {
  update_.counts = {1, 2, 3};
  ExpectReplyBytes(update_,
                   "0100000000000000\n0200000000000000\n0300000000000000");
}

TEST_F(RowMessagesTest, FramesCarryTheirTypeAndRequest) {
  const OutFrame frame = EncodeLookup(77, lookup_, kReplyDtype);
  FrameHeader header;
  ASSERT_TRUE(ParseFrameHeader(Span<const uint8_t, kFrameHeaderBytes>(
                                   frame.head.data(), kFrameHeaderBytes),
                               kMaxBodyBytes, &header)
                  .ok());
  EXPECT_EQ(header.type, kRequestType<LookupRequest>);
  EXPECT_EQ(header.request_id, 77u);
  EXPECT_TRUE(CheckBody(header, Body(frame).bytes()).ok());
}

TEST_F(RowMessagesTest, LookupComesBackWhole) {
  const Body body(EncodeLookup(1, lookup_, kReplyDtype));
  LookupRequest decoded;
  WireDtype dtype = WireDtype::kFloat32;
  ByteBuffer unpacked;
  ASSERT_TRUE(DecodeLookup(body.bytes(), &decoded, &dtype, &unpacked).ok());
  EXPECT_EQ(dtype, kReplyDtype);
  EXPECT_TRUE(decoded.read_only);
  EXPECT_EQ(decoded.client, 3u);
  EXPECT_EQ(decoded.visible_sequence, 4u);
  EXPECT_EQ(decoded.route, 5u);
  ASSERT_EQ(decoded.tables.size(), 2u);
  EXPECT_EQ(decoded.tables[0].ids.table, 0xaabbu);
  EXPECT_EQ(decoded.tables[0].ids.dim, 2u);
  EXPECT_EQ(Copy(decoded.tables[0].ids.ids), plain_ids_);
  EXPECT_EQ(decoded.tables[0].ids.combiner, Combiner::kNone);
  EXPECT_TRUE(decoded.tables[0].rows.empty());
  EXPECT_EQ(Copy(decoded.tables[1].ids.ids), bag_ids_);
  EXPECT_EQ(decoded.tables[1].ids.combiner, Combiner::kMean);
  EXPECT_EQ(Copy(decoded.tables[1].ids.bag_offsets), offsets_);
  EXPECT_EQ(Copy(decoded.tables[1].ids.weights), weights_);
  EXPECT_EQ(decoded.tables[1].ids.vectors(), 2u);
}

TEST_F(RowMessagesTest, UpdateComesBackWhole) {
  const Body body(EncodeUpdate(1, update_, gradients_));
  UpdateRequest decoded;
  std::vector<WireVectors> gradients;
  ByteBuffer unpacked;
  ASSERT_TRUE(DecodeUpdate(body.bytes(), &decoded, &gradients, &unpacked).ok());
  EXPECT_EQ(decoded.client, 7u);
  EXPECT_EQ(decoded.sequence, 8u);
  EXPECT_EQ(decoded.generation, 9u);
  EXPECT_EQ(decoded.route, 10u);
  ASSERT_EQ(decoded.tables.size(), 2u);
  EXPECT_EQ(Copy(decoded.tables[0].ids.ids), plain_ids_);
  EXPECT_TRUE(decoded.tables[0].gradients.empty());
  ASSERT_EQ(gradients.size(), 2u);
  for (size_t t = 0; t < 2; ++t) {
    EXPECT_EQ(gradients[t].dtype, gradients_[t].dtype);
    EXPECT_EQ(Hex(gradients[t].bytes), Hex(gradients_[t].bytes));
  }
  EXPECT_EQ(decoded.tables[0].learning_rate, 0.5f);
  EXPECT_EQ(decoded.tables[1].learning_rate, 2.0f);
  EXPECT_EQ(decoded.tables[0].step, 11u);
  EXPECT_EQ(decoded.tables[1].step, 12u);
}

TEST_F(RowMessagesTest, LookupReplyComesBackWhole) {
  const std::vector<uint8_t> rows = {1, 2, 3, 4, 5, 6};
  const Body lookup(
      EncodeLookupReply(1, 4, WireDtype::kBfloat16, {rows, rows}));
  uint64_t generation = 0;
  std::vector<WireVectors> decoded;
  ASSERT_TRUE(
      DecodeLookupReply(lookup.bytes(), {{1, 3}, {3, 1}}, &generation, &decoded)
          .ok());
  EXPECT_EQ(generation, 4u);
  ASSERT_EQ(decoded.size(), 2u);
  for (const WireVectors& table : decoded) {
    EXPECT_EQ(table.dtype, WireDtype::kBfloat16);
    EXPECT_EQ(Copy(table.bytes), rows);
  }
}

TEST_F(RowMessagesTest, EmptyTablesAndRequestsComeBack) {
  for (TableLookup& table : lookup_.tables) table.ids.ids = {};
  const std::vector<uint32_t> no_bags = {0};
  lookup_.tables[1].ids.bag_offsets = no_bags;
  lookup_.tables[1].ids.weights = {};
  LookupRequest decoded;
  WireDtype dtype;
  ByteBuffer unpacked;
  ASSERT_TRUE(DecodeLookup(Body(EncodeLookup(1, lookup_, kReplyDtype)).bytes(),
                           &decoded, &dtype, &unpacked)
                  .ok());
  EXPECT_EQ(decoded.tables[0].ids.vectors(), 0u);
  EXPECT_EQ(decoded.tables[1].ids.vectors(), 0u);
  ASSERT_TRUE(
      DecodeLookup(Body(EncodeLookup(1, LookupRequest(), kReplyDtype)).bytes(),
                   &decoded, &dtype, &unpacked)
          .ok());
  EXPECT_TRUE(decoded.tables.empty());
}

// A float32 reply of three numbers, read as one of tables of these shapes.
Status ReplyAs(const std::vector<VectorsShape>& shapes, uint32_t dtype = 0) {
  const std::vector<float> rows = {1, 2, 3};
  const Body body(EncodeLookupReply(1, 0, static_cast<WireDtype>(dtype),
                                    {AsWireVectors(rows).bytes}));
  uint64_t generation = 0;
  std::vector<WireVectors> decoded;
  return DecodeLookupReply(body.bytes(), shapes, &generation, &decoded);
}

TEST(LookupReplyTest, OfAnotherLengthIsRefused) {
  EXPECT_TRUE(ReplyAs({{3, 1}}).ok());
  EXPECT_EQ(ReplyAs({}).code(), Code::kDataLoss);
  for (const uint32_t dim : {0u, 1u, 2u, 5u}) {
    EXPECT_EQ(ReplyAs({{1, dim}}).code(), Code::kDataLoss) << dim;
  }
  EXPECT_EQ(ReplyAs({{3, 1}, {3, 1}}).code(), Code::kDataLoss);
}

TEST(LookupReplyTest, LengthGoesByTheDtype) {
  EXPECT_EQ(ReplyAs({{3, 1}}, 2).code(), Code::kDataLoss);
  EXPECT_TRUE(ReplyAs({{6, 1}}, 2).ok());
  EXPECT_TRUE(ReplyAs({{4, 1}}, 1).code() == Code::kOk);
}

TEST(LookupReplyTest, OfAnUnknownDtypeIsRefused) {
  const Status status = ReplyAs({{3, 1}}, 5);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "wire dtype must be 0 to 4, received 5");
}

// In a lookup. The count of tables follows the flags.
constexpr size_t kFlagsAt = 24, kReplyDtypeAt = 32;

// What the receiver finds wrong with a lookup's body in which the 8 bytes at
// `at` are replaced.
Status LookupWith(const LookupRequest& request, size_t at, uint64_t value) {
  std::vector<uint8_t> bytes =
      Body(EncodeLookup(1, request, kReplyDtype)).copy();
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return AsLookup(Body(bytes).bytes());
}

TEST_F(RowMessagesTest, CountsThatOverflowAreRefused) {
  constexpr size_t kIdCountAt = 48, kOffsetCountAt = 64, kWeightCountAt = 72;
  for (const size_t at : {kIdCountAt, kOffsetCountAt, kWeightCountAt}) {
    for (const uint64_t count :
         {1ull << 63, (1ull << 61) + 2, (1ull << 62) + 2, 1ull << 32,
          std::numeric_limits<unsigned long long>::max()}) {
      EXPECT_EQ(LookupWith(lookup_, at, count).code(), Code::kDataLoss)
          << at << " " << count;
    }
  }
}

// Bytes of a lookup of the fixture's two tables, of which the second has packed
// ids.
constexpr size_t kPackedCountAt = 96, kPackedWidthAt = 128, kPackedAt = 136;

TEST_F(RowMessagesTest, CountsOfPackedIdsBeyondTheBodyAreRefused) {
  for (const uint64_t count :
       {9ull, 1ull << 32, 1ull << 61, 1ull << 63,
        std::numeric_limits<unsigned long long>::max()}) {
    EXPECT_EQ(LookupWith(lookup_, kPackedCountAt, count).code(),
              Code::kDataLoss)
        << count;
  }
}

TEST_F(RowMessagesTest, WidthsOfIdsOutOfRangeAreRefused) {
  for (const uint64_t width :
       {uint64_t{0}, uint64_t{9}, uint64_t{0xffffffff}}) {
    const Status status = LookupWith(lookup_, kPackedWidthAt, width << 32 | 1);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(),
              Concat("the width of ids must be 1 to 8, received ", width));
  }
}

TEST_F(RowMessagesTest, PackedIdsHaveOneEncoding) {
  // Another smallest id, but none of the ids is as small.
  EXPECT_EQ(LookupWith(lookup_, kPackedAt + 8, 0x020201).code(),
            Code::kInvalidArgument);
  // Ids that wrap around.
  EXPECT_EQ(LookupWith(lookup_, kPackedAt, std::numeric_limits<int64_t>::max())
                .code(),
            Code::kInvalidArgument);
  // The same ids, in two bytes each, where one is enough.
  std::vector<uint8_t> wide =
      Body(EncodeLookup(1, lookup_, kReplyDtype)).copy();
  const uint64_t differences = 0x000200010000;
  wide[kPackedWidthAt + 4] = 2;
  std::memcpy(wide.data() + kPackedAt + 8, &differences, sizeof(differences));
  EXPECT_EQ(AsLookup(Body(wide).bytes()).message(),
            "these ids must have the width 1 and the smallest id 5, received 2 "
            "and 5");
  EXPECT_EQ(LookupWith(lookup_, kPackedAt + 8, 0x020100).code(), Code::kOk);
  // Padding.
  EXPECT_EQ(LookupWith(lookup_, kPackedAt + 8, 1ull << 32 | 0x020100).code(),
            Code::kDataLoss);
}

TEST_F(RowMessagesTest, PlainIdsThatCouldBePackedAreRefused) {
  std::vector<uint8_t> bytes =
      Body(EncodeLookup(1, lookup_, WireDtype::kFloat32)).copy();
  bytes[kReplyDtypeAt] = static_cast<uint8_t>(WireDtype::kInt4);
  const Status status = AsLookup(Body(bytes).bytes());
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "these ids must have the width 1 and the smallest id 5, received 8 "
            "and 0");
}

TEST_F(RowMessagesTest, Float32TakesNoPackedIds) {
  EXPECT_EQ(LookupWith(lookup_, kReplyDtypeAt, 0).code(),
            Code::kInvalidArgument);
}

TEST_F(RowMessagesTest, PackedIdsAreLimitedBeforeTheyAreUnpacked) {
  RequestLimits limits;
  limits.ids = 2;
  const Body body(EncodeLookup(1, lookup_, kReplyDtype));
  LookupRequest request;
  WireDtype dtype;
  ByteBuffer unpacked;
  EXPECT_EQ(
      DecodeLookup(body.bytes(), &request, &dtype, &unpacked, limits).code(),
      Code::kResourceExhausted);
  EXPECT_EQ(unpacked.capacity(), 0u);
  limits.ids = 3;
  EXPECT_TRUE(
      DecodeLookup(body.bytes(), &request, &dtype, &unpacked, limits).ok());
}

TEST_F(RowMessagesTest, CountOfTablesBeyondTheBodyIsRefused) {
  EXPECT_EQ(LookupWith(lookup_, kFlagsAt, 0xffffffffull << 32).code(),
            Code::kDataLoss);
  std::vector<uint8_t> update =
      Body(EncodeUpdate(1, update_, gradients_)).copy();
  std::memset(update.data() + 32, 0xff, 4);
  EXPECT_EQ(AsUpdate(Body(update).bytes()).code(), Code::kDataLoss);
}

TEST_F(RowMessagesTest, DimOutOfRangeIsRefused) {
  for (const uint32_t dim : {0u, kMaxDim + 1, 0xffffffffu}) {
    lookup_.tables[0].ids.dim = dim;
    const Status status = ReceivedLookup();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(std::to_string(dim)), std::string::npos);
  }
}

TEST_F(RowMessagesTest, GradientsThatDoNotFitTheIdsAreRefused) {
  gradients_[1] = AsWireVectors(plain_gradients_);
  EXPECT_EQ(ReceivedUpdate().code(), Code::kDataLoss);
}

TEST_F(RowMessagesTest, OffsetsThatFallAreRefused) {
  const std::vector<uint32_t> offsets = {0, 4, 3};
  lookup_.tables[1].ids.bag_offsets = offsets;
  EXPECT_EQ(ReceivedLookup().code(), Code::kInvalidArgument);
}

TEST_F(RowMessagesTest, OffsetsThatDoNotCoverTheIdsAreRefused) {
  for (const std::vector<uint32_t>& offsets :
       {std::vector<uint32_t>{1, 3}, std::vector<uint32_t>{0, 2},
        std::vector<uint32_t>{}}) {
    lookup_.tables[1].ids.bag_offsets = offsets;
    EXPECT_EQ(ReceivedLookup().code(), Code::kInvalidArgument);
  }
}

TEST_F(RowMessagesTest, WeightsThatAreNotOneAnIdAreRefused) {
  lookup_.tables[1].ids.weights = Span<const float>(weights_.data(), 2);
  EXPECT_EQ(ReceivedLookup().code(), Code::kInvalidArgument);
}

TEST_F(RowMessagesTest, BagsWithoutACombinerAreRefused) {
  lookup_.tables[1].ids.combiner = Combiner::kNone;
  EXPECT_EQ(ReceivedLookup().code(), Code::kInvalidArgument);
}

TEST_F(RowMessagesTest, UnknownCombinerAndFlagsAreRefused) {
  EXPECT_EQ(LookupWith(lookup_, kFlagsAt, (2ull << 32) | 3).code(),
            Code::kInvalidArgument);
  lookup_.tables[1].ids.combiner = static_cast<Combiner>(4);
  EXPECT_EQ(ReceivedLookup().code(), Code::kInvalidArgument);
}

TEST_F(RowMessagesTest, UnknownAbsentRowsAreRefused) {
  lookup_.tables[1].absent = static_cast<AbsentRows>(3);
  const Status status = ReceivedLookup();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("received 3"), std::string::npos);
}

TEST_F(RowMessagesTest, UnknownDtypesAreRefused) {
  const auto unknown = static_cast<WireDtype>(5);
  EXPECT_EQ(AsLookup(Body(EncodeLookup(1, lookup_, unknown)).bytes()).code(),
            Code::kInvalidArgument);
  gradients_[1].dtype = unknown;
  EXPECT_EQ(ReceivedUpdate().code(), Code::kInvalidArgument);
}

TEST_F(RowMessagesTest, PaddingThatIsNotZeroIsRefused) {
  std::vector<uint8_t> bytes =
      Body(EncodeLookup(1, lookup_, kReplyDtype)).copy();
  bytes.back() = 1;
  EXPECT_EQ(AsLookup(Body(bytes).bytes()).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace persia
