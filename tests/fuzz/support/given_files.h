// GivenFiles: a read-only FileSystem with a few files of any bytes.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_GIVEN_FILES_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_GIVEN_FILES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cc/files/file_system.h"

namespace persia {

// By path.
using GivenBytes = std::map<std::string, std::vector<uint8_t>>;

class GivenFiles : public FileSystem {
 public:
  explicit GivenFiles(GivenBytes files) : files_(std::move(files)) {}

  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return ThereIsNone();
    return std::unique_ptr<ReadableFile>(
        std::make_unique<Reader>(&found->second));
  }
  Result<uint64_t> Size(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return ThereIsNone();
    return uint64_t{found->second.size()};
  }
  Result<std::vector<std::string>> List(const std::string& folder) override {
    std::vector<std::string> names;
    for (const auto& [path, bytes] : files_) {
      names.push_back(path.substr(folder.size() + 1));
    }
    return names;
  }

  Result<std::unique_ptr<WritableFile>> Create(const std::string&) override {
    return ReadOnly();
  }
  Status Sync(const std::string&) override { return ReadOnly(); }
  Status Rename(const std::string&, const std::string&) override {
    return ReadOnly();
  }
  Status Remove(const std::string&) override { return ReadOnly(); }
  Status MakeFolder(const std::string&) override { return ReadOnly(); }
  Status RemoveFolder(const std::string&) override { return ReadOnly(); }

 private:
  class Reader : public ReadableFile {
   public:
    explicit Reader(const std::vector<uint8_t>* bytes) : bytes_(*bytes) {}

    Result<size_t> Read(Span<uint8_t> bytes) override {
      const size_t count = std::min(bytes.size(), bytes_.size() - at_);
      std::copy_n(bytes_.data() + at_, count, bytes.data());
      at_ += count;
      return count;
    }

   private:
    const std::vector<uint8_t>& bytes_;
    size_t at_ = 0;
  };

  static Status ThereIsNone() {
    return Status(Code::kNotFound, "there is no such file");
  }
  static Status ReadOnly() {
    return Status(Code::kUnimplemented, "these files are only read");
  }

  const GivenBytes files_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_GIVEN_FILES_H_
