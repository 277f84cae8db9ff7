// Connection: one client's connection at a server. Only the thread of its
// socket's event loop may use it.

#ifndef PERSIA_CC_SERVER_CONNECTION_H_
#define PERSIA_CC_SERVER_CONNECTION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cc/server/call.h"
#include "cc/server/idle_calls.h"
#include "cc/server/server_state.h"
#include "cc/wire/event_loop.h"
#include "cc/wire/frame_stream.h"
#include "cc/wire/handshake.h"

namespace persia {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using ClosedCallback =
      std::function<void(const std::shared_ptr<Connection>&)>;

  // `server` must outlive the connection, which ends when `on_closed` is
  // called.
  Connection(Socket socket, std::shared_ptr<Mailbox> mailbox,
             ServerState* server, ClosedCallback on_closed);

  void Start();

  // Called instead of Start: counts the client as refused, and sends it the
  // error `why`.
  void TurnAway(const Status& why);

  // Reads no further requests, answers those in flight, then closes the
  // connection.
  void Drain();

  // Closes the connection at once. Replies that are not written yet are lost.
  void Close();

  // Closes the connection at once, and logs why, if the peer does not read its
  // replies while other requests wait for the memory that these replies take.
  void DropIfStalled();

 private:
  void CountRefused(const Status& why);
  void CountBadFrame(const Status& why);
  void Secure();
  void OnSecured(const Status& status);
  void Serve();
  void LimitHandshake();
  void OnSilence();
  void StartHandshake();
  void OnHandshakeRead(ReadEnd end, const Status& status);
  void TakeHandshake(ConstBytes body);
  void EndHandshake();

  void ReadNext();
  void OnRead(ReadEnd end, const Status& status);
  void OnBadFrame(ReadEnd end, const Status& status);
  void OnRequest();
  std::shared_ptr<Call> TakeRead();
  void LimitWait();
  void OnWaitTick();
  void OnRoom(uint64_t wait);
  void Begin(std::shared_ptr<Call> call);
  void RefuseClient(const Status& why);
  void Refuse(uint64_t request_id, const Status& why);
  void RefuseTls();
  void ReplyLast();
  void OnDone(std::shared_ptr<Call> call, const Status& status);
  void Reply(std::shared_ptr<Call> call);
  void WriteNext();
  void OnWritten(const ErrorCode& error);
  void CloseAfterReplies();
  void ChargeReply(Call* call);

  const std::string peer_;
  Timer handshake_timer_;
  Timer wait_timer_;
  const std::shared_ptr<FrameStream> stream_;
  const std::shared_ptr<Mailbox> mailbox_;
  ServerState* const server_;
  ClosedCallback on_closed_;

  const std::shared_ptr<IdleCalls> idle_calls_;

  Status turned_away_;     // If not OK, the reason to refuse the client.
  bool securing_ = false;  // True during the TLS handshake.
  std::optional<ServerHandshake> handshake_;  // Reset once it has succeeded.
  std::shared_ptr<Call> reading_;  // The call whose frame is being read.
  int in_flight_ = 0;              // Calls whose reply is not written yet.
  std::deque<std::shared_ptr<Call>> replies_;  // The first is being written.
  uint64_t unwritten_bytes_ = 0;               // Total size of replies_.
  Clock::time_point write_began_;  // When the write of replies_.front() began.
  // A call that waits for room in the budget; meanwhile no frame is read.
  std::shared_ptr<Call> waiting_;
  // Counts the waits, so that OnRoom ignores grants of earlier waits.
  uint64_t wait_ = 0;
  // The number by which ReplyBudget::Cancel can end the wait.
  uint64_t wait_number_ = 0;
  Deadline wait_ends_;
  bool draining_ = false;
  bool lingering_ = false;
  bool closed_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_CONNECTION_H_
