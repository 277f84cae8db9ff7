// delay_proxy: a proxy in front of a server. It delays the traffic in both
// directions. It is native since it shares the processor with the programs that
// a benchmark measures.
//
//   delay_proxy --to HOST:PORT --delay-ms MS --port PORT --port-file FILE
//
// Listens on 127.0.0.1, on any free port if PORT is 0, writes the port to FILE,
// and runs until it is killed.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "benchmarks/delay_proxy/delayed_direction.h"
#include "benchmarks/support/fail.h"

namespace persia::bench {
namespace {

class DelayProxy {
 public:
  DelayProxy(const Tcp::endpoint& server, uint16_t port, double delay_seconds)
      : server_(server),
        delay_seconds_(delay_seconds),
        acceptor_(context_,
                  Tcp::endpoint(asio::ip::address_v4::loopback(), port)) {}

  uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void Run() {
    Accept();
    context_.run();
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](const ErrorCode& error, auto client) {
      if (!error) Connect(Socket(std::move(client)));
      Accept();
    });
  }

  void Connect(Socket client) {
    auto pair = std::make_shared<SocketPair>(
        SocketPair{std::move(client), Socket(context_)});
    pair->server.async_connect(server_, [this, pair](const ErrorCode& error) {
      if (error) return pair->Close();
      TuneSocket(&pair->client);
      TuneSocket(&pair->server);
      Pass(pair, &pair->client, &pair->server);
      Pass(pair, &pair->server, &pair->client);
    });
  }

  void Pass(const std::shared_ptr<SocketPair>& pair, Socket* from, Socket* to) {
    std::make_shared<DelayedDirection>(pair, from, to, delay_seconds_)->Start();
  }

  const Tcp::endpoint server_;
  const double delay_seconds_;
  asio::io_context context_{1};
  Acceptor acceptor_;
};

// Parses the flags of the usage above; ends the program if they are wrong.
std::map<std::string, std::string> ParseFlags(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  for (const char* name : {"--to", "--delay-ms", "--port", "--port-file"}) {
    if (flags.count(name) == 0) Fail(std::string("missing flag ") + name);
  }
  return flags;
}

Tcp::endpoint ParseEndpoint(const std::string& text) {
  const size_t colon = text.rfind(':');
  ErrorCode error;
  const auto host = asio::ip::make_address(text.substr(0, colon), error);
  if (colon == std::string::npos || error) {
    Fail("--to must be IP:PORT, received " + text);
  }
  return {host, static_cast<uint16_t>(std::stoi(text.substr(colon + 1)))};
}

// Writes the file atomically, since its reader waits for the file to exist.
void WritePort(uint16_t port, const std::string& path) {
  const std::string partial = path + ".part";
  std::ofstream(partial) << port << "\n";
  if (std::rename(partial.c_str(), path.c_str()) != 0) {
    Fail("cannot write " + path);
  }
}

int Main(int argc, char** argv) {
  auto flags = ParseFlags(argc, argv);
  DelayProxy proxy(ParseEndpoint(flags["--to"]),
                   static_cast<uint16_t>(std::stoi(flags["--port"])),
                   std::stod(flags["--delay-ms"]) / 1e3);
  WritePort(proxy.port(), flags["--port-file"]);
  proxy.Run();
  return 0;
}

}  // namespace
}  // namespace persia::bench

int main(int argc, char** argv) { return persia::bench::Main(argc, argv); }
