// A shard without Python around it, to be built with a sanitizer: `persia ps`
// cannot be, since its interpreter would have to be, too.
//
//   shard_host --port 0 --port-file FILE     until SIGTERM or SIGINT

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "cc/capi/persia.h"

namespace {

constexpr double kStopSeconds = 20;

const char* Option(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  std::fprintf(stderr, "%s is missing\n", name);
  std::exit(2);
}

// Renamed into place: no other process may read half of it.
bool WritePort(const std::string& path, int port) {
  const std::string partial = path + ".part";
  std::ofstream(partial) << port << "\n";
  return std::rename(partial.c_str(), path.c_str()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  // The signals are blocked before any thread starts, so that no thread takes
  // them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  persia_server* server = nullptr;
  const persia_option options[] = {{"port", Option(argc, argv, "--port")}};
  if (persia_server_start(PERSIA_SHARD, options, 1, nullptr, &server) != 0) {
    std::fprintf(stderr, "%s\n", persia_last_error());
    return 1;
  }
  if (!WritePort(Option(argc, argv, "--port-file"),
                 persia_server_port(server))) {
    std::perror("the port file cannot be written");
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  persia_server_stop(server, kStopSeconds);
  persia_server_free(server);
  return 0;
}
