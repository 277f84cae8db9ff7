#include "cc/files/root_path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/cc/files/temporary_folder.h"

namespace persia {
namespace {

class RootPathTest : public ::testing::Test {
 protected:
  RootPathTest() { std::filesystem::create_directories(root_); }

  void ExpectRefused(const std::string& name) {
    const auto path = PathWithin(root_, name);
    ASSERT_FALSE(path.ok()) << *path;
    EXPECT_EQ(path.status().code(), Code::kInvalidArgument);
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_ / "root";
};

TEST_F(RootPathTest, ANameIsRelativeToTheRoot) {
  EXPECT_EQ(*PathWithin(root_, "a/b"), root_ + "/a/b");
}

TEST_F(RootPathTest, AnAbsoluteNameMustBeUnderTheRoot) {
  EXPECT_EQ(*PathWithin(root_, root_ + "/a"), root_ + "/a");
  ExpectRefused("/etc/passwd");
  ExpectRefused(folder_ / "rootless");
  ExpectRefused(folder_.path());
}

TEST_F(RootPathTest, DotsAreRefused) {
  for (const char* name : {"..", "a/../b", "../root/a", ".", "a/./b"}) {
    ExpectRefused(name);
  }
  EXPECT_TRUE(PathWithin(root_, "a..b/...").ok());
}

TEST_F(RootPathTest, WhatIsNoTextIsRefused) {
  ExpectRefused("");
  ExpectRefused(std::string("a\0b", 3));
  ExpectRefused("a\nb");
  ExpectRefused(std::string(5000, 'a'));
}

TEST_F(RootPathTest, ALinkThatLeadsOutIsRefused) {
  std::filesystem::create_directories(folder_ / "outside");
  std::filesystem::create_directory_symlink(folder_ / "outside",
                                            root_ + "/link");
  ExpectRefused("link");
  ExpectRefused("link/a");
}

TEST_F(RootPathTest, ALinkWithinTheRootIsFollowed) {
  std::filesystem::create_directories(root_ + "/real");
  std::filesystem::create_directory_symlink(root_ + "/real", root_ + "/link");
  EXPECT_EQ(*PathWithin(root_, "link/a"), root_ + "/real/a");
}

TEST_F(RootPathTest, TheRootMayBeALink) {
  std::filesystem::create_directory_symlink(root_, folder_ / "link");
  EXPECT_EQ(*PathWithin(folder_ / "link", "a"), root_ + "/a");
}

TEST_F(RootPathTest, AUrlIsNotWithinAFolder) {
  ExpectRefused("s3://bucket/a");
  ExpectRefused("file://" + root_);
  EXPECT_EQ(*PathWithin("/", "s3://bucket/a"), "s3://bucket/a");
}

TEST(UrlRootTest, ANameIsRelativeOrAbsolute) {
  for (const char* root : {"s3://bucket/root", "s3://bucket/root/"}) {
    EXPECT_EQ(*PathWithin(root, "a/b"), "s3://bucket/root/a/b");
    EXPECT_EQ(*PathWithin(root, "s3://bucket/root/a"), "s3://bucket/root/a");
    EXPECT_EQ(*PathWithin(root, "s3://bucket/root"), "s3://bucket/root");
  }
  EXPECT_EQ(*PathWithin("s3://bucket", "a"), "s3://bucket/a");
}

TEST(UrlRootTest, NothingElseIsWithin) {
  for (const char* name : {"..",
                           "a/../../b",
                           "a/./b",
                           "/etc/passwd",
                           "/",
                           "a//b",
                           "a/",
                           "s3://bucket",
                           "s3://bucket/rootless",
                           "s3://bucket/root/../a",
                           "s3://bucket/root//a",
                           "s3://other/root/a",
                           "gs://bucket/root/a",
                           "file:///etc/passwd",
                           "S3://bucket/root/a",
                           "%2e%2e/a",
                           "a%2f..%2fb",
                           "a?versionId=x",
                           "*",
                           "a::file:",
                           "a\\b"}) {
    const auto path = PathWithin("s3://bucket/root", name);
    ASSERT_FALSE(path.ok()) << name << " is " << *path;
    EXPECT_EQ(path.status().code(), Code::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace persia
