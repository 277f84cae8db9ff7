#include "tests/cc/support/raw_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cc/base/crc32c.h"
#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

sockaddr_in LocalAddress(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void SetTimeout(int handle) {
  const timeval timeout = {kHang.count(), 0};
  setsockopt(handle, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(handle, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

}  // namespace

OutFrame OfVersion(uint16_t version, OutFrame frame) {
  std::memcpy(frame.head.data() + 4, &version, sizeof(version));
  const uint32_t crc = Crc32c(frame.head.data(), 28);
  std::memcpy(frame.head.data() + 28, &crc, sizeof(crc));
  return frame;
}

RawSocket RawSocket::Connect(uint16_t port) {
  RawSocket result(socket(AF_INET, SOCK_STREAM, 0));
  SetTimeout(result.handle_);
  const sockaddr_in address = LocalAddress(port);
  if (connect(result.handle_, reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) != 0) {
    close(result.handle_);
    result.handle_ = -1;
  }
  return result;
}

RawSocket::~RawSocket() {
  if (handle_ >= 0) close(handle_);
}

void RawSocket::Send(const std::vector<uint8_t>& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        send(handle_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;  // The test will see why.
    sent += static_cast<size_t>(count);
  }
}

void RawSocket::Send(const OutFrame& frame) {
  std::vector<uint8_t> bytes = frame.head;
  for (const ConstBytes part : frame.payload) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  Send(bytes);
}

bool RawSocket::Receive(void* bytes, size_t size) {
  auto* rest = static_cast<uint8_t*>(bytes);
  while (size > 0) {
    const ssize_t count = recv(handle_, rest, size, 0);
    EXPECT_FALSE(count < 0 && errno == EAGAIN) << "the peer hangs";
    if (count <= 0) return false;
    rest += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

RawFrame RawSocket::ReceiveFrame() {
  RawFrame frame;
  std::array<uint8_t, kFrameHeaderBytes> header;
  if (!Receive(header.data(), header.size())) return frame;
  const Status status = ParseFrameHeader(header, kMaxBodyBytes, &frame.header);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return frame;
  frame.body.resize(frame.header.body_bytes);
  frame.ok = Receive(frame.body.data(), frame.body.size());
  EXPECT_TRUE(!frame.ok || CheckBody(frame.header, frame.body).ok());
  return frame;
}

bool RawSocket::WaitForEnd() {
  uint8_t byte;
  return !Receive(&byte, 1);
}

RawListener::RawListener(uint16_t port)
    : handle_(socket(AF_INET, SOCK_STREAM, 0)) {
  SetTimeout(handle_);
  const int yes = 1;
  setsockopt(handle_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address = LocalAddress(port);
  EXPECT_EQ(bind(handle_, reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)),
            0);
  EXPECT_EQ(listen(handle_, 16), 0);
  socklen_t size = sizeof(address);
  getsockname(handle_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
}

RawListener::~RawListener() { close(handle_); }

RawSocket RawListener::Accept() {
  const int handle = accept(handle_, nullptr, nullptr);
  EXPECT_GE(handle, 0) << "nobody connects";
  if (handle >= 0) SetTimeout(handle);
  return RawSocket(handle);
}

}  // namespace persia
