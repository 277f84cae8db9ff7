// TlsSession: one end of an encrypted connection, without its I/O. What came
// from the peer goes into it and what is for the peer comes out of it, as
// ciphertext; the rest is plaintext.
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

  // Goes as far as it can with what has come. True once both ends know each
  // other; after that a client may still learn that the server refuses it, by
  // the first Decrypt. On an error, too, the output is for the peer: it says
  // what is wrong.
  //
  // kUnauthenticated: the peer speaks no TLS. kPermissionDenied: this end
  // refuses the peer's certificate, or the peer this end's. kDataLoss: what
  // came is not what TLS 1.3 says.
  virtual Result<bool> Handshake() = 0;

  // Gives how many bytes were decrypted to `to`, which is not empty. 0: more
  // must come first, unless the peer has ended. Errors are Handshake's.
  virtual Result<size_t> Decrypt(MutableBytes to) = 0;

  // Whether the peer said that nothing more comes.
  virtual bool peer_has_ended() const = 0;

  // Gives how many bytes of `from`, which is not empty, were encrypted. 0: the
  // output must go first; then `from` must begin with the same bytes.
  virtual Result<size_t> Encrypt(ConstBytes from) = 0;

  // Tells the peer that nothing more comes.
  virtual void End() = 0;

  // Where the peer's next bytes are written to; then, how many these were. Not
  // empty after Handshake or Decrypt wanted more.
  virtual MutableBytes InputRoom() = 0;
  virtual void AddInput(size_t bytes) = 0;

  // The next bytes for the peer, maybe not all; then, how many were sent.
  virtual ConstBytes Output() = 0;
  virtual void DropOutput(size_t bytes) = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_TLS_TLS_SESSION_H_
