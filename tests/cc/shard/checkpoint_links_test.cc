// What requests reach when there are links below the checkpoint root.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

namespace fs = std::filesystem;

using Action = CheckpointAction;

constexpr char kShardFile[] = "shard-00000";
constexpr char kSecret[] = "what no request may read";

// A shard whose root has links to files and folders that are not below it:
// `outside` has a "secret" and a whole checkpoint, "save1".
class CheckpointLinksTest : public ::testing::Test {
 protected:
  CheckpointLinksTest() {
    fs::create_directories(root_);
    fs::create_directories(outside_);
    Start();
    Save("save1");
    fs::rename(root_ + "/save1", outside_ + "/save1");
    std::ofstream(outside_ + "/secret") << kSecret;
    fs::create_directories(root_ + "/folder");
    fs::create_directory_symlink(outside_, root_ + "/linked");
  }

  // A shard that recovers from the last checkpoint, by its name.
  LocalServiceOptions Options() const {
    LocalServiceOptions options;
    options.checkpoints.root = root_;
    options.recovery.journal.folder = folder_ / "recovery";
    options.recovery.level = RecoveryLevel::kCheckpoint;
    return options;
  }

  void Start() {
    const LocalServiceOptions options = Options();
    auto service = OpenLocalService(options);
    ASSERT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
    ASSERT_TRUE(Create(service_.get(), MakeConfig("t", 2, "ones", "sgd")).ok());
  }

  Status Ask(CheckpointRequest* request) {
    request->save_id = 1;
    request->deadline = DeadlineAfter(60);
    return Call(service_.get(), &EmbeddingService::Checkpoint, request);
  }

  Status Ask(Action action, const std::string& folder,
             const std::vector<std::string>& files = {}) {
    CheckpointRequest request;
    request.action = action;
    request.folder = folder;
    request.files = files;
    request.generation = 1;
    PERSIA_RETURN_IF_ERROR(Ask(&request));
    const bool in_background =
        action == Action::kSave || action == Action::kRestore;
    return in_background ? WaitForEnd() : Status();
  }

  Status Ask(FilesAction action, const std::string& folder,
             const std::vector<std::string>& files = {}) {
    FilesRequest request;
    request.deadline = DeadlineAfter(60);
    request.action = action;
    request.folder = folder;
    request.files = files;
    request.contents = {'b', 'a', 'd'};
    const Status status =
        Call(service_.get(), &EmbeddingService::Files, &request);
    // The reply does not send contents back.
    if (status.ok() && action != FilesAction::kRead) {
      EXPECT_TRUE(request.contents.empty());
    }
    return status;
  }

  Status WaitForEnd() {
    for (;;) {
      CheckpointRequest request;
      request.action = Action::kProgress;
      PERSIA_RETURN_IF_ERROR(Ask(&request));
      const CheckpointProgress& shard = request.shards.at(0);
      if (shard.state == CheckpointProgress::State::kRunning) continue;
      const Status outcome = shard.outcome;
      request.action = Action::kForget;
      if (!outcome.ok()) PERSIA_RETURN_IF_ERROR(Ask(&request));
      return outcome;
    }
  }

  void Save(const std::string& folder) {
    const Status status = Ask(Action::kSave, folder);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(Ask(Action::kForget, folder).ok());
  }

  template <typename AnyAction>
  void ExpectRefused(AnyAction action, const std::string& folder,
                     const std::vector<std::string>& files = {}) {
    const Status status = Ask(action, folder, files);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.message();
    EXPECT_NE(status.message().find("symbolic link"), std::string::npos)
        << status.message();
    EXPECT_EQ(Outside(), before_);
  }

  // The paths of all files that are not below the root, and the text of the
  // secret file.
  std::vector<std::string> Outside() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(outside_)) {
      found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    std::ifstream secret(outside_ + "/secret");
    found.emplace_back(std::istreambuf_iterator<char>(secret),
                       std::istreambuf_iterator<char>());
    return found;
  }

  void SetUp() override { before_ = Outside(); }

  const TemporaryFolder folder_;
  const std::string root_ = folder_ / "root";
  const std::string outside_ = folder_ / "outside";
  std::vector<std::string> before_;
  std::unique_ptr<EmbeddingService> service_;
};

TEST_F(CheckpointLinksTest, ALinkedFileIsNotRead) {
  fs::create_symlink(outside_ + "/secret", root_ + "/folder/link");
  ExpectRefused(FilesAction::kRead, "folder", {"link"});
}

TEST_F(CheckpointLinksTest, ALinkedFileIsNotWritten) {
  // The link itself is replaced by a whole file, and the file that it led to is
  // not touched.
  fs::create_symlink(outside_ + "/secret", root_ + "/folder/link");
  EXPECT_TRUE(Ask(FilesAction::kWrite, "folder", {"link"}).ok());
  EXPECT_FALSE(fs::is_symlink(root_ + "/folder/link"));
  EXPECT_EQ(Outside(), before_);
}

