// Frames on connections that are encrypted, or on which TLS fails.

#include "cc/wire/tls_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cc/wire/frame_stream.h"
#include "cc/wire/frame_writer.h"
#include "tests/cc/tls/test_authority.h"

namespace persia {
namespace {

constexpr size_t kMiB = 1 << 20;
constexpr char kHost[] = "127.0.0.1";

// One end: a stream, and what became of its last read and write.
struct End {
  void Secure(std::unique_ptr<TlsSession> session) {
    stream->Secure(std::move(session),
                   [this](const Status& status) { secured = status; });
  }

  void Read(FrameStream::PlaceCallback place = nullptr) {
    read_end.reset();
    stream->Read(
        &body,
        [this](ReadEnd end, const Status& status) {
          read_end = end;
          read_status = status;
        },
        std::move(place));
  }

  // `sent` must live until it is written.
  void Write(const OutFrame& sent) {
    written.reset();
    stream->Write(sent, [this](const ErrorCode& error) { written = error; });
  }

  std::shared_ptr<FrameStream> stream;
  std::optional<Status> secured;
  ByteBuffer body;
  std::optional<ReadEnd> read_end;
  Status read_status;
  std::optional<ErrorCode> written;
};

class TlsStreamTest : public testing::Test {
 protected:
  TlsStreamTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    client_handle_ = dup(ends[0]);
    const asio::generic::stream_protocol protocol(AF_UNIX, 0);
    for (auto [end, handle] :
         {std::pair(&client_, ends[0]), std::pair(&server_, ends[1])}) {
      end->stream = std::make_shared<FrameStream>(
          Socket(context_, protocol, handle), kMaxBodyBytes);
    }
  }

  ~TlsStreamTest() override {
    client_.stream->Close();
    server_.stream->Close();
    context_.restart();
    context_.run();
    close(client_handle_);
  }

  void RunUntil(const std::function<bool()>& holds) {
    context_.restart();
    while (!holds()) ASSERT_GT(context_.run_one(), 0u) << "nothing is left";
  }

  void Secure() {
    client_.Secure(std::move(*tls_->NewClientSession(kHost)));
    server_.Secure(std::move(*tls_->NewServerSession()));
    RunUntil([&] { return client_.secured && server_.secured; });
    ASSERT_TRUE(client_.secured->ok()) << client_.secured->message();
    ASSERT_TRUE(server_.secured->ok()) << server_.secured->message();
  }

  // Bytes that the client's program sends on the socket, past its stream.
  void SendRaw(const std::vector<uint8_t>& bytes) {
    ASSERT_EQ(send(client_handle_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  void ExpectReadBy(End* end, ReadEnd expected) {
    RunUntil([&] { return end->read_end.has_value(); });
    ASSERT_TRUE(end->read_end.has_value());
    EXPECT_EQ(*end->read_end, expected) << end->read_status.message();
  }

  const TestAuthority authority_;
  const std::shared_ptr<TlsContext> tls_ = authority_.MakeContext();
  asio::io_context context_;
  End client_;
  End server_;
  int client_handle_;
};

std::vector<uint8_t> Numbers(size_t count) {
  std::vector<uint8_t> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<uint8_t>(i ^ i >> 8 ^ i >> 16);
  }
  return numbers;
}

// Refers to `body`.
OutFrame FrameOf(const std::vector<uint8_t>& body) {
  FrameWriter writer;
  writer.Array(Span<const uint8_t>(body));
  return writer.Seal(kRequestType<LookupRequest>, 1);
}

TEST_F(TlsStreamTest, FramesOfAnySizeGoBothWays) {
  Secure();
  for (const size_t size : {size_t{0}, size_t{1}, 3 * kMiB + 5}) {
    const auto numbers = Numbers(size);
    const OutFrame frame = FrameOf(numbers);
    for (const auto& [from, to] :
         {std::pair(&client_, &server_), std::pair(&server_, &client_)}) {
      to->Read();
      from->Write(frame);
      ExpectReadBy(to, ReadEnd::kFrame);
      ASSERT_EQ(to->body.size(), size);
      EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), to->body.data()));
      RunUntil([&] { return from->written.has_value(); });
      EXPECT_FALSE(*from->written) << from->written->message();
    }
  }
}

