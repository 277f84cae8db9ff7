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

TEST_F(RootPathTest, SlashesDoNotCount) {
  for (const char* name : {"a//b", "a/b/", "a///b//"}) {
    EXPECT_EQ(*PathWithin(root_ + "//", name), root_ + "/a/b");
  }
  EXPECT_EQ(*PathWithin(root_, root_ + "/"), root_);
}

TEST_F(RootPathTest, AnAbsoluteNameMayLeadToTheRootByAnotherWay) {
  std::filesystem::create_directory_symlink(root_, folder_ / "way");
  EXPECT_EQ(*PathWithin(root_, folder_ / "way/a"), root_ + "/a");
  EXPECT_EQ(*PathWithin(folder_ / "way", root_ + "/a"), folder_ / "way/a");
  EXPECT_EQ(*PathWithin(folder_ / "way", folder_ / "way/a"), folder_ / "way/a");
}

TEST_F(RootPathTest, ALinkThatLeadsBackToTheRootIsBelowIt) {
  std::filesystem::create_directory_symlink(root_, root_ + "/back");
  EXPECT_EQ(*PathWithin(root_, root_ + "/back/a"), root_ + "/back/a");
}

TEST_F(RootPathTest, ARootThatIsNotThereYetHasPaths) {
  const std::string none = folder_ / "none";
  EXPECT_EQ(*PathWithin(none, "a"), none + "/a");
  EXPECT_EQ(*PathWithin(none, none + "/a"), none + "/a");
  EXPECT_FALSE(PathWithin(none, none + "less/a").ok());
  EXPECT_FALSE(PathWithin(none, folder_ / "some/a").ok());
}

TEST_F(RootPathTest, ARelativeRootIsOneOfTheWorkingDirectory) {
  const auto here = std::filesystem::current_path();
  EXPECT_EQ(*PathWithin("no-such", "a"), "no-such/a");
  EXPECT_EQ(*PathWithin("no-such", (here / "no-such/a").string()), "no-such/a");
  EXPECT_EQ(*PathWithin(".", (here / "a").string()), "./a");
}

TEST_F(RootPathTest, WithoutARootThereIsNone) {
  for (const char* name : {"a", "/a", "s3://bucket/a"}) {
    EXPECT_EQ(PathWithin("", name).status().code(), Code::kFailedPrecondition);
  }
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
