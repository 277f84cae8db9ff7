// Channel: sends all of a client's requests to one shard, over one connection.
//
// A channel connects at the first request. When the connection breaks or
// delivers corrupt data, the channel reconnects and sends every unanswered
// request again, until the request's own deadline.
//
// A channel is thread-safe and never blocks.

#ifndef PERSIA_CC_CLIENT_CHANNEL_H_
#define PERSIA_CC_CLIENT_CHANNEL_H_

#include <cstdint>
#include <functional>
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

  // The shard's name in errors, with its address.
  virtual std::string name() const = 0;

  // The shard's address: "host:port".
  virtual std::string address() const = 0;

  // Returns a new, unique value for ShardRequest::id.
  virtual uint64_t NextRequestId() = 0;

  // Sends a request, whose `done` is called once, on the event loop. If the
  // loop has been stopped, this method itself calls `done` with kCancelled.
  virtual void Send(ShardRequest request) = 0;

  // Connects to `address` from now on, because the shard has moved there, and
  // sends every unanswered request again.
  virtual void Move(const Address& address) = 0;

  // Where the shard's standby answers, which may take its place; "" if it has
  // none. While the shard cannot be reached, the channel tries both.
  virtual void SetStandby(const std::string& address) = 0;

  // Changes the shard's name in errors, as the cluster has grown or shrunk.
  virtual void Rename(const std::string& title) = 0;

  // Ends all pending requests with kCancelled, and ends the channel's work on
  // the event loop. Later requests fail at once with kCancelled.
  virtual void ShutDown() = 0;
};

// Receives the encoded topology that a shard has sent because another shard
// owns the slots of a request. Called on the event loop, before the request's
// `done`.
using OnTopology = std::function<void(ConstBytes topology)>;

// Called on the event loop after each failed attempt to reach a server for
// which requests wait: other servers may know of the one that has taken its
// place.
using OnOutage = std::function<void()>;

// Creates a channel. `title` names the shard in errors, which add the address:
// "shard 0 of 2". `loop` must be stopped before the channel is destroyed,
// and must outlive the channel. `on_topology` and
// `on_outage` may be null.
std::unique_ptr<Channel> MakeChannel(EventLoop* loop, const Address& address,
                                     const std::string& title,
                                     const RemoteServiceOptions& options,
                                     OnTopology on_topology = nullptr,
                                     OnOutage on_outage = nullptr);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CHANNEL_H_
