// Channel: the requests to one shard, and the connection that they share.
//
// Connects when there is something to ask. When the connection breaks or brings
// something corrupt, it is made again, and everything that is not answered is
// sent again, until its own deadline.
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

  // As errors name the shard.
  virtual const std::string& name() const = 0;

  // For a request's `id`.
  virtual uint64_t NextRequestId() = 0;

  // The request's `done` is called once, on the loop; from here, with
  // kCancelled, if the loop has been stopped.
  virtual void Send(ShardRequest request) = 0;

  // Ends all requests with kCancelled, and what keeps the loop busy; requests
  // that come later end at once.
  virtual void ShutDown() = 0;
};

// `name` stands for the shard in errors: "shard 0 of 2 (127.0.0.1:7000)". The
// loop must be stopped before the channel is destroyed, and destroyed after.
std::unique_ptr<Channel> MakeChannel(EventLoop* loop, const Address& address,
                                     const std::string& name,
                                     const RemoteServiceOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CHANNEL_H_
