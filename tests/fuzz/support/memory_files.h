// MemoryFiles: files in memory for code that needs a FileSystem. Not
// thread-safe.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_MEMORY_FILES_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_MEMORY_FILES_H_

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cc/files/file_system.h"

namespace persia {

class MemoryFiles : public FileSystem {
 public:
  using Bytes = std::vector<uint8_t>;

  Bytes& operator[](const std::string& path) { return files_[path]; }

  Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) override {
    Bytes* const bytes = &files_[path];
    bytes->clear();
    return std::unique_ptr<WritableFile>(std::make_unique<Writer>(bytes));
  }

  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return Status(Code::kNotFound, path);
    return std::unique_ptr<ReadableFile>(
        std::make_unique<Reader>(found->second));
  }

  Result<uint64_t> Size(const std::string& path) override {
    return uint64_t{files_[path].size()};
  }
  Status Sync(const std::string&) override { return Status(); }
  Status Rename(const std::string& from, const std::string& to) override {
    files_[to] = std::move(files_[from]);
    return Remove(from);
  }
  Status Remove(const std::string& path) override {
    files_.erase(path);
    return Status();
  }
  Result<std::vector<std::string>> List(const std::string&) override {
    return std::vector<std::string>();
  }
  Status MakeFolder(const std::string&) override { return Status(); }
  Status RemoveFolder(const std::string&) override { return Status(); }

 private:
  class Writer : public WritableFile {
   public:
    explicit Writer(Bytes* bytes) : bytes_(*bytes) {}
    Status Append(Span<const uint8_t> bytes) override {
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
      return Status();
    }
    Status Sync() override { return Status(); }
    Status Close() override { return Status(); }

   private:
    Bytes& bytes_;
  };

  class Reader : public ReadableFile {
   public:
    explicit Reader(const Bytes& bytes) : bytes_(bytes) {}
    Result<size_t> Read(Span<uint8_t> bytes) override {
      const size_t count = std::min(bytes.size(), bytes_.size() - at_);
      if (count > 0) std::memcpy(bytes.data(), bytes_.data() + at_, count);
      at_ += count;
      return count;
    }

   private:
    const Bytes& bytes_;
    size_t at_ = 0;
  };

  std::map<std::string, Bytes> files_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_MEMORY_FILES_H_
