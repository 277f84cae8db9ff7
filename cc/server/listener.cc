#include "cc/server/listener.h"

#include <utility>

namespace persia {
namespace {

// How long the listener waits before it accepts again after an error, such as a
// lack of file descriptors.
constexpr double kRetrySeconds = 0.1;

Status OthersReach(const Address& address) {
  return InvalidArgument(
      "without a token or TLS, a server may listen only on addresses of this "
      "machine, but other machines can reach ",
      address.ToString(),
      ": give --auth-token-file FILE, or --tls-certificate, --tls-key and "
      "--tls-ca; or listen on 127.0.0.1; or give --insecure if everybody who "
      "can reach this address may read and change all rows");
}

}  // namespace

Listener::Listener(EventLoop* loop)
    : acceptor_(loop->context()), retry_(loop->context()) {}

Result<std::shared_ptr<Listener>> Listener::Bind(EventLoop* loop,
                                                 const Address& address,
                                                 Reach reach) {
  auto listener = std::make_shared<Listener>(loop);
  ErrorCode error;
  Resolver resolver(loop->context());
  const auto found =
      resolver.resolve(address.host, Concat(address.port),
                       Resolver::passive | Resolver::numeric_service, error);
  for (const auto& entry : found) {
    if (reach == Reach::kThisMachine &&
        !entry.endpoint().address().is_loopback()) {
      return OthersReach(address);
    }
    error = listener->Open(entry.endpoint());
    if (!error) return listener;
  }
  return Status(
      Code::kUnavailable,
      Concat("cannot listen on ", address.ToString(), ": ", Reason(error)));
}

ErrorCode Listener::Open(const Tcp::endpoint& endpoint) {
  ErrorCode error;
  ErrorCode ignored;
  acceptor_.close(ignored);
  acceptor_.open(endpoint.protocol(), error);
  // A restarted server must be able to bind its port again at once.
  if (!error) acceptor_.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(Acceptor::max_listen_connections, error);
  if (error) return error;
  port_ = acceptor_.local_endpoint(error).port();
  return error;
}

void Listener::Start(NextLoop next_loop, Accepted accepted) {
  next_loop_ = std::move(next_loop);
  accepted_ = std::move(accepted);
  AcceptNext();
}

void Listener::AcceptNext() {
  EventLoop* const loop = next_loop_();
  socket_ = std::make_unique<Socket>(loop->context());
  acceptor_.async_accept(
      *socket_, [self = shared_from_this(), loop](const ErrorCode& error) {
        self->OnAccept(loop, error);
      });
}

void Listener::OnAccept(EventLoop* loop, const ErrorCode& error) {
  if (!acceptor_.is_open()) return;
  if (error && error != asio::error::connection_aborted) return AcceptLater();
  if (!error) accepted_(loop, std::move(*socket_));
  AcceptNext();
}

void Listener::AcceptLater() {
  retry_.expires_at(DeadlineAfter(kRetrySeconds));
  retry_.async_wait([self = shared_from_this()](const ErrorCode& error) {
    if (!error && self->acceptor_.is_open()) self->AcceptNext();
  });
}

void Listener::Close() {
  ErrorCode ignored;
  acceptor_.close(ignored);
  retry_.cancel();
}

}  // namespace persia
