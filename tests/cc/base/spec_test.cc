#include "cc/base/spec.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace persia {
namespace {

using ::testing::TestWithParam;
using ::testing::Values;

TEST(SpecParse, ReadsAName) {
  const auto spec = Spec::Parse("glorot_uniform");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->name, "glorot_uniform");
  EXPECT_TRUE(spec->params.empty());
}

TEST(SpecParse, ReadsParameters) {
  const auto spec = Spec::Parse("adam(beta_1=0.9,epsilon=1e-07)");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->name, "adam");
  EXPECT_EQ(spec->params.size(), 2u);
  EXPECT_EQ(spec->Get("beta_1", 0), 0.9);
  EXPECT_EQ(spec->Get("epsilon", 0), 1e-7);
}

TEST(SpecParse, TakesEmptyParenthesesForNone) {
  const auto spec = Spec::Parse("sgd()");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->ToString(), "sgd");
}

TEST(SpecToString, IsCanonical) {
  const auto one = Spec::Parse("adam(epsilon=0.0000001,beta_1=0.90)");
  const auto other = Spec::Parse("adam(beta_1=9e-1,epsilon=1e-7)");
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(one->ToString(), "adam(beta_1=0.9,epsilon=1e-07)");
  EXPECT_EQ(one->ToString(), other->ToString());
}

TEST(SpecToString, KeepsEveryDigit) {
  Spec spec;
  spec.name = "constant";
  spec.params["value"] = 0.1 + 0.2;
  const auto read = Spec::Parse(spec.ToString());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, spec);
}

// A text, and what its error must say besides the text itself.
using BadText = std::pair<const char*, const char*>;
class SpecParseRefuses : public TestWithParam<BadText> {};

TEST_P(SpecParseRefuses, SayingWhatIsWrong) {
  const auto [text, reason] = GetParam();
  const auto spec = Spec::Parse(text);
  ASSERT_FALSE(spec.ok()) << text;
  const std::string message = spec.status().message();
  EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
  EXPECT_NE(message.find(reason), std::string::npos) << message;
  EXPECT_NE(message.find("\"" + std::string(text) + "\""), std::string::npos)
      << message;
}

constexpr char kBadName[] = "the name takes a-z, 0-9 and _";
constexpr char kBadParam[] = "a parameter's name takes a-z, 0-9 and _";
constexpr char kBadNumber[] = "x must be a finite decimal number";

INSTANTIATE_TEST_SUITE_P(
    BadTexts, SpecParseRefuses,
    Values(BadText("", kBadName), BadText("(x=1)", kBadName),
           BadText("Adam", kBadName), BadText(" sgd", kBadName),
           BadText("sgd(", "it must end in \")\""),
           BadText("sgd(x=1", "it must end in \")\""),
           BadText("sgd(x=1) ", "it must end in \")\""),
           BadText("sgd(x=1))", kBadNumber), BadText("sgd(x)", "needs a \"=\""),
           BadText("sgd(=1)", kBadParam), BadText("sgd(x=1, y=2)", kBadParam),
           BadText("sgd(,x=1)", "needs a \"=\""),
           BadText("sgd(x=1,)", "must follow \",\""),
           BadText("sgd(x=1,,y=2)", "needs a \"=\""),
           BadText("sgd(x=)", kBadNumber), BadText("sgd(x=one)", kBadNumber),
           BadText("sgd(x=1z)", kBadNumber), BadText("sgd(x= 1)", kBadNumber),
           BadText("sgd(x=nan)", kBadNumber), BadText("sgd(x=inf)", kBadNumber),
           BadText("sgd(x=1e999)", kBadNumber),
           BadText("sgd(x=1,x=2)", "x is given twice")));

TEST(SpecParse, RefusesEndlessTextAndShowsOnlyItsStart) {
  const auto spec = Spec::Parse(std::string(1 << 20, 'a'));
  ASSERT_FALSE(spec.ok());
  EXPECT_LT(spec.status().message().size(), 500u);
  EXPECT_NE(spec.status().message().find("received 1048576"),
            std::string::npos);
}

TEST(SpecCheckParams, AcceptsKnownOnes) {
  const auto spec = Spec::Parse("adam(beta_1=0.9)");
  ASSERT_TRUE(spec.ok());
  EXPECT_TRUE(spec->CheckParams("optimizer", {"beta_1", "beta_2"}).ok());
}

TEST(SpecCheckParams, NamesTheUnknownOneAndTheKnownOnes) {
  const auto spec = Spec::Parse("adam(beta1=0.9)");
  ASSERT_TRUE(spec.ok());
  const Status status = spec->CheckParams("optimizer", {"beta_1", "beta_2"});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "optimizer adam has no parameter beta1; it has beta_1, beta_2");
}

TEST(SpecGet, GivesTheDefaultOfAnAbsentParameter) {
  EXPECT_EQ(Spec().Get("beta_1", 0.25), 0.25);
}

}  // namespace
}  // namespace persia
