#include "cc/capi/callback_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cc/files/all_files.h"

// Collects the file names that the storage library's `list` callback adds.
struct persia_file_names {
  std::vector<std::string> names;
};

namespace persia {
namespace {

constexpr size_t kGatheredBytes = size_t{8} << 20;

// Calls `function` of the storage library with `args` and a buffer, into which
// the library writes an error message if the call fails.
template <typename Function, typename... Args>
Status Call(const char* what, const std::string& path, Function function,
            Args... args) {
  std::array<char, PERSIA_FILE_MESSAGE_BYTES> message = {};
  const int code = function(args..., message.data());
  if (code == 0) return Status();
  message.back() = '\0';
  return Status(static_cast<Code>(code),
                Concat("cannot ", what, " ", path, ": ", message.data()));
}

Status NoSuchThing(const char* what, const std::string& path) {
  return Status(
      Code::kFailedPrecondition,
      Concat("cannot ", what, " ", path, ": only local files support this"));
}

// Owns a file handle that the storage library's `create` or `open` returned.
class Handle {
 public:
  explicit Handle(const persia_files& calls) : calls_(calls) {}
  ~Handle() {
    if (is_open_) calls_.release(number_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  template <typename Function>
  Status Open(const char* what, const std::string& path, Function function) {
    PERSIA_RETURN_IF_ERROR(Call(what, path, function, path.c_str(), &number_));
    is_open_ = true;
    return Status();
  }

  const persia_files& calls() const { return calls_; }
  uint64_t number() const { return number_; }

 private:
  const persia_files calls_;
  uint64_t number_ = 0;
  bool is_open_ = false;
};

class CallbackWritableFile : public WritableFile {
 public:
  CallbackWritableFile(std::string path, const persia_files& calls)
      : path_(std::move(path)), file_(calls) {}

  Status Create() { return file_.Open("create", path_, file_.calls().create); }

  Status Append(Span<const uint8_t> bytes) override {
    while (!bytes.empty()) {
      const size_t count =
          std::min(bytes.size(), kGatheredBytes - gathered_.size());
      gathered_.insert(gathered_.end(), bytes.data(), bytes.data() + count);
      bytes = bytes.subspan(count);
      if (gathered_.size() == kGatheredBytes) PERSIA_RETURN_IF_ERROR(Flush());
    }
    return Status();
  }

  Status Sync() override { return NoSuchThing("sync", path_); }

  Status Close() override {
    PERSIA_RETURN_IF_ERROR(Flush());
    return Call("finish", path_, file_.calls().finish, file_.number());
  }

  Status Finish() override { return Close(); }

 private:
  Status Flush() {
    if (gathered_.empty()) return Status();
    const Status status =
        Call("write", path_, file_.calls().append, file_.number(),
             gathered_.data(), static_cast<uint64_t>(gathered_.size()));
    gathered_.clear();
    return status;
  }

  const std::string path_;
  Handle file_;
  std::vector<uint8_t> gathered_;
};

class CallbackReadableFile : public ReadableFile {
 public:
  CallbackReadableFile(std::string path, const persia_files& calls)
      : path_(std::move(path)), file_(calls) {}

  Status Open() { return file_.Open("open", path_, file_.calls().open); }

  Result<size_t> Read(Span<uint8_t> bytes) override {
    size_t done = 0;
    while (done < bytes.size()) {
      uint64_t got = 0;
      PERSIA_RETURN_IF_ERROR(Call("read", path_, file_.calls().read,
                                  file_.number(), bytes.data() + done,
                                  static_cast<uint64_t>(bytes.size() - done),
                                  &got));
      if (got == 0) break;
      if (got > bytes.size() - done) {
        return Status(Code::kInternal,
                      Concat("cannot read ", path_, ": the storage's library ",
                             "returned more bytes than were requested"));
      }
      done += got;
    }
    return done;
  }

 private:
  const std::string path_;
  Handle file_;
};

}  // namespace

Result<std::unique_ptr<WritableFile>> CallbackFiles::Create(
    const std::string& path) {
  auto file = std::make_unique<CallbackWritableFile>(path, calls_);
  PERSIA_RETURN_IF_ERROR(file->Create());
  return std::unique_ptr<WritableFile>(std::move(file));
}

Result<std::unique_ptr<ReadableFile>> CallbackFiles::Open(
    const std::string& path) {
  auto file = std::make_unique<CallbackReadableFile>(path, calls_);
  PERSIA_RETURN_IF_ERROR(file->Open());
  return std::unique_ptr<ReadableFile>(std::move(file));
}

Result<uint64_t> CallbackFiles::Size(const std::string& path) {
  uint64_t bytes = 0;
  PERSIA_RETURN_IF_ERROR(
      Call("look at", path, calls_.size, path.c_str(), &bytes));
  return bytes;
}

Status CallbackFiles::WriteWhole(const std::string& path,
                                 Span<const uint8_t> bytes) {
  return Call("write", path, calls_.write_whole, path.c_str(), bytes.data(),
              static_cast<uint64_t>(bytes.size()));
}

Status CallbackFiles::Sync(const std::string& path) {
  return NoSuchThing("sync", path);
}

Status CallbackFiles::Rename(const std::string& from, const std::string&) {
  return NoSuchThing("rename", from);
}

Status CallbackFiles::Remove(const std::string& path) {
  return Call("remove", path, calls_.remove, path.c_str());
}

Result<std::vector<std::string>> CallbackFiles::List(
    const std::string& folder) {
  persia_file_names found;
  PERSIA_RETURN_IF_ERROR(
      Call("list", folder, calls_.list, folder.c_str(), &found));
  std::sort(found.names.begin(), found.names.end());
  return std::move(found.names);
}

Status CallbackFiles::MakeFolder(const std::string& folder) {
  return Call("make folder", folder, calls_.make_folder, folder.c_str());
}

Status CallbackFiles::RemoveFolder(const std::string& folder) {
  return Call("remove folder", folder, calls_.remove_folder, folder.c_str());
}

}  // namespace persia

void persia_file_names_add(persia_file_names* names, const char* name) {
  names->names.emplace_back(name);
}

void persia_set_files(const persia_files* files) {
  // The previous CallbackFiles is never freed, because other threads may still
  // be using it.
  persia::SetUrlFiles(new persia::CallbackFiles(*files));
}
