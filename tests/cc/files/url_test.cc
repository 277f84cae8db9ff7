#include "cc/files/url.h"

#include <gtest/gtest.h>

#include <string>

namespace persia {
namespace {

TEST(UrlTest, IsToldByItsMark) {
  EXPECT_TRUE(IsUrl("s3://bucket"));
  EXPECT_TRUE(IsUrl("filecache::s3://bucket"));
  for (const char* path : {"", "/a/b", "a:b", "s3:/bucket", "//a"}) {
    EXPECT_FALSE(IsUrl(path)) << path;
  }
}

TEST(UrlTest, NamesOfPlainCharactersAreAccepted) {
  for (const char* url :
       {"s3://bucket", "gs://bucket/a", "hdfs://host:8020/a/b",
        "abfs://container@account.net/a", "s3+x://b/a-b_c.d=e+f,g@h i",
        "s3://b/\xc3\xa9", "s3://b/...", "s3://b/a..b"}) {
    const Status status = CheckUrl(url);
    EXPECT_TRUE(status.ok()) << url << ": " << status.message();
  }
}

TEST(UrlTest, WhatALibraryCouldTakeForSomethingElseIsRefused) {
  for (const char* url : {"",
                          "bucket",
                          "://b",
                          "s3://",
                          "s3:///a",
                          "s3://b/",
                          "s3://b//a",
                          "s3://b/.",
                          "s3://b/..",
                          "s3://b/../a",
                          "s3://../a",
                          "s3://b/%2e%2e/a",
                          "s3://b/a?versionId=1",
                          "s3://b/a#1",
                          "s3://b/*",
                          "s3://b/[a]",
                          "s3://b/{a}",
                          "s3://b/~",
                          "s3://b/a\\..\\b",
                          "s3://b/a:b",
                          "s3://b/s3://c",
                          "filecache::s3://b/a",
                          "s3://b/a::file://x",
                          "s3://b?x/a",
                          "s 3://b/a",
                          "s3://b/a\n"}) {
    EXPECT_EQ(CheckUrl(url).code(), Code::kInvalidArgument) << url;
  }
}

TEST(UrlTest, APasswordIsRefusedAndNotRepeated) {
  for (const char* url : {"sftp://me:hidden@host/a", "s3://key:hidden@bucket",
                          "s3://:hidden@b/a", "s3://k:hi@dden@b/a"}) {
    const Status status = CheckUrl(url);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << url;
    EXPECT_EQ(status.message().find("dden"), std::string::npos)
        << status.message();
  }
}

}  // namespace
}  // namespace persia
