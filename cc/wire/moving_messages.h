// The messages by which slots move from shard to shard, HandOver and Move, by
// which a standby copies a shard, and by which slots' loads are read. Part of
// messages.h, which includes this file.

#ifndef PERSIA_CC_WIRE_MOVING_MESSAGES_H_
#define PERSIA_CC_WIRE_MOVING_MESSAGES_H_

#include <cstdint>

#include "cc/service/embedding_service.h"
#include "cc/wire/fields.h"
#include "cc/wire/messages.h"

namespace persia {

template <>
struct FieldsOf<ClientWindow> {
  template <typename Visit, typename Window>
  static void Fields(Visit& visit, Window& window) {
    visit(window.client, window.highest);
    for (auto& word : window.applied) visit(word);
  }
};

template <>
struct FieldsOf<SlotsApplied> {
  template <typename Visit, typename Applied>
  static void Fields(Visit& visit, Applied& applied) {
    visit.Slots(applied.slots);
    visit(applied.clients);
  }
};

template <>
struct Message<HandOverRequest> : PlainMessage {
  static constexpr char kName[] = "HandOver";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.step, request.hold_ms, request.taker, request.hold,
          request.generation);
    visit.Slots(request.slots);
    visit.Expect([&] {
      PERSIA_RETURN_IF_ERROR(CheckEnum(request.step, HandOverStep::kAsk,
                                       kLastHandOverStep,
                                       "unknown step of a handing over "));
      if (request.hold_ms <= HandOverRequest::kMostHoldMs) return Status();
      return InvalidArgument("hold_ms must be at most ",
                             HandOverRequest::kMostHoldMs, ", received ",
                             request.hold_ms);
    });
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.hold, request.generation, request.applied);
    visit.Count(request.topology);
    visit.Array(request.topology);
  }

  static uint64_t MostReplyBytes(const HandOverRequest& request) {
    return request.step == HandOverStep::kHold
               ? HandOverRequest::kMostReplyBytes
               : TopologyRequest::kMostBytes;
  }
};

template <>
struct Message<MoveRequest> : PlainMessage {
  static constexpr char kName[] = "Move";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.action, request.shard, request.source,
          request.most_bytes_per_second);
    visit.Slots(request.slots);
    visit(request.address);
    visit.Expect([&] {
      return CheckEnum(request.action, MoveAction::kStart, kLastMoveAction,
                       "unknown action on a move ");
    });
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    auto& progress = request.progress;
    visit(progress.state);
    visit.CodeOf(progress.outcome);
    visit(progress.source, progress.slots, progress.moved, progress.rows,
          progress.bytes, progress.most_held_us);
    visit.MessageOf(progress.outcome);
    visit.Expect([&] {
      return CheckEnum(progress.state, {}, kLastMoveState,
                       "a move has the unknown state ", Code::kDataLoss);
    });
  }
};

template <>
struct Message<StandbyRequest> : PlainMessage {
  static constexpr char kName[] = "Standby";

  template <typename Visit, typename Request>
  static void Fields(Visit& visit, Request& request) {
    visit(request.action, request.wait_ms, request.standby, request.position,
          request.checks, request.last_crc, request.primary_is_gone,
          request.is_complete, request.address);
    visit.Expect([&] {
      PERSIA_RETURN_IF_ERROR(CheckEnum(request.action, StandbyAction::kBegin,
                                       kLastStandbyAction,
                                       "unknown action of a standby "));
      if (request.wait_ms <= StandbyRequest::kMostWaitMs) return Status();
      return InvalidArgument("wait_ms must be at most ",
                             StandbyRequest::kMostWaitMs, ", received ",
                             request.wait_ms);
    });
  }

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit(request.position, request.member, request.base_bytes, request.end);
    visit.Count(request.bytes);
    visit.Array(request.bytes);
  }

  static uint64_t MostReplyBytes(const StandbyRequest&) {
    return StandbyRequest::kMostBytes;
  }
};

template <>
struct Message<SlotLoadsRequest> : PlainMessage {
  static constexpr char kName[] = "SlotLoads";

  template <typename Visit, typename Request>
  static void Fields(Visit&, Request&) {}

  template <typename Visit, typename Request>
  static void ReplyFields(Visit& visit, Request& request) {
    visit.Slots(request.slots);
    visit.Count(request.ids);
    visit.Count(request.bytes);
    visit.Array(request.ids);
    visit.Array(request.bytes);
    visit.Expect([&] {
      const size_t count = request.slots.count();
      if (request.ids.size() == count && request.bytes.size() == count) {
        return Status();
      }
      return Status(Code::kDataLoss,
                    Concat(count, " slots have loads, but their counts are ",
                           request.ids.size(), " and ", request.bytes.size()));
    });
  }

  static uint64_t MostReplyBytes(const SlotLoadsRequest&) {
    return SlotLoadsRequest::kMostBytes;
  }
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_MOVING_MESSAGES_H_
