#include "cc/log/segments.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cc/files/url.h"

namespace persia {
namespace {

constexpr char kPrefix[] = "log-";
constexpr size_t kPrefixSize = sizeof(kPrefix) - 1;
// Enough digits for any uint64. All names have this many, so that they sort as
// numbers.
constexpr size_t kDigits = 20;
// The name of a segment that has no header yet. If a crash leaves such a file,
// the next CreateSegment replaces it.
constexpr char kUnfinishedName[] = "unfinished-log-segment";
constexpr char kAsidePrefix[] = "lost-";

std::string PathOf(const LogPlace& place, const std::string& name) {
  return place.folder + "/" + name;
}

std::string SegmentName(uint64_t number) {
  const std::string digits = std::to_string(number);
  return kPrefix + std::string(kDigits - digits.size(), '0') + digits;
}

bool IsSegmentName(const std::string& name) {
  return name.size() == kPrefixSize + kDigits &&
         name.compare(0, kPrefixSize, kPrefix) == 0 &&
         name.find_first_not_of("0123456789", kPrefixSize) == std::string::npos;
}

// Returns `status` with the file's path in front of its message.
Status At(const std::string& path, const Status& status) {
  return Status(status.code(), Concat(path, ": ", status.message()));
}

Result<SegmentHeader> ReadHeader(FileSystem* files, const std::string& path) {
  auto file = files->Open(path);
  if (!file.ok()) return file.status();
  std::vector<uint8_t> bytes(kSegmentHeaderBytes);
  const Result<size_t> size = (*file)->Read(bytes);
  if (!size.ok()) return size.status();
  auto header = DecodeSegmentHeader(Span<const uint8_t>(bytes.data(), *size));
  return header.ok() ? header : At(path, header.status());
}

Result<Segment> OpenSegment(const LogPlace& place, const std::string& name) {
  const std::string path = PathOf(place, name);
  const auto header = ReadHeader(place.files, path);
  if (!header.ok()) return header.status();
  if (SegmentName(header->number) != name) {
    return At(path,
              Status(Code::kDataLoss,
                     Concat("its header says that its name was ",
                            SegmentName(header->number),
                            ": if it was renamed, give it this name again")));
  }
  return Segment{path, header->number, header->first_position, header->sync};
}

Status WriteHeader(const SegmentHeader& header, WritableFile* file) {
  std::vector<uint8_t> bytes(kSegmentHeaderBytes);
  EncodeSegmentHeader(
      header, Span<uint8_t, kSegmentHeaderBytes>(bytes.data(), bytes.size()));
  PERSIA_RETURN_IF_ERROR(file->Append(bytes));
  return file->Sync();
}

}  // namespace

Result<std::vector<Segment>> ListSegments(const LogPlace& place) {
  if (IsUrl(place.folder)) {
    return InvalidArgument(
        "an update log must be in a folder of this machine, received \"",
        place.folder, "\"");
  }
  const auto names = place.files->List(place.folder);
  if (!names.ok()) return names.status();
  std::vector<Segment> segments;
  for (const std::string& name : *names) {
    if (!IsSegmentName(name)) continue;
    auto segment = OpenSegment(place, name);
    if (!segment.ok()) return segment.status();
    segments.push_back(std::move(*segment));
  }
  return segments;
}

Result<NewSegment> CreateSegment(const LogPlace& place, uint64_t number,
                                 uint64_t first_position, SyncMode sync) {
  const std::string unfinished = PathOf(place, kUnfinishedName);
  auto file = place.files->Create(unfinished);
  if (!file.ok()) return file.status();
  const SegmentHeader header{number, first_position, sync};
  PERSIA_RETURN_IF_ERROR(WriteHeader(header, file->get()));
  const std::string path = PathOf(place, SegmentName(number));
  PERSIA_RETURN_IF_ERROR(place.files->Rename(unfinished, path));
  return NewSegment{{path, number, first_position, sync}, std::move(*file)};
}

Status RemoveSegmentsBefore(const LogPlace& place, uint64_t position) {
  const auto segments = ListSegments(place);
  if (!segments.ok()) return segments.status();
  for (size_t i = 0; i + 1 < segments->size(); ++i) {
    if ((*segments)[i + 1].first_position > position) break;
    PERSIA_RETURN_IF_ERROR(place.files->Remove((*segments)[i].path));
  }
  return Status();
}

Status SetAside(const LogPlace& place, const std::vector<Segment>& segments) {
  for (const Segment& segment : segments) {
    const std::string aside = kAsidePrefix + SegmentName(segment.number);
    PERSIA_RETURN_IF_ERROR(
        place.files->Rename(segment.path, PathOf(place, aside)));
  }
  return Status();
}

}  // namespace persia
