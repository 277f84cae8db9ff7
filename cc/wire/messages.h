// Messages: the bodies of frames. fields.h says how the fields of a message are
// listed in code.
//
// Encoders write the fixed parts into frame->head (after room for the header)
// and refer to large arrays in place: the arrays must outlive the frame.
// Decoders check every length against the body before they use it, and return
// kDataLoss for a body that is not exactly one message. The spans that they
// return point into the body, which must be 8-byte aligned.
//
// Lookup, its reply and Update are in row_messages.h, and the handshake's
// messages in handshake_messages.h.

#ifndef PERSIA_CC_WIRE_MESSAGES_H_
#define PERSIA_CC_WIRE_MESSAGES_H_

#include <cstdint>

#include "cc/base/slot_set.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/fields.h"
#include "cc/wire/frame.h"
#include "cc/wire/message_type.h"
#include "cc/wire/request_limits.h"
#include "cc/wire/row_messages.h"

namespace persia {

// Defines how a request and its reply are encoded. A reply carries the
// request's outputs. Deadlines are not sent: each side sets its own.
template <typename Request>
struct Message;

// Base of messages: by default a reply has no fields and is small.
struct PlainMessage {
  template <typename Visit, typename Request>
  static void ReplyFields(Visit&, Request&) {}

  // The maximum size of a large reply; 0 for messages with small replies.
  template <typename Request>
  static uint64_t MostReplyBytes(const Request&) {
    return 0;
  }
};

template <typename Request>
OutFrame EncodeRequest(uint64_t request_id, const Request& request) {
  FieldWriter writer;
  Message<Request>::Fields(writer, request);
  return writer.Seal(kRequestType<Request>, request_id);
}

template <typename Request>
Status DecodeRequest(ConstBytes body, Request* request,
                     const RequestLimits& limits = {}) {
  FieldReader reader(body, limits);
  Message<Request>::Fields(reader, *request);
  return reader.Finish(Message<Request>::kName);
}

template <typename Request>
OutFrame EncodeReply(uint64_t request_id, const Request& request) {
  FieldWriter writer;
  Message<Request>::ReplyFields(writer, request);
  return writer.Seal(kReplyType<Request>, request_id);
}

// Decodes a reply into the request's outputs.
template <typename Request>
Status DecodeReply(ConstBytes body, Request* request) {
  FieldReader reader(body);
  Message<Request>::ReplyFields(reader, *request);
  return reader.Finish(Message<Request>::kName, "Reply");
}

// Encodes an Error: u32 code, u32 bytes of the topology, text message, and the
// encoded topology of the shard, if the code is kMoved and it has one.
OutFrame EncodeError(uint64_t request_id, const Status& status,
                     ConstBytes topology = {});
// The Status that an Error body carries, or kDataLoss. Sets `*topology`, unless
// it is null, to the topology in the body.
Status DecodeError(ConstBytes body, ConstBytes* topology = nullptr);

template <>
struct Message<CreateTableRequest> : PlainMessage {
  static constexpr char kName[] = "CreateTable";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.identity, request.step, request.replaces_optimizer);
    visit.Expect([&] {
      return CheckEnum(request.step, {}, kLastOpeningStep,
                       "a table's creation has the unknown step ");
    });
    visit(request.config);
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.rows, request.generation, request.identity, request.state,
          request.takes_bags, request.optimizer);
    visit.Expect([&] {
      return CheckEnum(request.state, {}, kLastTableState,
                       "a table has the unknown state ", Code::kDataLoss);
    });
  }
};

template <>
struct FieldsOf<TableStats> {
  template <typename Visit, typename Table>
  static void Fields(Visit& visit, Table& table) {
    visit(table.name, table.dim, kReserved);
    table.VisitCounters(
        [&visit](const char*, auto& counter) { visit(counter); });
  }
};

template <>
struct FieldsOf<RequestStats> {
  template <typename Visit, typename Stats>
  static void Fields(Visit& visit, Stats& stats) {
    visit(stats.request, stats.failed, stats.latency.nanoseconds,
          stats.latency.buckets);
  }
};

template <>
struct FieldsOf<TrainerStats> {
  template <typename Visit, typename Stats>
  static void Fields(Visit& visit, Stats& stats) {
    visit(stats.program);
    stats.VisitCounters(
        [&visit](const char*, auto& counter) { visit(counter); });
  }
};

