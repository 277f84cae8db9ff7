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

constexpr int kIoThreads = 2;
constexpr double kStopSeconds = 20;

const char* Option(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  std::fprintf(stderr, "%s is missing\n", name);
  std::exit(2);
}

// Nobody may read half of it.
bool WritePort(const std::string& path, int port) {
  const std::string partial = path + ".part";
  std::ofstream(partial) << port << "\n";
  return std::rename(partial.c_str(), path.c_str()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Before any thread, so that none of them takes the signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  persia_server* server = nullptr;
  const int port = std::atoi(Option(argc, argv, "--port"));
  persia_server_options options = {};
  options.host = "127.0.0.1";
  options.port = port;
  options.io_threads = kIoThreads;
  if (persia_server_start(&options, nullptr, &server) != 0) {
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
