#include "cc/base/text.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

TEST(TextTest, PlainTextMayBeOfAnyLanguage) {
  for (const char* text : {"", "job/user_1",
                           "gr\xc3\xb6\xc3\x9f"
                           "e",
                           "\xe8\xa1\xa8", "\xf0\x9f\x99\x82", "\xc2\xa0",
                           "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsPlainText(text)) << Escaped(text);
  }
}

TEST(TextTest, WhatIsNoUtf8IsNotPlain) {
  for (const char* text :
       {"\x80", "a\xff", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf",
        "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xe8\xa1", "\xf0\x9f\x99"}) {
    EXPECT_FALSE(IsPlainText(text)) << Escaped(text);
  }
}

TEST(TextTest, ControlCharactersAreNotPlain) {
  for (const std::string& text :
       {std::string("\n"), std::string("a\0b", 3), std::string("\x1b[2J"),
        std::string("\x7f"), std::string("\xc2\x9b")}) {
    EXPECT_FALSE(IsPlainText(text)) << Escaped(text);
  }
}

TEST(TextTest, EscapedShowsEveryByte) {
  EXPECT_EQ(Escaped(std::string("a\0\xff\\~\x7f", 6)),
            "a\\x00\\xff\\x5c~\\x7f");
}

TEST(TextTest, ListsAreSplitAndJoined) {
  EXPECT_EQ(SplitAtCommas("a:1,,b"),
            (std::vector<std::string>{"a:1", "", "b"}));
  EXPECT_TRUE(SplitAtCommas("").empty());
  EXPECT_EQ(Join({"a", "b"}, "; "), "a; b");
}

}  // namespace
}  // namespace persia
