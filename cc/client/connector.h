// Connector: makes a connection to one server.
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
  // The socket, or why there is none.
  using ConnectCallback =
      std::function<void(const Status&, std::optional<Socket>)>;

  Connector(asio::io_context* context, const Address& address);

  // Looks the name up (again each time: a server that is moved keeps its name)
  // and tries each address it has, all within a few seconds. One at a time.
  // `done` is called once, from the loop, later.
  void Start(ConnectCallback done);

  // `done` is not called any more.
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
  std::vector<Endpoint> endpoints_;  // Still to be tried, last first.
  Status last_error_;
  ConnectCallback done_;
  uint64_t attempt_ = 0;  // Tells handlers of an earlier Start apart.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CONNECTOR_H_
