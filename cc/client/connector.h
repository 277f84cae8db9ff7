// Connector: establishes a connection to one server.
//
// Belongs to a loop, which must have been stopped before it is destroyed.

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

  // Resolves the name (each time, since a server that moves keeps its name) and
  // tries its addresses one after the other, all within 5 s. `done` is called
  // once, from the loop, after Start has returned. Only one Start may be in
  // progress.
  void Start(ConnectCallback done);

  // Gives up; `done` will not be called.
  void Cancel();

 private:
  using Endpoint = Tcp::endpoint;

  void Resolve();
  void TryNext();
  void Finish(const Status& status);

  asio::io_context* const context_;
  const Address address_;
  Resolver resolver_;
  Timer timeout_;
  Socket socket_;
  std::vector<Endpoint> endpoints_;  // Not tried yet; the next one is last.
  Status last_error_;
  ConnectCallback done_;
  uint64_t attempt_ = 0;  // Lets handlers of an earlier Start do nothing.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CONNECTOR_H_