template <>
struct FieldsOf<ServiceStats> {
  template <typename Visit, typename Process>
  static void Fields(Visit& visit, Process& process) {
    visit(process.address, process.role);
    process.VisitCounters(
        [&visit](const char*, auto& counter) { visit(counter); });
    visit(process.source, process.behind_millis, process.tables,
          process.requests, process.trainers);
  }
};

template <>
struct Message<StatsRequest> : PlainMessage {
  static constexpr char kName[] = "Stats";

  template <typename Visit, typename Request>
  static void Fields(Visit&, Request&) {}

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.processes);
  }
};

// Only an Update's reply is defined here; row_messages.h encodes the request.
template <>
struct Message<UpdateRequest> : PlainMessage {
  static constexpr char kName[] = "Update";

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.counts.applied, request.counts.nonfinite,
          request.counts.absent);
  }
};

// The fields of whole rows: an array of ids, and arrays of each id's weights
// and optimizer state.
template <typename Visit, typename Ids, typename Floats>
void RowFields(Visit& visit, uint32_t dim, uint32_t state_size, Ids& ids,
               Floats& weights, Floats& state) {
  // No optimizer has this much state. The limit keeps the products below from
  // overflowing: the ids are in memory, so there are fewer than 2^43.
  constexpr uint32_t kMaxStateSize = 16 * kMaxDim;
  visit.Count(ids);
  visit.Check([&] {
    PERSIA_RETURN_IF_ERROR(CheckDim(dim));
    if (state_size <= kMaxStateSize) return Status();
    return InvalidArgument("state size must be at most ", kMaxStateSize,
                           ", received ", state_size);
  });
  visit.Array(ids);
  visit.Array(weights, uint64_t{ids.size()} * dim);
  visit.Array(state, uint64_t{ids.size()} * state_size);
}

template <>
struct Message<ExportRequest> : PlainMessage {
  static constexpr char kName[] = "Export";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.table, request.cursor.position, request.cursor.owners,
          request.cursor.shard, kReserved, request.max_rows, request.route);
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    auto& page = request.page;
    visit(request.cursor.position, request.cursor.owners, request.cursor.shard,
          request.dim, request.state_size, page.use_time);
    visit.Check([&] {
      return CheckEnum(page.use_time, {}, UseTime::kSeconds,
                       "a page of rows has ages in the unknown unit ",
                       Code::kDataLoss);
    });
    RowFields(visit, request.dim, request.state_size, page.ids, page.weights,
              page.state);
    // `uses` has one element per row, or none at all.
    const bool has_uses = page.use_time != UseTime::kNone;
    visit.Array(page.uses, has_uses ? page.ids.size() : 0);
  }

  static uint64_t MostReplyBytes(const ExportRequest&) {
    return ExportRequest::kMostBytes;
  }
};

template <>
struct Message<AssignRequest> : PlainMessage {
  static constexpr char kName[] = "Assign";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.table, request.route, request.dim, request.state_size);
    RowFields(visit, request.dim, request.state_size, request.ids,
              request.weights, request.state);
    visit.Limit(&RequestLimits::CheckIds, request.ids.size());
  }
};

template <>
struct Message<RemoveRequest> : PlainMessage {
  static constexpr char kName[] = "Remove";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.table, request.route);
    visit.Count(request.ids);
    visit.Array(request.ids);
    visit.Limit(&RequestLimits::CheckIds, request.ids.size());
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.removed);
  }
};

template <>
struct Message<DropTableRequest> : PlainMessage {
  static constexpr char kName[] = "DropTable";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.table, request.drop_id, request.stays, kReserved);
  }
};

// Lists only the lengths of the arrays; Message<ChangesRequest> lists the
// arrays.
template <>
struct FieldsOf<TableChanges> {
  template <typename Visit, typename Table>
  static void Fields(Visit& visit, Table& table) {
    visit(table.config);
    visit.Expect([&] { return table.config.Validate(); });
    visit.Count(table.rows.ids);
    visit.Count(table.rows.erased);
    visit(table.fate, table.row_bytes, table.time, table.identity.is_complete,
          table.identity.number);
    visit.Expect([&] {
      return CheckEnum(table.fate, {}, kLastFate,
                       "a table has the unknown fate ");
    });
  }
};

