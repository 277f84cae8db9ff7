// MessageType: which message the body of a frame contains.

#ifndef PERSIA_CC_WIRE_MESSAGE_TYPE_H_
#define PERSIA_CC_WIRE_MESSAGE_TYPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "cc/service/embedding_service.h"

namespace persia {

// Requests have the even numbers from kFirstRequest on, in AnyRequest's order;
// a request's reply has the number after it.
enum class MessageType : uint16_t {
  kError = 1,  // The reply to any failed request: a Status.
  kFirstRequest = 2,
  // Messages of the handshake (handshake.h), which precedes all requests.
  kHello = 100,
  kChallenge = 101,
  kProof = 102,
  kWelcome = 103,
};

// The index of a type of request in the variant AnyRequest.
template <typename Request>
inline constexpr size_t kPlaceOf =
    AnyRequest(static_cast<Request*>(nullptr)).index();

inline constexpr size_t kRequestCount = std::variant_size_v<AnyRequest>;

// The names of the types, for people and for metrics, in AnyRequest's order.
inline constexpr std::array<const char*, kRequestCount> kRequestNames = {
    "create_table", "lookup",     "update",  "stats",      "export", "assign",
    "remove",       "checkpoint", "changes", "drop_table", "files",  "topology",
    "hand_over",    "move",       "standby", "slot_loads"};
static_assert(kRequestNames.back() != nullptr, "a request has no name");

constexpr MessageType RequestTypeAt(size_t place) {
  return static_cast<MessageType>(
      static_cast<size_t>(MessageType::kFirstRequest) + 2 * place);
}

constexpr MessageType ReplyTypeOf(MessageType request) {
  return static_cast<MessageType>(static_cast<uint16_t>(request) + 1);
}

template <typename Request>
inline constexpr MessageType kRequestType = RequestTypeAt(kPlaceOf<Request>);

template <typename Request>
inline constexpr MessageType kReplyType = ReplyTypeOf(kRequestType<Request>);

// The index in AnyRequest of the request that a message type stands for;
// kRequestCount or more if the type is not a request's.
constexpr size_t RequestPlace(MessageType type) {
  const size_t above =  // Wraps around for kError.
      static_cast<size_t>(type) -
      static_cast<size_t>(MessageType::kFirstRequest);
  return above % 2 == 0 ? above / 2 : kRequestCount;
}

constexpr bool IsRequest(MessageType type) {
  return RequestPlace(type) < kRequestCount;
}

constexpr MessageType RequestTypeOf(MessageType reply) {
  return static_cast<MessageType>(static_cast<uint16_t>(reply) - 1);
}

constexpr bool IsReply(MessageType type) {
  return IsRequest(RequestTypeOf(type));
}

template <typename Function, typename... Requests>
bool ForRequestOf(MessageType type, const Function& function,
                  std::variant<Requests*...>) {
  return ((type == kRequestType<Requests> &&
           (function(static_cast<Requests*>(nullptr)), true)) ||
          ...);
}

// If the message type stands for a request of type R, calls `function` with a
// null R* and returns true. Otherwise returns false.
template <typename Function>
bool ForRequestOf(MessageType type, const Function& function) {
  return ForRequestOf(type, function, AnyRequest());
}

static_assert(RequestTypeAt(kRequestCount) < MessageType::kHello);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_MESSAGE_TYPE_H_
