#include "cc/serving/credential_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iomanip>
#include <sstream>
#include <tuple>
#include <utility>

#include "cc/files/descriptor.h"

namespace persia {
namespace {

constexpr size_t kLeastTokenBytes = 16;
constexpr size_t kMostTokenBytes = 4096;
constexpr size_t kMostTlsBytes = size_t{1} << 20;
constexpr uid_t kRoot = 0;

enum class Readers { kOwner, kAnybody };

Status CannotRead(const char* what, const std::string& path) {
  return InvalidArgument("the ", what, " ", path,
                         " cannot be read: ", std::strerror(errno));
}

Status CheckAccess(const char* what, const std::string& path,
                   const struct stat& file) {
  const mode_t group = file.st_uid == kRoot ? S_IRGRP : 0;
  if ((file.st_mode & (S_IRWXG | S_IRWXO) & ~group) == 0) return Status();
  std::ostringstream octal;
  octal << std::oct << std::setfill('0') << std::setw(3)
        << (file.st_mode & 07777);
  return InvalidArgument(
      "the ", what, " ", path,
      " must be accessible only to its owner, or be root's and readable by its "
      "group, but it belongs to user ",
      file.st_uid, " and its mode is ", octal.str(), ": run `chmod 600 ", path,
      "`, or for a Secret of Kubernetes set `defaultMode: 0440`");
}

Result<std::string> Read(const char* what, const std::string& path, size_t most,
                         Readers readers) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about;
  if (file.number() < 0 || fstat(file.number(), &about) != 0) {
    return CannotRead(what, path);
  }
  if (readers == Readers::kOwner) {
    PERSIA_RETURN_IF_ERROR(CheckAccess(what, path, about));
  }
  std::string content(most, '\0');
  size_t size = 0;
  while (size < most) {
    const ssize_t got = read(file.number(), &content[size], most - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(what, path);
    if (got == 0) break;
    size += got;
  }
  content.resize(size);
  return content;
}

bool EndsWith(const std::string& text, char last) {
  return !text.empty() && text.back() == last;
}

std::string HowToMake(const std::string& path) {
  return Concat(": make one with `(umask 077; openssl rand -hex 32 > ", path,
                ")`");
}

Status CheckToken(const std::string& path, const std::string& token) {
  if (token.size() < kLeastTokenBytes || token.size() > kMostTokenBytes) {
    return InvalidArgument(
        "the token in ", path, " must have from ", kLeastTokenBytes, " to ",
        kMostTokenBytes, " bytes, received ",
        token.size() > kMostTokenBytes ? std::string("more")
                                       : Concat(token.size()),
        HowToMake(path));
  }
  if (token.find_first_of(std::string("\0\n", 2)) == std::string::npos) {
    return Status();
  }
  return InvalidArgument("the token in ", path,
                         " must be one line without a NUL", HowToMake(path));
}

}  // namespace

Result<std::string> ReadTokenFile(const std::string& path) {
  if (path.empty()) return std::string();
  auto token = Read("token file", path, kMostTokenBytes + 2, Readers::kOwner);
  if (!token.ok()) return token.status();
  if (EndsWith(*token, '\n')) token->pop_back();
  if (EndsWith(*token, '\r')) token->pop_back();
  PERSIA_RETURN_IF_ERROR(CheckToken(path, *token));
  return token;
}

Result<TlsCredentials> ReadTlsFiles(const std::string& certificate,
                                    const std::string& key,
                                    const std::string& ca) {
  if (certificate.empty() && key.empty() && ca.empty()) return TlsCredentials();
  if (certificate.empty() || key.empty() || ca.empty()) {
    return InvalidArgument(
        "TLS is mutual: each process needs a certificate, its key and the "
        "certificate authority of its peers. Set $PERSIA_TLS_CERTIFICATE, "
        "$PERSIA_TLS_KEY and $PERSIA_TLS_CA, or none of the three. Received: "
        "\"",
        certificate, "\", \"", key, "\" and \"", ca, "\"");
  }
  TlsCredentials read;
  for (const auto& [what, path, readers, text] :
       {std::tuple("TLS certificate", &certificate, Readers::kAnybody,
                   &read.certificate),
        std::tuple("TLS key", &key, Readers::kOwner, &read.key),
        std::tuple("TLS authority", &ca, Readers::kAnybody, &read.ca)}) {
    auto content = Read(what, *path, kMostTlsBytes, readers);
    if (!content.ok()) return content.status();
    *text = std::move(*content);
  }
  return read;
}

}  // namespace persia
