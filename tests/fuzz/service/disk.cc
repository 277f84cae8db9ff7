#include "tests/fuzz/service/disk.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "tests/fuzz/service/require.h"

namespace persia {
namespace {

using Lock = std::unique_lock<std::mutex>;

Status NotFound(const std::string& path) {
  return Status(Code::kNotFound, Concat("no such file: ", path));
}

std::string NameOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool BeginsWith(const std::string& text, const char* prefix) {
  return text.compare(0, std::strlen(prefix), prefix) == 0;
}

class DiskReader : public ReadableFile {
 public:
  explicit DiskReader(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}

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

class ProcessFile : public WritableFile {
 public:
  ProcessFile(ProcessFiles* files, std::shared_ptr<DiskFile> file)
      : files_(*files), file_(std::move(file)) {}

  Status Append(Span<const uint8_t> bytes) override {
    return files_.Append(file_.get(), bytes);
  }
  Status Sync() override { return files_.SyncFile(file_.get()); }
  Status Close() override { return Status(); }

 private:
  ProcessFiles& files_;
  const std::shared_ptr<DiskFile> file_;
};

void Disk::LosePower(const std::string& folder) {
  Lock lock(mutex_);
  for (auto& [path, file] : files_) {
    if (path.compare(0, folder.size(), folder) != 0) continue;
    file->bytes.resize(std::min(file->synced, file->bytes.size()));
  }
}

bool Disk::Remove(const std::string& path) {
  Lock lock(mutex_);
  return files_.erase(path) > 0;
}

void ProcessFiles::DieAfter(uint64_t writes, uint32_t torn) {
  Lock lock(*disk_.mutex());
  writes_left_ = writes;
  torn_ = torn;
}

void ProcessFiles::Die() {
  Lock lock(*disk_.mutex());
  is_dead_ = true;
  changed_.notify_all();
}

bool ProcessFiles::dead() {
  Lock lock(*disk_.mutex());
  return is_dead_;
}

void ProcessFiles::HoldAt(Point point) {
  Lock lock(*disk_.mutex());
  holds_[point] = true;
}

bool ProcessFiles::WaitForHeld(Point point) {
  Lock lock(*disk_.mutex());
  changed_.wait_for(lock, HangTime(),
                    [&] { return held_[point] > 0 || is_dead_; });
  return held_[point] > 0;
}

void ProcessFiles::Release() {
  Lock lock(*disk_.mutex());
  std::fill(std::begin(holds_), std::end(holds_), false);
  changed_.notify_all();
}

uint64_t ProcessFiles::bases() {
  Lock lock(*disk_.mutex());
  return bases_;
}

bool ProcessFiles::WaitForBase(uint64_t more_than) {
  Lock lock(*disk_.mutex());
  changed_.wait_for(lock, HangTime(),
                    [&] { return bases_ > more_than || is_dead_; });
  return bases_ > more_than;
}

void ProcessFiles::StayAt(Point point, Lock* lock) {
  ++held_[point];
  changed_.notify_all();
  changed_.wait(*lock, [&] { return !holds_[point] || is_dead_; });
  --held_[point];
}

bool ProcessFiles::TakeWrite() {
  if (is_dead_) return false;
  if (writes_left_-- > 0) return true;
  is_dead_ = true;
  changed_.notify_all();
  return false;
}

Status ProcessFiles::Append(DiskFile* file, Span<const uint8_t> bytes) {
  Lock lock(*disk_.mutex());
  if (is_dead_) return Status();
  size_t count = bytes.size();
  if (!TakeWrite()) count = count * std::min(torn_, 256u) / 256;
  file->bytes.insert(file->bytes.end(), bytes.begin(), bytes.begin() + count);
  return Status();
}

Status ProcessFiles::SyncFile(DiskFile* file) {
  Lock lock(*disk_.mutex());
  if (TakeWrite()) file->synced = file->bytes.size();
  return Status();
}

std::shared_ptr<DiskFile> ProcessFiles::Find(const std::string& path) {
  const auto found = disk_.files().find(path);
  return found == disk_.files().end() ? nullptr : found->second;
}

Result<std::unique_ptr<WritableFile>> ProcessFiles::Create(
    const std::string& path) {
  Lock lock(*disk_.mutex());
  const std::string name = NameOf(path);
  if (BeginsWith(name, "base-")) StayAt(kBase, &lock);
  if (BeginsWith(name, "shard-")) StayAt(kCheckpoint, &lock);
  const auto file = std::make_shared<DiskFile>();
  if (TakeWrite()) disk_.files()[path] = file;
  return std::unique_ptr<WritableFile>(
      std::make_unique<ProcessFile>(this, file));
}

Result<std::unique_ptr<ReadableFile>> ProcessFiles::Open(
    const std::string& path) {
  Lock lock(*disk_.mutex());
  const auto file = Find(path);
  if (file == nullptr) return NotFound(path);
  return std::unique_ptr<ReadableFile>(
      std::make_unique<DiskReader>(file->bytes));
}

Result<uint64_t> ProcessFiles::Size(const std::string& path) {
  Lock lock(*disk_.mutex());
  const auto file = Find(path);
  if (file == nullptr) return NotFound(path);
  return uint64_t{file->bytes.size()};
}

Status ProcessFiles::Sync(const std::string& path) {
  Lock lock(*disk_.mutex());
  const auto file = Find(path);
  if (file == nullptr) return NotFound(path);
  if (TakeWrite()) file->synced = file->bytes.size();
  return Status();
}

Status ProcessFiles::Rename(const std::string& from, const std::string& to) {
  Lock lock(*disk_.mutex());
  if (!TakeWrite()) return Status();
  const auto file = Find(from);
  if (file == nullptr) return NotFound(from);
  disk_.files()[to] = file;
  disk_.files().erase(from);
  bases_ += BeginsWith(NameOf(to), "base-");
  changed_.notify_all();
  return Status();
}

Status ProcessFiles::Remove(const std::string& path) {
  Lock lock(*disk_.mutex());
  if (!is_dead_) disk_.files().erase(path);
  return Status();
}

Result<std::vector<std::string>> ProcessFiles::List(const std::string& folder) {
  Lock lock(*disk_.mutex());
  const std::string prefix = folder + "/";
  std::vector<std::string> names;
  auto at = disk_.files().lower_bound(prefix);
  for (; at != disk_.files().end() && BeginsWith(at->first, prefix.c_str());
       ++at) {
    names.push_back(at->first.substr(prefix.size()));
  }
  return names;
}

}  // namespace persia
