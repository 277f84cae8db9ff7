// Channel: the requests to one shard, and the connection that they share.
//
// Connects on the first request. When the connection breaks or delivers corrupt
// data, it reconnects and sends every unanswered request again, until the
// request's own deadline.
//
// Thread-safe; never blocks.

#ifndef PERSIA_CC_CLIENT_CHANNEL_H_
#define PERSIA_CC_CLIENT_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cc/client/remote_service.h"
#include "cc/client/shard_request.h"
#include "cc/wire/address.h"
#include "cc/wire/event_loop.h"

namespace persia {

class Channel {
 public:
  virtual ~Channel() = default;

  // The shard's name in errors.
  virtual const std::string& name() const = 0;

  // A new value for ShardRequest::id.
  virtual uint64_t NextRequestId() = 0;

  // Calls the request's `done` once, on the loop; or from this call, with
  // kCancelled, if the loop has been stopped.
  virtual void Send(ShardRequest request) = 0;

  // Ends all requests with kCancelled, and the channel's work on the loop;
  // later requests end at once.
  virtual void ShutDown() = 0;
};

// `name` names the shard in errors: "shard 0 of 2 (127.0.0.1:7000)". The loop
// must be stopped before the channel is destroyed, and must outlive it.
std::unique_ptr<Channel> MakeChannel(EventLoop* loop, const Address& address,
                                     const std::string& name,
                                     const RemoteServiceOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CHANNEL_H_
