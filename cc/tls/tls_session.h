// TlsSession: one end of an encrypted connection, without its I/O. Bytes from
// the peer go in and bytes for the peer come out as ciphertext; everything else
// is plaintext.
//
// Not thread-safe, never blocks.

#ifndef PERSIA_CC_TLS_TLS_SESSION_H_
#define PERSIA_CC_TLS_TLS_SESSION_H_

#include <cstddef>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

class TlsSession {
 public:
  virtual ~TlsSession() = default;

  // Progresses as far as the received bytes allow. Returns true once this end
  // has verified the peer; a client may still learn from a later Decrypt that
  // the server refuses it. On an error, too, send the output to the peer: it
  // says what is wrong.
  //
  // kUnauthenticated: the peer does not speak TLS. kPermissionDenied: this end
  // refuses the peer's certificate, or the peer this end's. kDataLoss: the
  // received bytes are not valid TLS 1.3.
  virtual Result<bool> Handshake() = 0;

  // Returns how many bytes were decrypted to `to`, which must not be empty. 0:
  // more input is needed, unless peer_has_ended(). Errors are those of
  // Handshake.
  virtual Result<size_t> Decrypt(MutableBytes to) = 0;

  // Whether the peer has announced that it sends nothing more.
  virtual bool peer_has_ended() const = 0;

  // Returns how many bytes of `from`, which must not be empty, were encrypted.
  // 0: output must be sent first; then call it again with the same bytes at the
  // beginning of `from`.
  virtual Result<size_t> Encrypt(ConstBytes from) = 0;

  // Announces to the peer that nothing more will be sent.
  virtual void End() = 0;

  // Write the peer's next bytes to InputRoom, then pass their number to
  // AddInput. The room is not empty after Handshake or Decrypt asked for more.
  virtual MutableBytes InputRoom() = 0;
  virtual void AddInput(size_t bytes) = 0;

  // Send the next bytes for the peer from Output, which may not be all, then
  // pass the number sent to DropOutput.
  virtual ConstBytes Output() = 0;
  virtual void DropOutput(size_t bytes) = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_TLS_TLS_SESSION_H_
