#include "cc/json/predict_request.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace persia {
namespace {

constexpr uint64_t kMuch = uint64_t{1} << 40;

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>(value | 0x80);
  }
  return bytes + static_cast<char>(value);
}

std::string Bytes(uint64_t number, const std::string& content) {
  return Varint(number << 3 | 2) + Varint(content.size()) + content;
}

std::string Number(uint64_t number, uint64_t value) {
  return Varint(number << 3) + Varint(value);
}

std::string Repeated(const std::string& part, uint64_t count) {
  std::string all;
  for (uint64_t i = 0; i < count; ++i) all += part;
  return all;
}

// The only input of a request.
std::string Input(const std::string& tensor) {
  return Bytes(2, Bytes(1, "x") + Bytes(2, tensor));
}

std::string Shaped(const std::string& dims) { return Input(Bytes(2, dims)); }

Code Checked(const std::string& message, uint64_t most = kMuch) {
  return CheckPredictRequest(message, most).code();
}

// A request of every form that a tensor's values may have.
std::string WholeRequest() {
  const std::string tensor =
      Number(1, 9) + Bytes(2, Bytes(2, Number(1, 3)) + Number(3, 0)) +
      Bytes(4, "content") + Bytes(5, std::string(8, 'f')) + Varint(5 << 3 | 5) +
      std::string(4, 'f') + Varint(6 << 3 | 1) + std::string(8, 'd') +
      Bytes(8, "text") + Number(10, 1) + Bytes(10, Varint(1) + Varint(1000)) +
      Bytes(11, Varint(1));
  return Bytes(1, Bytes(1, "model") + Bytes(2, Number(1, 7)) + Bytes(3, "s")) +
         Input(tensor) + Bytes(3, "output");
}

TEST(PredictRequestTest, ARequestIsAccepted) {
  EXPECT_EQ(Checked(""), Code::kOk);
  EXPECT_EQ(Checked(WholeRequest()), Code::kOk);
}

TEST(PredictRequestTest, ValuesAreChargedDecoded) {
  const auto expect_takes = [](const std::string& tensor, uint64_t bytes) {
    const std::string request = Input(tensor);
    // The name takes one more byte.
    EXPECT_EQ(Checked(request, bytes + 1), Code::kOk) << tensor;
    EXPECT_EQ(Checked(request, bytes), Code::kResourceExhausted) << tensor;
  };
  expect_takes(Repeated(Bytes(8, ""), 10), 160);
  expect_takes(Repeated(Bytes(8, "abcd"), 10), 200);
  expect_takes(Bytes(4, std::string(100, 'c')), 100);
  // Packed, and not.
  expect_takes(Bytes(10, Repeated(Varint(1), 10)), 80);
  expect_takes(Bytes(10, Repeated(Varint(1'000'000), 10)), 80);
  expect_takes(Repeated(Number(17, 1), 10), 80);
  expect_takes(Bytes(7, Repeated(Varint(1), 10)), 40);
  expect_takes(Bytes(11, Repeated(Varint(1), 10)), 10);
  expect_takes(Bytes(5, std::string(40, 'f')), 40);
  expect_takes(Repeated(Varint(6 << 3 | 1) + std::string(8, 'd'), 10), 80);
}

TEST(PredictRequestTest, InputsTogetherAreCharged) {
  const std::string input = Input(Repeated(Bytes(8, ""), 10));
  EXPECT_EQ(Checked(input + input, 322), Code::kOk);
  EXPECT_EQ(Checked(input + input, 321), Code::kResourceExhausted);
}

TEST(PredictRequestTest, ManyValuesAreNoFields) {
  EXPECT_EQ(Checked(Input(Repeated(Bytes(8, "a"), 100'000))), Code::kOk);
  EXPECT_EQ(Checked(Input(Repeated(Number(10, 1), 100'000))), Code::kOk);
}

TEST(PredictRequestTest, FieldsAreBounded) {
  const uint64_t many = kMaxRequestFields;
  for (const std::string& part :
       {Bytes(2, ""), Bytes(3, ""), Bytes(1, ""), Bytes(9, ""), Number(9, 1),
        Varint(9 << 3 | 3) + Varint(9 << 3 | 4),
        // A field that is known, with another wire type.
        Number(2, 1)}) {
    EXPECT_EQ(Checked(Repeated(part, many / 2)), Code::kOk);
    EXPECT_EQ(Checked(Repeated(part, many + 1)), Code::kResourceExhausted);
  }
  const std::string dim = Bytes(2, "");
  EXPECT_EQ(Checked(Shaped(Repeated(dim, many / 2))), Code::kOk);
  EXPECT_EQ(Checked(Shaped(Repeated(dim, many))), Code::kResourceExhausted);
  for (const uint64_t handle : {14, 15}) {
    EXPECT_EQ(Checked(Input(Repeated(Bytes(handle, ""), many))),
              Code::kResourceExhausted);
  }
  // Two fields of a oneof, each of which replaces the other.
  EXPECT_EQ(Checked(Bytes(1, Repeated(Bytes(2, "") + Bytes(4, ""), many))),
            Code::kResourceExhausted);
}

TEST(PredictRequestTest, AMessageThatIsNotKnownCountsAsFullOfFields) {
  const std::string full(2 * kMaxRequestFields, '\x0a');
  for (const uint64_t handle : {14, 15, 99}) {
    EXPECT_EQ(Checked(Input(Bytes(handle, full))), Code::kResourceExhausted);
  }
  EXPECT_EQ(Checked(Bytes(7, full)), Code::kResourceExhausted);
  EXPECT_EQ(Checked(Bytes(7, full.substr(0, kMaxRequestFields))), Code::kOk);
}

TEST(PredictRequestTest, GroupsMayBeNested) {
  const std::string begin = Varint(9 << 3 | 3), end = Varint(9 << 3 | 4);
  const std::string inner = Bytes(1, "a") + Number(2, 3);
  EXPECT_EQ(Checked(begin + inner + begin + inner + end + end), Code::kOk);
  EXPECT_EQ(Checked(begin + inner + begin + end), Code::kInvalidArgument);
  EXPECT_EQ(Checked(Repeated(begin, 10'000'000)), Code::kResourceExhausted);
}

TEST(PredictRequestTest, WhatIsNotWellFormedIsRefused) {
  for (const std::string& message :
       {std::string("\x80"), std::string(11, '\x80'), std::string("\x12"),
        std::string("\x12\x01"), std::string("\x12\x80"),
        // A length of 2^64 - 1.
        std::string("\x12") + std::string(9, '\xff') + "\x01",
        std::string(1, '\0'), Varint(9 << 3 | 4), Varint(9 << 3 | 6),
        Varint(9 << 3 | 7), std::string("\x0d\x01"), std::string("\x09\x01"),
        Input(std::string("\x52\x05\x01")), Bytes(2, Varint(9 << 3 | 4)),
        Varint(9 << 3 | 3) + std::string("\x0a\x05")}) {
    EXPECT_EQ(Checked(message), Code::kInvalidArgument);
  }
}

TEST(PredictRequestTest, ARequestThatIsCutIsAcceptedOnlyBetweenItsFields) {
  const std::string whole = WholeRequest();
  int accepted = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    // A copy of its own, so that a sanitizer sees its end.
    const std::string cut(whole.data(), size);
    const Code code = Checked(cut);
    EXPECT_TRUE(code == Code::kOk || code == Code::kInvalidArgument) << size;
    accepted += code == Code::kOk;
  }
  // The valid prefixes: nothing, the model, the model with the input.
  EXPECT_EQ(accepted, 3);
}

}  // namespace
}  // namespace persia
