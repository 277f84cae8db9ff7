#include "cc/client/connector.h"

#include <algorithm>
#include <utility>

namespace persia {
namespace {

// The timeout of a connection attempt. A machine that is down does not refuse
// connections, and the operating system's own timeout takes minutes.
constexpr double kTimeoutSeconds = 5;

}  // namespace

Connector::Connector(asio::io_context* context, const Address& address)
    : context_(context),
      address_(address),
      resolver_(*context),
      timeout_(*context),
      socket_(*context) {}

void Connector::Start(ConnectCallback done) {
  done_ = std::move(done);
  ++attempt_;
  last_error_ = Status();
  timeout_.expires_at(DeadlineAfter(kTimeoutSeconds));
  timeout_.async_wait([this, attempt = attempt_](const ErrorCode& error) {
    if (error || attempt != attempt_) return;
    Finish(Status(Code::kUnavailable,
                  Concat("no connection within ", kTimeoutSeconds, " s")));
  });
  Resolve();
}

void Connector::Resolve() {
  ErrorCode not_numeric;
  const auto ip = asio::ip::make_address(address_.host, not_numeric);
  if (!not_numeric) {
    endpoints_ = {Endpoint(ip, address_.port)};
    return TryNext();
  }
  resolver_.async_resolve(
      address_.host, Concat(address_.port), Resolver::numeric_service,
      [this, attempt = attempt_](const ErrorCode& error,
                                 const Resolver::results_type& found) {
        if (attempt != attempt_) return;
        endpoints_.assign(found.begin(), found.end());
        std::reverse(endpoints_.begin(), endpoints_.end());
        if (error) {
          last_error_ =
              Status(Code::kUnavailable,
                     Concat("the name cannot be resolved: ", Reason(error)));
        }
        TryNext();
      });
}

void Connector::TryNext() {
  if (endpoints_.empty()) return Finish(last_error_);
  const Endpoint endpoint = endpoints_.back();
  endpoints_.pop_back();
  socket_ = Socket(*context_);
  socket_.async_connect(
      endpoint, [this, attempt = attempt_](const ErrorCode& error) {
        if (attempt != attempt_) return;
        if (!error) return Finish(Status());
        last_error_ = Status(Code::kUnavailable, Reason(error));
        TryNext();
      });
}

void Connector::Finish(const Status& status) {
  Socket socket = std::move(socket_);
  const ConnectCallback done = std::move(done_);
  Cancel();
  if (!status.ok()) return done(status, std::nullopt);
  done(status, std::move(socket));
}

void Connector::Cancel() {
  ++attempt_;
  done_ = nullptr;
  timeout_.cancel();
  resolver_.cancel();
  ErrorCode ignored;
  socket_.close(ignored);
}

}  // namespace persia
