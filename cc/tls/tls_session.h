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

  // Continues the handshake as far as the received bytes allow. Returns true
  // once this end has verified the peer; a client may still learn from a later
  // Decrypt that the server refuses it. Even after an error, send the output to
  // the peer: the output tells the peer what is wrong.
  //
  // The errors: kUnauthenticated if the peer does not speak TLS;
  // kPermissionDenied if one end refuses the other's certificate; kDataLoss if
  // the received bytes are not valid TLS 1.3.
  virtual Result<bool> Handshake() = 0;

  // Returns how many bytes were decrypted to `to`, which must not be empty. 0
  // means that more input is needed, unless peer_has_ended(). Errors are those
  // of Handshake.
  virtual Result<size_t> Decrypt(MutableBytes to) = 0;

  // Whether the peer has announced that it sends nothing more.
  virtual bool peer_has_ended() const = 0;

  // Returns how many bytes of `from`, which must not be empty, were encrypted.
  // 0 means that output must be sent first; then call Encrypt again with the
  // same bytes at the beginning of `from`.
  virtual Result<size_t> Encrypt(ConstBytes from) = 0;

  // Announces to the peer that nothing more will be sent.
  virtual void End() = 0;

  // Write the peer's next bytes to InputRoom, then pass their number to
  // AddInput. InputRoom is not empty after Handshake or Decrypt asked for more
  // input.
  virtual MutableBytes InputRoom() = 0;
  virtual void AddInput(size_t bytes) = 0;

  // Output returns some or all of the bytes that are to be sent to the peer.
  // Send them, then pass the number of bytes sent to DropOutput.
  virtual ConstBytes Output() = 0;
  virtual void DropOutput(size_t bytes) = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_TLS_TLS_SESSION_H_
