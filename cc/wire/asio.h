// Boost.Asio, configured once: no other header includes any of it. Its compiled
// part is in asio.cc alone.

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
// It does not understand fences, and they are there beside the queues' locks.
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

// Of any stream protocol: TCP now, a Unix socket some day.
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol,
                                         asio::io_context::executor_type>;

using Tcp = asio::ip::tcp;

using Resolver = asio::ip::basic_resolver<Tcp, asio::io_context::executor_type>;

using Acceptor =
    asio::basic_socket_acceptor<Tcp, asio::io_context::executor_type>;

using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>,
                                         asio::io_context::executor_type>;

// The error as part of a sentence: "connection refused (is it running?)".
std::string Reason(const ErrorCode& error);

// What every connection needs: small messages leave at once, and a peer whose
// machine is gone is noticed within half a minute, silent or not.
void TuneSocket(Socket* socket);

// Who is at the socket's other end, "10.0.0.7:51234"; "?" if it has gone.
std::string PeerOf(const Socket& socket);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_ASIO_H_
