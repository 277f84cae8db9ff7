// Frames that come in pieces.

#include "cc/wire/frame_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cc/base/byte_reader.h"
#include "cc/wire/frame_writer.h"
#include "tests/cc/wire/frame_bytes.h"

namespace persia {
namespace {

constexpr size_t kMiB = 1 << 20;

// A stream of frames, and its other end.
class FrameStreamTest : public testing::Test {
 protected:
  FrameStreamTest() : peer_(context_) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const asio::generic::stream_protocol protocol(AF_UNIX, 0);
    peer_.assign(protocol, ends[0]);
    stream_ = std::make_shared<FrameStream>(Socket(context_, protocol, ends[1]),
                                            kMaxBodyBytes);
    stream_->Read(&body_, [this](ReadEnd end, const Status& status) {
      end_ = end;
      status_ = status;
    });
  }

  ~FrameStreamTest() override {
    stream_->Close();
    context_.run();
  }

  // Sends bytes while the stream reads, until it has read what came.
  void Send(ConstBytes bytes) {
    bool sent = false;
    asio::async_write(peer_, asio::buffer(bytes.data(), bytes.size()),
                      [&](const ErrorCode& error, size_t) {
                        EXPECT_FALSE(error) << error.message();
                        sent = true;
                      });
    while (!sent) context_.run_one();
    while (context_.poll_one() > 0) {
    }
  }

  asio::io_context context_;
  Socket peer_;
  std::shared_ptr<FrameStream> stream_;
  ByteBuffer body_;
  std::optional<ReadEnd> end_;
  Status status_;
};

std::vector<uint8_t> FrameOf(const std::vector<uint8_t>& body) {
  FrameWriter writer;
  writer.Array(Span<const uint8_t>(body));
  return FrameBytes(writer.Seal(kRequestType<LookupRequest>, 1));
}

std::vector<uint8_t> Numbers(size_t count) {
  std::vector<uint8_t> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<uint8_t>(i ^ i >> 8 ^ i >> 16);
  }
  return numbers;
}

TEST_F(FrameStreamTest, LongBodyThatIsOnlyAnnouncedTakesLittleMemory) {
  const std::vector<uint8_t> frame = FrameOf(Numbers(100 * kMiB));
  const ConstBytes bytes(frame);
  Send(bytes.first(kFrameHeaderBytes + 1));
  EXPECT_LE(body_.capacity(), kMiB);
  Send(bytes.subspan(kFrameHeaderBytes + 1, 3 * kMiB));
  EXPECT_LE(body_.capacity(), 6 * kMiB);
  EXPECT_FALSE(end_.has_value());
}

TEST_F(FrameStreamTest, LongBodyIsReadWhole) {
  const std::vector<uint8_t> numbers = Numbers(5 * kMiB + 3);
  Send(FrameOf(numbers));
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(*end_, ReadEnd::kFrame) << status_.message();
  ASSERT_EQ(body_.size(), numbers.size());
  EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), body_.data()));
}

}  // namespace
}  // namespace persia