TEST_F(CheckpointLinksTest, ALinkInTheWayOfAnUnfinishedFileIsNotFollowed) {
  fs::create_symlink(outside_ + "/secret", root_ + "/folder/a.tmp");
  ExpectRefused(FilesAction::kWrite, "folder", {"a"});
  fs::remove(root_ + "/folder/a.tmp");
  fs::create_symlink(outside_ + "/new", root_ + "/folder/a.tmp");
  ExpectRefused(FilesAction::kWrite, "folder", {"a"});
}

TEST_F(CheckpointLinksTest, ALinkedFileIsNotSavedTo) {
  fs::create_symlink(outside_ + "/secret",
                     root_ + "/folder/" + std::string(kShardFile));
  ExpectRefused(Action::kSave, "folder");
  fs::remove(root_ + "/folder/" + std::string(kShardFile));
  fs::create_symlink(outside_ + "/new",
                     root_ + "/folder/" + std::string(kShardFile));
  ExpectRefused(Action::kSave, "folder");
}

TEST_F(CheckpointLinksTest, ALinkedFileIsNotRestored) {
  fs::create_symlink(outside_ + "/save1/" + kShardFile,
                     root_ + "/folder/" + std::string(kShardFile));
  ExpectRefused(Action::kRestore, "folder",
                {std::string("folder/") + kShardFile});
}

TEST_F(CheckpointLinksTest, ALinkIsRemovedAndNotWhatItLeadsTo) {
  fs::create_symlink(outside_ + "/secret", root_ + "/folder/link");
  EXPECT_TRUE(Ask(FilesAction::kRemove, "folder", {"link"}).ok());
  EXPECT_FALSE(fs::exists(root_ + "/folder"));
  EXPECT_EQ(Outside(), before_);
}

TEST_F(CheckpointLinksTest, NothingIsReachedThroughALinkedFolder) {
  const std::string shard_file = kShardFile;
  for (const std::string folder : {"linked", "linked/save1", "linked/new"}) {
    for (const std::string& name : {folder, root_ + "/" + folder}) {
      ExpectRefused(FilesAction::kRead, name, {"secret"});
      ExpectRefused(FilesAction::kWrite, name, {"secret"});
      ExpectRefused(FilesAction::kWrite, name, {"new"});
      ExpectRefused(FilesAction::kList, name);
      ExpectRefused(FilesAction::kRemove, name, {"secret"});
      ExpectRefused(FilesAction::kRemove, name, {});
      ExpectRefused(Action::kSave, name);
      ExpectRefused(Action::kRestore, name, {name + "/" + shard_file});
    }
  }
}

TEST_F(CheckpointLinksTest, ALinkWithinTheRootIsRefusedToo) {
  fs::create_directories(root_ + "/real");
  fs::create_directory_symlink("real", root_ + "/alias");
  ExpectRefused(FilesAction::kWrite, "alias", {"a"});
  EXPECT_TRUE(Ask(FilesAction::kWrite, "real", {"a"}).ok());
}

TEST_F(CheckpointLinksTest, AShardDoesNotComeBackThroughALink) {
  fs::copy(outside_ + "/save1", root_ + "/save1", fs::copy_options::recursive);
  const std::vector<std::string> files = {std::string("save1/") + kShardFile};
  ASSERT_TRUE(Ask(Action::kRestore, "save1", files).ok());
  ASSERT_TRUE(Ask(Action::kSwap, "save1").ok());
  service_.reset();
  fs::remove_all(root_ + "/save1");
  fs::create_directory_symlink(outside_ + "/save1", root_ + "/save1");
  auto service = OpenLocalService(Options());
  ASSERT_FALSE(service.ok());
  EXPECT_NE(service.status().message().find("symbolic link"), std::string::npos)
      << service.status().message();
}

TEST_F(CheckpointLinksTest, TheRootItselfMayBeALink) {
  fs::create_directory_symlink(root_, folder_ / "way");
  LocalServiceOptions options;
  options.checkpoints.root = folder_ / "way";
  service_ = std::move(*OpenLocalService(options));
  EXPECT_TRUE(Ask(FilesAction::kWrite, "folder", {"a"}).ok());
  EXPECT_TRUE(Ask(FilesAction::kRead, root_ + "/folder", {"a"}).ok());
  EXPECT_TRUE(Ask(FilesAction::kRead, folder_ / "way/folder", {"a"}).ok());
  EXPECT_TRUE(fs::exists(root_ + "/folder/a"));
}

}  // namespace
}  // namespace persia