template <>
struct FieldsOf<SlotsOfEpoch> {
  template <typename Visit, typename Slots>
  static void Fields(Visit& visit, Slots& slots) {
    visit(slots.epoch, kReserved);
    visit.Slots(slots.slots);
  }
};

template <>
struct Message<ChangesRequest> : PlainMessage {
  static constexpr char kName[] = "Changes";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    auto& position = request.position;
    visit(position.follower, position.epoch, position.version,
          position.base_save, request.max_rows, request.max_bytes,
          request.member, request.shard, request.whole_rows);
    visit.Slots(request.slots);
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.position.epoch, request.position.version,
          request.position.base_save, request.requests, request.begins,
          request.complete, request.only_changes, kReserved);
    visit(request.held.cluster, request.held.epochs);
    visit.Slots(request.fresh);
    visit(request.tables);
    for (auto& table : request.tables) {
      auto& rows = table.rows;
      visit.Array(rows.ids);
      visit.Array(rows.erased);
      // The product does not overflow: a body has fewer than 2^27 ids.
      const uint64_t count = rows.ids.size();
      const bool whole = table.row_bytes != 0;
      visit.Array(rows.weights, whole ? 0 : count * table.config.dim);
      visit.Pad();
      visit.Array(rows.bytes, count * table.row_bytes);
      visit.Pad();
      visit.Expect([&] {
        const bool has_rows = !rows.ids.empty() || !rows.erased.empty();
        if (table.fate != TableFate::kDropped || !has_rows) return Status();
        return InvalidArgument("a table that was dropped has rows");
      });
    }
    visit.Expect([&] {
      return CheckEnum(request.begins, {}, kLastBegins,
                       "a reply with changes has the unknown beginning ");
    });
  }

  static uint64_t MostReplyBytes(const ChangesRequest& request) {
    return request.max_rows == 0 ? 0 : request.max_bytes;
  }
};

template <>
struct FieldsOf<CheckpointProgress> {
  template <typename Visit, typename Progress>
  static void Fields(Visit& visit, Progress& progress) {
    visit(progress.state);
    visit.CodeOf(progress.outcome);
    visit(progress.rows, progress.total_rows, progress.bytes, progress.base_id,
          progress.file);
    visit.MessageOf(progress.outcome);
    visit.CodeOf(progress.base_outcome);
    visit(kReserved, progress.needed);
    visit.MessageOf(progress.base_outcome);
    visit.Slots(progress.slots);
  }
};

template <>
struct Message<CheckpointRequest> : PlainMessage {
  static constexpr char kName[] = "Checkpoint";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.action, kReserved, request.save_id, request.parent_id,
          request.generation, request.folder, request.files);
    visit.Expect([&] {
      return CheckEnum(request.action, CheckpointAction::kSave,
                       kLastCheckpointAction, "unknown checkpoint action ");
    });
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.shards);
  }
};

template <>
struct Message<FilesRequest> : PlainMessage {
  static constexpr char kName[] = "Files";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.action, kReserved, request.folder, request.files);
    visit.Count(request.contents);
    visit.Array(request.contents);
    visit.Expect([&] { return Check(request); });
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.names);
    visit.Count(request.contents);
    visit.Array(request.contents);
  }

  static uint64_t MostReplyBytes(const FilesRequest& request) {
    return request.action == FilesAction::kRead ? FilesRequest::kMostBytes : 0;
  }

 private:
  static Status Check(const FilesRequest& request) {
    PERSIA_RETURN_IF_ERROR(CheckEnum(request.action, FilesAction::kWrite,
                                     kLastFilesAction,
                                     "unknown action on files "));
    if (request.contents.size() <= FilesRequest::kMostBytes) return Status();
    return InvalidArgument("contents must be at most ",
                           FilesRequest::kMostBytes, " bytes, received ",
                           request.contents.size());
  }
};

template <>
struct Message<TopologyRequest> : PlainMessage {
  static constexpr char kName[] = "Topology";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.founds, kReserved);
    visit.Count(request.told);
    visit.Array(request.told);
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.member);
    visit.Count(request.topology);
    visit.Array(request.topology);
  }

  static uint64_t MostReplyBytes(const TopologyRequest&) {
    return TopologyRequest::kMostBytes;
  }
};

}  // namespace persia

// Defines more messages; not for others to include.
#include "cc/wire/moving_messages.h"

#endif  // PERSIA_CC_WIRE_MESSAGES_H_
