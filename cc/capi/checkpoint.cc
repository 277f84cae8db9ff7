#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/capi/error.h"
#include "cc/capi/persia.h"
#include "cc/checkpoint/compactor.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/files/all_files.h"
#include "cc/pipeline/session.h"

using persia::ReportStatus;

struct persia_checkpoint_reply {
  persia::CheckpointRequest request;
};

struct persia_files_reply {
  persia::FilesRequest request;
};

namespace persia {
namespace {

template <typename Strings>
std::vector<std::string> FilesOf(const Strings& from) {
  return {from.files, from.files + from.file_count};
}

CheckpointRequest RequestOf(const persia_checkpoint_request& from) {
  CheckpointRequest request;
  request.action = static_cast<CheckpointAction>(from.action);
  request.save_id = from.save_id;
  request.parent_id = from.parent_id;
  request.generation = from.generation;
  request.folder = from.folder;
  request.files = FilesOf(from);
  return request;
}

FilesRequest RequestOf(const persia_files_request& from) {
  FilesRequest request;
  request.action = static_cast<FilesAction>(from.action);
  request.folder = from.folder;
  request.files = FilesOf(from);
  if (from.contents_size > 0) {
    request.contents.assign(from.contents, from.contents + from.contents_size);
  }
  return request;
}

template <typename From, typename Reply>
int SendRequest(const char* name, const From& from, Reply** reply) {
  auto session = FindSession(name);
  if (!session.ok()) return ReportStatus(session.status());
  auto made = std::make_unique<Reply>();
  made->request = RequestOf(from);
  const Status status = (*session)->Call(&made->request);
  if (status.ok()) *reply = made.release();
  return ReportStatus(status);
}

// Sets an array with a bit per slot.
void CopyWords(const SlotSet& slots, uint64_t* words) {
  std::fill_n(words, kSlots / 64, 0);
  const std::vector<uint64_t> set = ToWords(slots);
  std::copy(set.begin(), set.end(), words);
}

// Counts the tables, rows and erased ids in a checkpoint file without storing
// them.
class Counter : public ShardVisitor {
 public:
  explicit Counter(persia_shard_file* counts) : counts_(*counts) {}

  Status OnHeader(const ShardHeader& header) override {
    counts_.save_id = header.save_id;
    counts_.parent_id = header.parent_id;
    counts_.member = header.member;
    CopyWords(header.slots, counts_.slots);
    return Status();
  }
  Status OnTable(const TableHead&) override {
    ++counts_.tables;
    return Status();
  }
  Status OnErased(Span<const int64_t> ids) override {
    counts_.erased += ids.size();
    return Status();
  }
  Status OnRows(Span<const int64_t> ids, Span<const std::byte>) override {
    counts_.rows += ids.size();
    return Status();
  }
  Status OnClients(const std::vector<ClientWindow>&) override {
    return Status();
  }

 private:
  persia_shard_file& counts_;
};

}  // namespace
}  // namespace persia

int persia_session_checkpoint(const char* name,
                              const persia_checkpoint_request* request,
                              persia_checkpoint_reply** reply) {
  return persia::SendRequest(name, *request, reply);
}

int persia_checkpoint_shards(const persia_checkpoint_reply* reply) {
  return static_cast<int>(reply->request.shards.size());
}

void persia_checkpoint_shard(const persia_checkpoint_reply* reply, int shard,
                             persia_checkpoint_progress* out) {
  const persia::CheckpointProgress& from = reply->request.shards[shard];
  out->state = static_cast<int>(from.state);
  out->code = static_cast<int>(from.outcome.code());
  out->message = from.outcome.message().c_str();
  out->file = from.file.c_str();
  out->rows = from.rows;
  out->total_rows = from.total_rows;
  out->bytes = from.bytes;
  out->base_id = from.base_id;
  out->needed = from.needed.c_str();
  out->base_code = static_cast<int>(from.base_outcome.code());
  out->base_message = from.base_outcome.message().c_str();
  persia::CopyWords(from.slots, out->slots);
}

void persia_checkpoint_free(persia_checkpoint_reply* reply) { delete reply; }

int persia_session_files(const char* name, const persia_files_request* request,
                         persia_files_reply** reply) {
  return persia::SendRequest(name, *request, reply);
}

int persia_files_names(const persia_files_reply* reply) {
  return static_cast<int>(reply->request.names.size());
}

const char* persia_files_name(const persia_files_reply* reply, int name) {
  return reply->request.names[name].c_str();
}

const uint8_t* persia_files_contents(const persia_files_reply* reply,
                                     uint64_t* size) {
  *size = reply->request.contents.size();
  return reply->request.contents.data();
}

void persia_files_free(persia_files_reply* reply) { delete reply; }

int persia_checkpoint_read_file(const char* path, persia_shard_file* out) {
  *out = persia_shard_file();
  persia::Counter counter(out);
  persia::ShardProgress progress;
  return ReportStatus(
      persia::ReadShard(persia::AllFiles(), path, &counter, &progress));
}

int persia_checkpoint_compact_files(const char* const* paths, int count,
                                    uint64_t save_id, const char* out) {
  persia::ShardProgress progress;
  return ReportStatus(persia::CompactShard(
      persia::AllFiles(), {paths, paths + count}, save_id, out, {}, &progress));
}
