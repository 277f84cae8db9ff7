// Configures Boost.Asio in one place: no other header includes any part of
// Asio. Only asio.cc compiles Asio's sources.

#ifndef PERSIA_CC_WIRE_ASIO_H_
#define PERSIA_CC_WIRE_ASIO_H_

#ifdef BOOST_ASIO_DETAIL_CONFIG_HPP
#error "include cc/wire/asio.h instead of, or before, Asio's own headers"
#endif

#define BOOST_ALL_NO_LIB
#define BOOST_ERROR_CODE_HEADER_ONLY
#define BOOST_ASIO_NO_DEPRECATED
#define BOOST_ASIO_SEPARATE_COMPILATION
#ifdef __SANITIZE_THREAD__
// ThreadSanitizer does not model memory fences. Asio does not need them here,
// since its queues are locked.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <string>

#include "cc/base/clock.h"

namespace persia {

namespace asio = boost::asio;

using ErrorCode = boost::system::error_code;

// A socket of any stream protocol: TCP today; a Unix socket would fit too.
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol,
                                         asio::io_context::executor_type>;

using Tcp = asio::ip::tcp;

using Resolver = asio::ip::basic_resolver<Tcp, asio::io_context::executor_type>;

using Acceptor =
    asio::basic_socket_acceptor<Tcp, asio::io_context::executor_type>;

using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>,
                                         asio::io_context::executor_type>;

// Describes the error as part of a sentence, such as "connection refused (is it
// running?)".
std::string Reason(const ErrorCode& error);

// Sets the options that every connection needs: small messages are sent at
// once, and a dead peer machine is detected within half a minute, even if the
// connection is idle.
void TuneSocket(Socket* socket);

// The address of the socket's peer, "10.0.0.7:51234"; "?" if the socket is no
// longer connected.
std::string PeerOf(const Socket& socket);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_ASIO_H_
