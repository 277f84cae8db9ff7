#include "cc/wire/asio.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/impl/src.hpp>
#include <cctype>

#include "cc/base/status.h"
#include "cc/wire/address.h"

namespace persia {
namespace {

constexpr int kKeepaliveIdleSeconds = 15;
constexpr int kKeepaliveIntervalSeconds = 5;
constexpr int kKeepaliveProbes = 3;
constexpr int kUnacknowledgedMilliseconds = 30000;

// Errors are ignored, since sockets that are not TCP lack some options.
void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof(value));
}

}  // namespace

std::string Reason(const ErrorCode& error) {
  if (error == asio::error::eof) return "the peer closed the connection";
  std::string text = error.message();
  // The first letter of "Host not found" becomes lower-case, but not that of an
  // abbreviation such as "EOF".
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] =
        static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  if (error == asio::error::connection_refused) text += " (is it running?)";
  return text;
}

std::string PeerOf(const Socket& socket) {
  ErrorCode error;
  const auto peer = socket.remote_endpoint(error);
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (error || getnameinfo(peer.data(), static_cast<socklen_t>(peer.size()),
                           host, sizeof(host), port, sizeof(port),
                           NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  return HostAndPort(host, port);
}

void TuneSocket(Socket* socket) {
  const int handle = socket->native_handle();
  SetOption(handle, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(handle, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef __linux__
  SetOption(handle, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleSeconds);
  SetOption(handle, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveIntervalSeconds);
  SetOption(handle, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  SetOption(handle, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMilliseconds);
#endif
}

}  // namespace persia