TEST_F(TlsStreamTest, BothWaysAreUsedAtOnce) {
  Secure();
  const auto numbers = Numbers(2 * kMiB);
  const OutFrame frame = FrameOf(numbers);
  for (End* end : {&client_, &server_}) {
    end->Read();
    end->Write(frame);
  }
  ExpectReadBy(&client_, ReadEnd::kFrame);
  ExpectReadBy(&server_, ReadEnd::kFrame);
}

TEST_F(TlsStreamTest, BodyGoesWhereItsPlacesAre) {
  Secure();
  const auto numbers = Numbers(100'000);
  const OutFrame frame = FrameOf(numbers);
  std::vector<uint8_t> first(40'000);
  std::vector<uint8_t> second(50'000);
  server_.Read([&](const FrameHeader&) {
    return std::vector<MutableBytes>{first, second};
  });
  client_.Write(frame);
  ExpectReadBy(&server_, ReadEnd::kFrame);
  std::vector<uint8_t> read(server_.body.data(),
                            server_.body.data() + server_.body.size());
  read.insert(read.end(), first.begin(), first.end());
  read.insert(read.end(), second.begin(), second.end());
  EXPECT_EQ(read, numbers);
}

// A sanitizer finds memory that is touched later.
TEST_F(TlsStreamTest, NothingTouchesTheCallersMemoryAfterClose) {
  Secure();
  auto numbers = std::make_unique<std::vector<uint8_t>>(Numbers(3 * kMiB));
  auto place = std::make_unique<std::vector<uint8_t>>(numbers->size());
  const OutFrame frame = FrameOf(*numbers);
  bool is_placed = false;
  server_.Read([&](const FrameHeader&) {
    is_placed = true;
    return std::vector<MutableBytes>{*place};
  });
  client_.Write(frame);
  RunUntil([&] { return is_placed; });
  // More bytes have come by now, and there is room for more.
  context_.poll_one();
  server_.stream->Close();
  client_.stream->Close();
  place = nullptr;
  numbers = nullptr;
  ExpectReadBy(&server_, ReadEnd::kClosed);
  RunUntil([&] { return client_.written.has_value(); });
  EXPECT_TRUE(*client_.written);
}

TEST_F(TlsStreamTest, CancelledReadEnds) {
  Secure();
  server_.Read();
  context_.poll();
  server_.stream->CancelRead();
  ExpectReadBy(&server_, ReadEnd::kClosed);
  EXPECT_EQ(server_.read_status.code(), Code::kCancelled);
}

TEST_F(TlsStreamTest, CutWithinAFrameIsABadFrame) {
  Secure();
  const auto numbers = Numbers(3 * kMiB);
  const OutFrame frame = FrameOf(numbers);
  bool has_header = false;
  server_.Read([&](const FrameHeader&) {
    has_header = true;
    return std::vector<MutableBytes>();
  });
  client_.Write(frame);
  RunUntil([&] { return has_header; });
  client_.stream->Close();
  shutdown(client_handle_, SHUT_RDWR);
  ExpectReadBy(&server_, ReadEnd::kBadFrame);
  EXPECT_EQ(server_.read_status.code(), Code::kDataLoss);
}

// The end is told within TLS, so the receiver knows that it has read
// everything.
TEST_F(TlsStreamTest, LingeringEndsTheOthersRead) {
  Secure();
  server_.Read();
  bool is_over = false;
  client_.stream->Linger(60, [&] { is_over = true; });
  ExpectReadBy(&server_, ReadEnd::kClosed);
  EXPECT_FALSE(is_over);
  server_.stream->Close();
  RunUntil([&] { return is_over; });
}

// The socket stays open: the message of TLS alone is the end.
TEST_F(TlsStreamTest, EndThatIsToldIsAnEnd) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const asio::generic::stream_protocol protocol(AF_UNIX, 0);
  Socket client_socket(context_, protocol, ends[0]);
  Socket server_socket(context_, protocol, ends[1]);
  TlsStream client(&client_socket, std::move(*tls_->NewClientSession(kHost)),
                   [] {});
  TlsStream server(&server_socket, std::move(*tls_->NewServerSession()), [] {});
  int secured = 0;
  for (TlsStream* stream : {&client, &server}) {
    stream->Handshake([&](const Status& status) {
      EXPECT_TRUE(status.ok()) << status.message();
      ++secured;
    });
  }
  RunUntil([&] { return secured == 2; });
  std::optional<ErrorCode> read;
  uint8_t byte;
  server.Read({asio::buffer(&byte, 1)},
              [&](const ErrorCode& error, size_t) { read = error; });
  bool is_told = false;
  client.End([&](const ErrorCode&) { is_told = true; });
  RunUntil([&] { return is_told; });
  context_.poll();
  EXPECT_EQ(read, ErrorCode(asio::error::eof));
}

TEST_F(TlsStreamTest, WhatIsNoRecordIsABadFrame) {
  Secure();
  server_.Read();
  SendRaw(std::vector<uint8_t>(200, 23));
  ExpectReadBy(&server_, ReadEnd::kBadFrame);
}

TEST_F(TlsStreamTest, PeerWithoutTlsCanBeToldSo) {
  server_.Secure(std::move(*tls_->NewServerSession()));
  const auto numbers = Numbers(10);
  const OutFrame frame = FrameOf(numbers);
  client_.Read();
  client_.Write(frame);
  RunUntil([&] { return server_.secured.has_value(); });
  EXPECT_EQ(server_.secured->code(), Code::kUnauthenticated);
  server_.Write(frame);
  ExpectReadBy(&client_, ReadEnd::kFrame);
}

TEST_F(TlsStreamTest, PeerThatWantsTlsCanBeToldSo) {
  client_.Secure(std::move(*tls_->NewClientSession(kHost)));
  server_.Read();
  ExpectReadBy(&server_, ReadEnd::kTls);
  const OutFrame alert{NoTlsHere(), {}};
  server_.Write(alert);
  RunUntil([&] { return client_.secured.has_value(); });
  EXPECT_EQ(client_.secured->code(), Code::kUnauthenticated);
  EXPECT_NE(client_.secured->message().find("the server has no TLS"),
            std::string::npos)
      << client_.secured->message();
}

TEST_F(TlsStreamTest, ConnectionThatEndsWithinTheHandshakeIsUnavailable) {
  client_.Secure(std::move(*tls_->NewClientSession(kHost)));
  server_.stream->Close();
  RunUntil([&] { return client_.secured.has_value(); });
  EXPECT_EQ(client_.secured->code(), Code::kUnavailable);
  EXPECT_NE(client_.secured->message().find("does the server speak TLS?"),
            std::string::npos)
      << client_.secured->message();
}

TEST_F(TlsStreamTest, RefusedClientIsToldByItsFirstRead) {
  const TestAuthority other;
  TlsCredentials stranger = other.Issue();
  stranger.ca = authority_.certificate();
  client_.Secure(std::move(*ContextOf(stranger)->NewClientSession(kHost)));
  server_.Secure(std::move(*tls_->NewServerSession()));
  RunUntil([&] { return client_.secured && server_.secured; });
  EXPECT_EQ(server_.secured->code(), Code::kPermissionDenied);
  ASSERT_TRUE(client_.secured->ok());
  client_.Read();
  ExpectReadBy(&client_, ReadEnd::kClosed);
  EXPECT_EQ(client_.read_status.code(), Code::kPermissionDenied)
      << client_.read_status.message();
}

}  // namespace
}  // namespace persia
