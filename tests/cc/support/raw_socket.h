// RawSocket and RawListener: a peer that sends what a test wants. Blocking; a
// peer that hangs fails the test.

#ifndef PERSIA_TESTS_CC_SUPPORT_RAW_SOCKET_H_
#define PERSIA_TESTS_CC_SUPPORT_RAW_SOCKET_H_

#include <cstdint>
#include <vector>

#include "cc/wire/frame.h"

namespace persia {

struct RawFrame {
  bool ok = false;  // Whether one came.
  FrameHeader header;
  std::vector<uint8_t> body;  // At an address that decoders can point into.
};

// The frame as a peer of another version would send it.
OutFrame OfVersion(uint16_t version, OutFrame frame);

class RawSocket {
 public:
  // Connects to 127.0.0.1.
  static RawSocket Connect(uint16_t port);

  explicit RawSocket(int handle) : handle_(handle) {}
  RawSocket(RawSocket&& other) : handle_(other.handle_) { other.handle_ = -1; }
  ~RawSocket();

  bool connected() const { return handle_ >= 0; }

  void Send(const std::vector<uint8_t>& bytes);
  void Send(const OutFrame& frame);

  // Not ok if the connection ends before a whole frame has come.
  RawFrame ReceiveFrame();

  // Waits for the peer to end the connection; false if it sends something.
  bool WaitForEnd();

 private:
  bool Receive(void* bytes, size_t size);

  int handle_;
};

class RawListener {
 public:
  // On 127.0.0.1; port 0 is any free one.
  explicit RawListener(uint16_t port = 0);
  ~RawListener();

  uint16_t port() const { return port_; }
  RawSocket Accept();

 private:
  int handle_;
  uint16_t port_ = 0;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SUPPORT_RAW_SOCKET_H_
