// Connector: establishes a connection to one server.
//
// A connector belongs to an event loop, which must have been stopped before the
// connector is destroyed.

#ifndef PERSIA_CC_CLIENT_CONNECTOR_H_
#define PERSIA_CC_CLIENT_CONNECTOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cc/base/status.h"
#include "cc/wire/address.h"
#include "cc/wire/asio.h"

namespace persia {

class Connector {
 public:
  // Receives the socket, or the error.
  using ConnectCallback =
      std::function<void(const Status&, std::optional<Socket>)>;

  Connector(asio::io_context* context, const Address& address);

  // Resolves the server's name and tries the resulting addresses one after the
  // other, all within 5 s. The name is resolved at each call, since a server
  // that moves keeps its name but not its address. `done` is called once, from
  // the event loop, after Start has returned. Only one Start may be in
  // progress.
  void Start(ConnectCallback done);

  // The server that later calls of Start connect to. No Start may be in
  // progress.
  void set_address(const Address& address) { address_ = address; }

  // Cancels the attempt in progress; its `done` will not be called.
  void Cancel();

 private:
  using Endpoint = Tcp::endpoint;

  void Resolve();
  void TryNext();
  void Finish(const Status& status);

  asio::io_context* const context_;
  Address address_;
  Resolver resolver_;
  Timer timeout_;
  Socket socket_;
  // The addresses not tried yet; the last element is tried next.
  std::vector<Endpoint> endpoints_;
  Status last_error_;
  ConnectCallback done_;
  // Changes with each Start, so that handlers of an earlier Start notice that
  // they are outdated and do nothing.
  uint64_t attempt_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CONNECTOR_H_
