#include "cc/server/call.h"

#include <algorithm>
#include <new>
#include <utility>

#include "cc/wire/messages.h"

namespace persia {
namespace {

// Upper bound of a reply's bytes other than its rows.
constexpr uint64_t kHeadBytes = 256;

// Adds the server's own counters. A service that holds rows itself has an
// entry, which lacks what only the server counts; a service that forwards to
// other processes gets an entry for this process in front of theirs.
void AddServerCounters(const ServerState& server,
                       std::vector<ServiceStats>* processes) {
  const bool is_local =
      !processes->empty() && (processes->front().address.empty() ||
                              processes->front().address == "embedded");
  if (!is_local) processes->insert(processes->begin(), ServiceStats());
  ServiceStats& own = processes->front();
  own.address = server.address;
  own.bad_frames = server.bad_frames;
  own.refused_connections = server.refused_connections;
  own.connections = server.connections;
}

}  // namespace

bool IsRequest(MessageType type) {
  switch (type) {
    case MessageType::kCreateTable:
    case MessageType::kLookup:
    case MessageType::kUpdate:
    case MessageType::kStats:
    case MessageType::kExport:
    case MessageType::kAssign:
    case MessageType::kRemove:
    case MessageType::kDropTable:
    case MessageType::kChanges:
    case MessageType::kCheckpoint:
      return true;
    default:
      return false;
  }
}

Status Call::Prepare(const FrameHeader& header, const ServerOptions& options) {
  type_ = header.type;
  request_id_ = header.request_id;
  Clear();
  try {
    return Decode(options);
  } catch (const std::bad_alloc&) {
    return Status(
        Code::kResourceExhausted,
        Concat("no memory to decode a request of ", body_.size(), " bytes"));
  }
}

void Call::Clear() {
  reply_ = OutFrame();
  vectors_.Clear();
  stats_.processes = {};
  export_.page = RowPage();
  changes_.tables = {};
  checkpoint_ = CheckpointRequest();
}

void Call::Trim(uint64_t bytes) {
  Clear();
  body_.Trim(bytes);
  vectors_.Trim(bytes);
}

uint64_t Call::needed() const { return body_.size() + NeededForReply(); }

uint64_t Call::NeededForReply() const {
  switch (type_) {
    case MessageType::kLookup:
    case MessageType::kUpdate:
      return vectors_.needed() + kHeadBytes;
    case MessageType::kExport:
      return ExportRequest::kMostBytes;
    case MessageType::kChanges:
      return changes_.max_rows == 0 ? 0 : changes_.max_bytes;
    case MessageType::kCheckpoint:
      return checkpoint_.action == CheckpointAction::kReadFile
                 ? CheckpointRequest::kMaxFileBytes
                 : 0;
    default:
      return 0;
  }
}

uint64_t Call::held() const {
  // A lookup's reply refers to its vectors.
  const bool has_vectors =
      type_ == MessageType::kLookup || type_ == MessageType::kUpdate;
  const uint64_t reply_bytes =
      has_vectors ? vectors_.bytes() + reply_.head.size() : TotalBytes(reply_);
  return body_.size() + reply_bytes;
}

Status Call::Decode(const ServerOptions& options) {
  const ConstBytes body(body_.data(), body_.size());
  const Deadline deadline = DeadlineAfter(options.request_seconds);
  const CallVectors::Limits limits{options.max_body_bytes, options.request};
  switch (type_) {
    case MessageType::kCreateTable:
      create_table_ = CreateTableRequest();
      create_table_.deadline = deadline;
      return DecodeCreateTable(body, &create_table_);
    case MessageType::kLookup:
      lookup_.deadline = deadline;
      return vectors_.Decode(body, limits, &lookup_);
    case MessageType::kUpdate:
      update_.deadline = deadline;
      update_.counts = UpdateCounts();
      return vectors_.Decode(body, limits, &update_);
    case MessageType::kStats:
      stats_.deadline = deadline;
      if (body.empty()) return Status();
      return Status(Code::kDataLoss, "a Stats message has no body");
    case MessageType::kExport:
      export_.deadline = deadline;
      return DecodeExport(body, &export_);
    case MessageType::kAssign:
      assign_.deadline = deadline;
      PERSIA_RETURN_IF_ERROR(DecodeAssign(body, &assign_));
      return options.request.CheckIds(assign_.ids.size());
    case MessageType::kRemove:
      remove_.deadline = deadline;
      remove_.removed = 0;
      PERSIA_RETURN_IF_ERROR(DecodeRemove(body, &remove_));
      return options.request.CheckIds(remove_.ids.size());
    case MessageType::kDropTable:
      drop_.deadline = deadline;
      return DecodeDropTable(body, &drop_);
    case MessageType::kChanges:
      changes_.deadline = deadline;
      PERSIA_RETURN_IF_ERROR(DecodeChanges(body, &changes_));
      changes_.max_bytes = std::min(changes_.max_bytes, options.max_body_bytes);
      return Status();
    case MessageType::kCheckpoint:
      checkpoint_ = CheckpointRequest();
      checkpoint_.deadline = deadline;
      return DecodeCheckpoint(body, &checkpoint_);
    default:
      return Status(Code::kInternal, "this message is no request");
  }
}

Status Call::TakeMemory() {
  switch (type_) {
    case MessageType::kLookup:
      return vectors_.TakeMemory(&lookup_);
    case MessageType::kUpdate:
      return vectors_.TakeMemory(&update_);
    default:
      return Status();
  }
}

void Call::Start(EmbeddingService* service, DoneCallback done) {
  const Status taken = TakeMemory();
  if (!taken.ok()) return done(taken);
  switch (type_) {
    case MessageType::kCreateTable:
      return service->CreateTable(&create_table_, std::move(done));
    case MessageType::kLookup:
      return service->Lookup(&lookup_, std::move(done));
    case MessageType::kUpdate:
      return service->Update(&update_, std::move(done));
    case MessageType::kExport:
      return service->Export(&export_, std::move(done));
    case MessageType::kAssign:
      return service->Assign(&assign_, std::move(done));
    case MessageType::kRemove:
      return service->Remove(&remove_, std::move(done));
    case MessageType::kDropTable:
      return service->DropTable(&drop_, std::move(done));
    case MessageType::kChanges:
      return service->Changes(&changes_, std::move(done));
    case MessageType::kCheckpoint:
      return service->Checkpoint(&checkpoint_, std::move(done));
    default:
      return service->Stats(&stats_, std::move(done));
  }
}

void Call::Finish(const Status& status, const ServerState& server) {
  if (!status.ok()) return Refuse(request_id_, status);
  reply_ = EncodeReply(server);
}

void Call::Refuse(uint64_t request_id, const Status& why) {
  Trim(0);
  request_id_ = request_id;
  reply_ = EncodeError(request_id, why);
}

void Call::Answer(OutFrame reply) { reply_ = std::move(reply); }

// A page's length is known only once the tables have filled it.
OutFrame Call::FitRows(OutFrame reply, uint64_t max_body_bytes) const {
  const uint64_t bytes = BodyBytes(reply);
  if (bytes <= max_body_bytes) return reply;
  return EncodeError(
      request_id_,
      Status(Code::kResourceExhausted,
             Concat("a page of rows has ", bytes, " bytes, over the limit of ",
                    max_body_bytes, ": ask for fewer rows at once")));
}

OutFrame Call::EncodeReply(const ServerState& server) {
  switch (type_) {
    case MessageType::kCreateTable:
      return EncodeCreateTableReply(request_id_, create_table_);
    case MessageType::kLookup:
      return vectors_.EncodeReply(request_id_, lookup_);
    case MessageType::kUpdate:
      return EncodeUpdateReply(request_id_, update_.counts);
    case MessageType::kExport:
      return FitRows(EncodeExportReply(request_id_, export_),
                     server.options.max_body_bytes);
    case MessageType::kAssign:
      return EncodeAssignReply(request_id_);
    case MessageType::kRemove:
      return EncodeRemoveReply(request_id_, remove_.removed);
    case MessageType::kDropTable:
      return EncodeDropTableReply(request_id_);
    case MessageType::kChanges:
      return FitRows(EncodeChangesReply(request_id_, changes_),
                     server.options.max_body_bytes);
    case MessageType::kCheckpoint:
      return EncodeCheckpointReply(request_id_, checkpoint_);
    default:
      AddServerCounters(server, &stats_.processes);
      return EncodeStatsReply(request_id_, stats_.processes);
  }
}

}  // namespace persia
