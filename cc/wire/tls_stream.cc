#include "cc/wire/tls_stream.h"

#include <boost/asio/write.hpp>
#include <utility>

namespace persia {
namespace {

Status EndedWithin(const ErrorCode& error) {
  return Status(Code::kUnavailable,
                Concat("the connection ended within the TLS handshake (",
                       Reason(error), "): does the server speak TLS?"));
}

}  // namespace

TlsStream::TlsStream(Socket* socket, std::unique_ptr<TlsSession> session,
                     std::function<void()> on_input)
    : socket_(socket),
      session_(std::move(session)),
      on_input_(std::move(on_input)) {}

// ---- The handshake.

void TlsStream::Handshake(HandshakeDone done) {
  handshake_done_ = std::move(done);
  asio::post(socket_->get_executor(), [this] { Shake(); });
}

void TlsStream::Shake() {
  const Result<bool> is_done = session_->Handshake();
  if (is_done.status().code() == Code::kUnauthenticated) {
    // The peer has no TLS, so no alert is sent.
    return FinishHandshake(is_done.status());
  }
  SendOutput([this, is_done](const ErrorCode& error) {
    if (!is_done.ok()) return FinishHandshake(is_done.status());
    if (error) return FinishHandshake(EndedWithin(error));
    if (*is_done) return FinishHandshake(Status());
    Receive([this](const ErrorCode& error) {
      if (error) return FinishHandshake(EndedWithin(error));
      Shake();
    });
  });
}

// Nothing may follow the call: the callback may destroy the stream.
void TlsStream::FinishHandshake(const Status& status) {
  std::exchange(handshake_done_, nullptr)(status);
}

// ---- Reads.

void TlsStream::Read(std::vector<asio::mutable_buffer> to, ReadDone done) {
  to_ = std::move(to);
  to_part_ = 0;
  bytes_read_ = 0;
  read_done_ = std::move(done);
  // Posted, since the bytes may have arrived already, and `done` must not be
  // called before Read returns.
  asio::post(socket_->get_executor(), [this] { ReadMore(); });
}

void TlsStream::ReadMore() {
  if (reading_stopped_) return FinishRead(asio::error::operation_aborted);
  while (to_part_ < to_.size()) {
    asio::mutable_buffer& part = to_[to_part_];
    if (part.size() == 0) {
      ++to_part_;
      continue;
    }
    const Result<size_t> bytes = session_->Decrypt(
        MutableBytes(static_cast<uint8_t*>(part.data()), part.size()));
    if (!bytes.ok()) {
      error_ = bytes.status();
      return FinishRead(asio::error::connection_aborted);
    }
    if (*bytes == 0) {
      if (session_->peer_has_ended()) return FinishRead(asio::error::eof);
      return Receive([this](const ErrorCode& error) {
        error ? FinishRead(error) : ReadMore();
      });
    }
    part += *bytes;
    bytes_read_ += *bytes;
  }
  FinishRead(ErrorCode());
}

void TlsStream::FinishRead(const ErrorCode& error) {
  std::exchange(read_done_, nullptr)(error, bytes_read_);
}

// ---- Writes.

void TlsStream::Write(std::vector<asio::const_buffer> from, WriteDone done) {
  from_ = std::move(from);
  from_part_ = 0;
  bytes_written_ = 0;
  write_done_ = std::move(done);
  WriteMore();
}

void TlsStream::WriteMore() {
  const ErrorCode failure = EncryptSome();
  if (failure) {
    return asio::post(socket_->get_executor(),
                      [this, failure] { FinishWrite(failure); });
  }
  SendOutput([this](const ErrorCode& error) {
    if (error) return FinishWrite(error);
    if (from_part_ == from_.size()) return FinishWrite(ErrorCode());
    if (stopped_) return FinishWrite(asio::error::operation_aborted);
    WriteMore();
  });
}

// Encrypts bytes of the current Write until the session's output is full.
ErrorCode TlsStream::EncryptSome() {
  while (from_part_ < from_.size()) {
    asio::const_buffer& part = from_[from_part_];
    if (part.size() == 0) {
      ++from_part_;
      continue;
    }
    const Result<size_t> bytes = session_->Encrypt(
        ConstBytes(static_cast<const uint8_t*>(part.data()), part.size()));
    if (!bytes.ok()) return asio::error::connection_aborted;
    if (*bytes == 0) break;
    part += *bytes;
    bytes_written_ += *bytes;
  }
  return ErrorCode();
}

void TlsStream::FinishWrite(const ErrorCode& error) {
  std::exchange(write_done_, nullptr)(error);
}

void TlsStream::End(WriteDone done) {
  session_->End();
  SendOutput(std::move(done));
}

// ---- Ciphertext.

void TlsStream::Receive(ThenCallback then) {
  const MutableBytes room = session_->InputRoom();
  socket_->async_read_some(
      asio::buffer(room.data(), room.size()),
      [this, then = std::move(then)](const ErrorCode& error, size_t bytes) {
        if (!error) {
          session_->AddInput(bytes);
          on_input_();
        }
        then(error);
      });
}

void TlsStream::SendOutput(ThenCallback then) {
  const ConstBytes output = session_->Output();
  if (output.empty()) return then(ErrorCode());
  asio::async_write(
      *socket_, asio::buffer(output.data(), output.size()),
      asio::transfer_all(),
      [this, then = std::move(then)](const ErrorCode& error, size_t bytes) {
        session_->DropOutput(bytes);
        if (error) return then(error);
        SendOutput(then);
      });
}

}  // namespace persia
