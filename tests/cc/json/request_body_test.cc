#include "cc/json/request_body.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace persia {
namespace {

using Form = ColumnOutput::Form;

// Memory for the values of a column, and the values that were read.
struct Values {
  std::vector<uint64_t> numbers;
  std::vector<uint8_t> bools;
  std::string texts;
  std::vector<uint8_t> are_base64;

  ColumnOutput Output(const Column& column, Form form) {
    ColumnOutput output;
    output.form = form;
    output.value_count = column.value_count();
    output.text_bytes = column.text_bytes();
    numbers.resize(output.value_count);
    bools.resize(output.value_count);
    texts.resize(output.text_bytes);
    are_base64.resize(output.value_count);
    output.values = numbers.data();
    if (form == Form::kBools) output.values = bools.data();
    output.texts = texts.data();
    output.are_base64 = are_base64.data();
    return output;
  }

  std::vector<int64_t> Integers() const {
    return std::vector<int64_t>(numbers.begin(), numbers.end());
  }
  std::vector<double> Doubles() const {
    std::vector<double> found(numbers.size());
    std::memcpy(found.data(), numbers.data(), 8 * numbers.size());
    return found;
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> found;
    uint64_t begin = 0;
    for (const uint64_t end : numbers) {
      found.push_back(texts.substr(begin, end - begin));
      begin = end;
    }
    return found;
  }
};

RequestBody Scanned(const std::string& text) {
  auto body = RequestBody::Scan(text);
  EXPECT_TRUE(body.ok()) << body.status().message() << " of " << text;
  if (!body.ok()) std::abort();
  return *body;
}

// The values of the only column, read in a form.
Values Read(const std::string& text, Form form) {
  const RequestBody body = Scanned(text);
  EXPECT_EQ(body.columns().size(), 1u);
  Values values;
  const ColumnOutput output = values.Output(body.columns()[0], form);
  const Status status = body.Read(Span<const ColumnOutput>(&output, 1));
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

std::vector<uint64_t> ShapeOf(const std::string& inputs) {
  const RequestBody body = Scanned("{\"inputs\":" + inputs + "}");
  const Column& column = body.columns().at(0);
  EXPECT_FALSE(column.is_ragged()) << inputs;
  return {column.shape().begin(), column.shape().end()};
}

void ExpectRefused(const std::string& text, const std::string& part) {
  const auto body = RequestBody::Scan(text);
  ASSERT_FALSE(body.ok()) << text;
  EXPECT_EQ(body.status().code(), Code::kInvalidArgument);
  EXPECT_NE(body.status().message().find(part), std::string::npos)
      << body.status().message();
}

TEST(RequestBodyTest, RowsWithNames) {
  const std::string text =
      "{\"signature_name\": \"s\", \"instances\": "
      "[{\"a\": 1, \"b\": [\"x\", \"\"]}, {\"b\": [\"yz\", \"\\u00e9\"], "
      "\"a\": -2}], \"more\": {\"x\": [1, {}]}}";
  const RequestBody body = Scanned(text);
  EXPECT_EQ(body.signature(), "s");
  EXPECT_TRUE(body.in_rows());
  EXPECT_TRUE(body.is_named());
  ASSERT_EQ(body.columns().size(), 2u);
  const Column& a = body.columns()[0];
  const Column& b = body.columns()[1];
  EXPECT_EQ(a.name(), "a");
  EXPECT_EQ(a.shape().size(), 1u);
  EXPECT_EQ(a.least(), -2);
  EXPECT_EQ(a.most(), 1u);
  EXPECT_EQ(b.kinds(), kJsonText);
  EXPECT_EQ(b.shape()[0], 2u);
  EXPECT_EQ(b.shape()[1], 2u);
  Values of_a, of_b;
  const ColumnOutput outputs[] = {of_a.Output(a, Form::kIntegers),
                                  of_b.Output(b, Form::kTexts)};
  ASSERT_TRUE(body.Read(outputs).ok());
  EXPECT_EQ(of_a.Integers(), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(of_b.Texts(),
            (std::vector<std::string>{"x", "", "yz", "\xc3\xa9"}));
}

TEST(RequestBodyTest, TheOnlyInputGoesWithoutItsName) {
  const std::string rows = "{\"instances\": [[1, 2], [3, 4]]}";
  EXPECT_FALSE(Scanned(rows).is_named());
  EXPECT_TRUE(Scanned(rows).in_rows());
  EXPECT_EQ(Read(rows, Form::kIntegers).Integers(),
            (std::vector<int64_t>{1, 2, 3, 4}));
  const std::string columns = "{\"inputs\": 7}";
  EXPECT_FALSE(Scanned(columns).in_rows());
  EXPECT_EQ(Scanned(columns).columns()[0].shape().size(), 0u);
  EXPECT_EQ(Read(columns, Form::kIntegers).Integers(),
            (std::vector<int64_t>{7}));
}

TEST(RequestBodyTest, NumbersAreExact) {
  EXPECT_EQ(Read("{\"inputs\": [-9223372036854775808, 18446744073709551615]}",
                 Form::kIntegers)
                .numbers,
            (std::vector<uint64_t>{uint64_t{1} << 63, ~uint64_t{0}}));
  const auto doubles =
      Read(
          "{\"inputs\": [0.1, 1e300, 5e-324, 3, 123456789.123456789, NaN, "
          "Infinity, -Infinity]}",
          Form::kDoubles)
          .Doubles();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(doubles[0], 0.1);
  EXPECT_EQ(doubles[1], 1e300);
  EXPECT_EQ(doubles[2], 5e-324);
  EXPECT_EQ(doubles[3], 3.0);
  EXPECT_EQ(doubles[4], 123456789.123456789);
  EXPECT_TRUE(std::isnan(doubles[5]));
  EXPECT_EQ(doubles[6], infinity);
  EXPECT_EQ(doubles[7], -infinity);
}

TEST(RequestBodyTest, IntegersBeyond64BitsAreOtherNumbers) {
  for (const char* text : {"{\"inputs\": 18446744073709551616}",
                           "{\"inputs\": -9223372036854775809}"}) {
    EXPECT_EQ(Scanned(text).columns()[0].kinds(), kJsonFloat) << text;
  }
}

TEST(RequestBodyTest, KindsAreTold) {
  const RequestBody body = Scanned(
      "{\"inputs\": [true, 1, 1.5, \"\", {\"b64\": \"\"}, null, {\"x\": "
      "[1]}]}");
  EXPECT_EQ(body.columns()[0].kinds(), 127u);
  EXPECT_EQ(body.columns()[0].value_count(), 7u);
}

TEST(RequestBodyTest, BytesAreObjectsWithOneText) {
  const std::string text =
      "{\"instances\": [{\"b64\": \"YQ==\"}, {\"b64\": \"\"}]}";
  EXPECT_FALSE(Scanned(text).is_named());
  const Values values = Read(text, Form::kTexts);
  EXPECT_EQ(values.Texts(), (std::vector<std::string>{"YQ==", ""}));
  EXPECT_EQ(values.are_base64, (std::vector<uint8_t>{1, 1}));
  for (const char* other :
       {"{\"b64\": 1}", "{\"b64\": \"\", \"x\": 1}", "{\"b64\": [\"\"]}",
        "{\"b64\": \"\", \"b64\": \"\"}"}) {
    EXPECT_EQ(Scanned(std::string("{\"inputs\": [1, ") + other + "]}")
                  .columns()[0]
                  .kinds(),
              uint32_t{kJsonInteger | kJsonObject})
        << other;
  }
}

TEST(RequestBodyTest, Shapes) {
  EXPECT_EQ(ShapeOf("[]"), (std::vector<uint64_t>{0}));
  EXPECT_EQ(ShapeOf("[[], []]"), (std::vector<uint64_t>{2, 0}));
  EXPECT_EQ(ShapeOf("[[[1], [2]], [[3], [4]], [[5], [6]]]"),
            (std::vector<uint64_t>{3, 2, 1}));
  EXPECT_EQ(ShapeOf("{\"x\": [[1, 2]]}"), (std::vector<uint64_t>{1, 2}));
}

TEST(RequestBodyTest, RaggedLists) {
  std::string deep = "1";
  for (size_t i = 0; i <= Column::kMaxRank; ++i) deep = "[" + deep + "]";
  for (const std::string& inputs :
       {std::string("[[1], 2]"), std::string("[1, [2]]"),
        std::string("[[1], [2, 3]]"), std::string("[[], [1]]"),
        std::string("[[1], []]"), std::string("[[], [[]]]"),
        std::string("[[[]], []]"), std::string("[[[1]], [2]]"),
        std::string("[1, [[2]], 3]"), deep}) {
    EXPECT_TRUE(Scanned("{\"inputs\":" + inputs + "}").columns()[0].is_ragged())
        << inputs;
  }
}

TEST(RequestBodyTest, RowsMustBeAlike) {
  for (const char* rows :
       {"[{\"a\": 1}, {\"b\": 1}]", "[{\"a\": 1}, {\"a\": 1, \"b\": 2}]",
        "[{\"a\": 1, \"b\": 2}, {\"a\": 1}]", "[{\"a\": 1}, 2]",
        "[1, {\"a\": 1}]", "[{\"a\": 1}, {\"b64\": \"\"}]", "[{}, {\"a\": 1}]",
        "[{\"a\": 1}, {}]"}) {
    ExpectRefused(std::string("{\"instances\": ") + rows + "}",
                  "number 1 differs from the first");
  }
}

TEST(RequestBodyTest, WhatIsNoRequest) {
  for (const char* text :
       {"[]", "1", "\"instances\"", "null", "{}", "{\"a\": [1]}",
        "{\"instances\": [1], \"inputs\": [1]}",
        "{\"inputs\": 1, \"inputs\": 1}"}) {
    ExpectRefused(text, "either \"instances\" or \"inputs\"");
  }
  for (const char* rows : {"[]", "{}", "1", "\"\"", "null", "{\"x\": 1}"}) {
    ExpectRefused(std::string("{\"instances\": ") + rows + "}",
                  "must be a list of at least one example");
  }
  for (const char* name : {"1", "null", "[\"s\"]", "{}", "true", "1.5"}) {
    ExpectRefused(std::string("{\"signature_name\": ") + name + "}",
                  "signature_name must be a string");
  }
  ExpectRefused("{\"signature_name\": \"\", \"signature_name\": \"\"}", "once");
  ExpectRefused("{\"inputs\": {\"a\": 1, \"a\": 1}}", "given twice");
  ExpectRefused("{\"inputs\": {\"a\\u0000\": 1}}", "not contain a NUL");
  ExpectRefused("{\"signature_name\": \"a\\u0000\"}", "not contain a NUL");
}

TEST(RequestBodyTest, WhatIsNoJson) {
  for (const char* text :
       {"", "{", "{\"inputs\": [1,]}", "{\"inputs\": [1]} x",
        "{\"inputs\": \"\xff\"}", "{\"inputs\": \"\\ud800\"}",
        "{\"inputs\": 01}", "{inputs: 1}", "\xef\xbb\xbf{\"inputs\": 1}"}) {
    ExpectRefused(text, "must be JSON");
  }
}

TEST(RequestBodyTest, WhiteSpaceMayFollow) {
  Scanned("  {\"inputs\": 1}\r\n\t ");
}

TEST(RequestBodyTest, DepthIsBounded) {
  for (const std::string& open : {std::string("["), std::string("{\"x\":")}) {
    std::string text = "{\"more\":";
    for (int i = 0; i < 100'000; ++i) text += open;
    ExpectRefused(text, "nest at most 40 lists and objects");
  }
}

TEST(RequestBodyTest, NamesAreBounded) {
  const std::string longest(RequestBody::kMaxNameBytes, 'x');
  EXPECT_EQ(
      Scanned("{\"inputs\": {\"" + longest + "\": 1}}").columns()[0].name(),
      longest);
  ExpectRefused("{\"inputs\": {\"" + longest + "x\": 1}}", "1024 bytes");
  EXPECT_EQ(Scanned("{\"inputs\": 1, \"signature_name\": \"" + longest + "\"}")
                .signature(),
            longest);
  ExpectRefused("{\"inputs\": 1, \"signature_name\": \"" + longest + "x\"}",
                "signature_name must have at most 1024 bytes");
  // The limit is within the last character.
  ExpectRefused("{\"inputs\": 1, \"signature_name\": \"" + longest.substr(1) +
                    "\xc3\xa9\"}",
                "signature_name must have at most 1024 bytes");
  std::string many = "{\"inputs\": {";
  for (size_t i = 0; i <= RequestBody::kMaxColumns; ++i) {
    many += "\"" + std::to_string(i) + "\": 1,";
  }
  ExpectRefused(many, "4096 inputs");
}

TEST(RequestBodyTest, AFormMustTakeAllValues) {
  const std::string text = "{\"inputs\": [1, 2.5]}";
  const RequestBody body = Scanned(text);
  for (const Form form : {Form::kNone, Form::kBools, Form::kIntegers,
                          Form::kTexts, static_cast<Form>(9)}) {
    Values values;
    const ColumnOutput output = values.Output(body.columns()[0], form);
    EXPECT_EQ(body.Read(Span<const ColumnOutput>(&output, 1)).code(),
              Code::kInvalidArgument)
        << static_cast<int>(form);
  }
  EXPECT_EQ(body.Read({}).code(), Code::kInvalidArgument);
}

TEST(RequestBodyTest, RoomMustBeForAllValues) {
  const std::string text = "{\"inputs\": [\"ab\", \"c\"]}";
  const RequestBody body = Scanned(text);
  Values values;
  const ColumnOutput whole = values.Output(body.columns()[0], Form::kTexts);
  ColumnOutput few = whole;
  --few.value_count;
  ColumnOutput small = whole;
  --small.text_bytes;
  for (const ColumnOutput& output : {few, small}) {
    EXPECT_EQ(body.Read(Span<const ColumnOutput>(&output, 1)).code(),
              Code::kInvalidArgument);
  }
  EXPECT_TRUE(body.Read(Span<const ColumnOutput>(&whole, 1)).ok());
}

TEST(RequestBodyTest, BoolsAreBytes) {
  EXPECT_EQ(Read("{\"inputs\": [true, false]}", Form::kBools).bools,
            (std::vector<uint8_t>{1, 0}));
}

}  // namespace
}  // namespace persia
