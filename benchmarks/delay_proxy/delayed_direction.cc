#include "benchmarks/delay_proxy/delayed_direction.h"

#include <boost/asio/write.hpp>
#include <utility>

namespace persia::bench {
namespace {

constexpr size_t kChunkBytes = 256u << 10;

// A completion condition that lets a system call move any number of bytes. With
// Asio's default condition, a call moves at most 64 KiB.
size_t UntilDone(const ErrorCode& error, size_t /*transferred*/) {
  return error ? 0 : SIZE_MAX;
}

}  // namespace

void SocketPair::Close() {
  ErrorCode ignored;
  client.close(ignored);
  server.close(ignored);
}

DelayedDirection::DelayedDirection(std::shared_ptr<SocketPair> pair,
                                   Socket* from, Socket* to,
                                   double delay_seconds)
    : pair_(std::move(pair)),
      from_(from),
      to_(to),
      delay_seconds_(delay_seconds),
      timer_(from->get_executor()) {}

void DelayedDirection::Read() {
  if (idle_.empty()) idle_.emplace_back(kChunkBytes);
  reading_.memory = std::move(idle_.back());
  idle_.pop_back();
  from_->async_read_some(
      asio::buffer(reading_.memory),
      [self = shared_from_this()](const ErrorCode& error, size_t bytes) {
        self->OnRead(error, bytes);
      });
}

void DelayedDirection::OnRead(const ErrorCode& error, size_t bytes) {
  ended_ = bool(error);
  if (!ended_) {
    reading_.size = bytes;
    reading_.due = DeadlineAfter(delay_seconds_);
    waiting_.push_back(std::move(reading_));
    Read();
  }
  if (!passing_on_) PassOn();
}

void DelayedDirection::PassOn() {
  passing_on_ = !waiting_.empty();
  if (passing_on_) {
    timer_.expires_at(waiting_.front().due);
    timer_.async_wait(
        [self = shared_from_this()](const ErrorCode&) { self->Write(); });
  } else if (ended_) {
    ErrorCode ignored;
    to_->shutdown(asio::socket_base::shutdown_send, ignored);
  }
}

void DelayedDirection::Write() {
  const Clock::time_point now = Clock::now();
  std::vector<asio::const_buffer> due;
  for (const Chunk& chunk : waiting_) {
    if (chunk.due > now) break;
    due.emplace_back(chunk.memory.data(), chunk.size);
  }
  const size_t chunks = due.size();
  asio::async_write(
      *to_, std::move(due), UntilDone,
      [self = shared_from_this(), chunks](const ErrorCode& error, size_t) {
        self->OnWritten(error, chunks);
      });
}

void DelayedDirection::OnWritten(const ErrorCode& error, size_t chunks) {
  if (error) return pair_->Close();
  for (size_t i = 0; i < chunks; ++i) {
    idle_.push_back(std::move(waiting_.front().memory));
    waiting_.pop_front();
  }
  PassOn();
}

}  // namespace persia::bench
