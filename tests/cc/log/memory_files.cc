#include "tests/cc/log/memory_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

using Lock = std::unique_lock<std::mutex>;

Status NotFound(const std::string& path) {
  return Status(Code::kNotFound, Concat("no such file: ", path));
}

class MemoryReadableFile : public ReadableFile {
 public:
  explicit MemoryReadableFile(std::vector<uint8_t> bytes)
      : bytes_(std::move(bytes)) {}

  Result<size_t> Read(Span<uint8_t> bytes) override {
    const size_t count = std::min(bytes.size(), bytes_.size() - at_);
    if (count > 0) std::memcpy(bytes.data(), bytes_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  const std::vector<uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace

class MemoryWritableFile : public WritableFile {
 public:
  MemoryWritableFile(MemoryFiles* files, std::shared_ptr<MemoryFile> file)
      : files_(files), file_(std::move(file)) {}

  Status Append(Span<const uint8_t> bytes) override {
    return files_->Write(file_.get(), bytes);
  }
  Status Sync() override { return files_->SyncWritten(file_.get()); }
  Status Close() override { return Status(); }

 private:
  MemoryFiles* const files_;
  const std::shared_ptr<MemoryFile> file_;
};

MemoryFiles::MemoryFiles(const MemoryImage& image) {
  for (const auto& [path, file] : image) {
    files_[path] = std::make_shared<MemoryFile>(file);
  }
}

MemoryImage MemoryFiles::image() {
  Lock lock(mutex_);
  MemoryImage image;
  for (const auto& [path, file] : files_) image[path] = *file;
  return image;
}

void MemoryFiles::FailWritesAfter(uint64_t bytes) {
  Lock lock(mutex_);
  room_ = bytes;
}

void MemoryFiles::FailSyncs() {
  Lock lock(mutex_);
  fails_syncs_ = true;
}

void MemoryFiles::HoldSyncs() {
  Lock lock(mutex_);
  holds_syncs_ = true;
}

void MemoryFiles::WaitForHeldSync() {
  Lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, kHang, [this] { return held_ > 0; }));
}

void MemoryFiles::ReleaseSyncs() {
  Lock lock(mutex_);
  holds_syncs_ = false;
  changed_.notify_all();
}

int MemoryFiles::syncs() {
  Lock lock(mutex_);
  return syncs_;
}

size_t MemoryFiles::largest_write() {
  Lock lock(mutex_);
  return largest_write_;
}

Status MemoryFiles::Write(MemoryFile* file, Span<const uint8_t> bytes) {
  Lock lock(mutex_);
  const size_t count = std::min<uint64_t>(bytes.size(), room_);
  file->bytes.insert(file->bytes.end(), bytes.begin(), bytes.begin() + count);
  room_ -= count;
  largest_write_ = std::max(largest_write_, count);
  if (count == bytes.size()) return Status();
  return Status(Code::kResourceExhausted, "the device is full");
}

Status MemoryFiles::SyncWritten(MemoryFile* file) {
  Lock lock(mutex_);
  const size_t written = file->bytes.size();
  ++held_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !holds_syncs_; });
  --held_;
  if (fails_syncs_) return Status(Code::kUnavailable, "the device is gone");
  ++syncs_;
  file->synced = written;
  return Status();
}

std::shared_ptr<MemoryFile> MemoryFiles::Find(const std::string& path) {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : found->second;
}

Result<std::unique_ptr<WritableFile>> MemoryFiles::Create(
    const std::string& path) {
  Lock lock(mutex_);
  const auto file = std::make_shared<MemoryFile>();
  files_[path] = file;
  return std::unique_ptr<WritableFile>(
      std::make_unique<MemoryWritableFile>(this, file));
}

Result<std::unique_ptr<ReadableFile>> MemoryFiles::Open(
    const std::string& path) {
  Lock lock(mutex_);
  const auto file = Find(path);
  if (file == nullptr) return NotFound(path);
  return std::unique_ptr<ReadableFile>(
      std::make_unique<MemoryReadableFile>(file->bytes));
}

Result<uint64_t> MemoryFiles::Size(const std::string& path) {
  Lock lock(mutex_);
  const auto file = Find(path);
  if (file == nullptr) return NotFound(path);
  return uint64_t{file->bytes.size()};
}

Status MemoryFiles::Sync(const std::string& path) {
  Lock lock(mutex_);
  const auto file = Find(path);
  if (file == nullptr) return NotFound(path);
  file->synced = file->bytes.size();
  return Status();
}

Status MemoryFiles::Rename(const std::string& from, const std::string& to) {
  Lock lock(mutex_);
  const auto file = Find(from);
  if (file == nullptr) return NotFound(from);
  files_[to] = file;
  files_.erase(from);
  return Status();
}

Status MemoryFiles::Remove(const std::string& path) {
  Lock lock(mutex_);
  files_.erase(path);
  return Status();
}

Result<std::vector<std::string>> MemoryFiles::List(const std::string& folder) {
  Lock lock(mutex_);
  const std::string prefix = folder + "/";
  std::vector<std::string> names;
  for (const auto& [path, file] : files_) {
    if (path.compare(0, prefix.size(), prefix) == 0) {
      names.push_back(path.substr(prefix.size()));
    }
  }
  return names;
}

}  // namespace persia
