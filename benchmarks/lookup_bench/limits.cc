#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "benchmarks/lookup_bench/requesters.h"
#include "benchmarks/support/fail.h"
#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

constexpr size_t kConnections = 2;
constexpr size_t kIdBytes = sizeof(int64_t);
constexpr size_t kRowBytes = kDim * sizeof(float);

class GatherRequester : public Requester {
 public:
  GatherRequester(const Workload* workload, HugeArray* flat, size_t first)
      : flat_(flat), turn_(first), out_(workload->ids(0).size() * kRowBytes) {
    for (size_t r = 0; r < workload->requests(); ++r) {
      const auto places = workload->places(r);
      std::vector<uint32_t> distinct(places.begin(), places.end());
      // In order of first appearance, as in requests to the service.
      std::vector<char> seen(workload->rows());
      const auto is_repeated = [&seen](uint32_t place) {
        return std::exchange(seen[place], 1) != 0;
      };
      distinct.erase(
          std::remove_if(distinct.begin(), distinct.end(), is_repeated),
          distinct.end());
      requests_.push_back(std::move(distinct));
    }
  }

  size_t Next() override {
    turn_ = (turn_ + 1) % requests_.size();
    const std::vector<uint32_t>& places = requests_[turn_];
    const double begin = Now();
    GatherRows(flat_->data(), places.data(), places.size(), out_.floats());
    seconds.push_back(Now() - begin);
    return places.size();
  }

 private:
  HugeArray* const flat_;
  size_t turn_;
  HugeArray out_;
  std::vector<std::vector<uint32_t>> requests_;
};

bool ReadAll(int socket, char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t read = recv(socket, bytes, count, 0);
    if (read <= 0) return false;
    bytes += read;
    count -= read;
  }
  return true;
}

bool WriteAll(int socket, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = send(socket, bytes, count, MSG_NOSIGNAL);
    if (written <= 0) return false;
    bytes += written;
    count -= written;
  }
  return true;
}

void SetNoDelay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

[[noreturn]] void Serve(int listener, size_t rows) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  HugeArray request(rows * kIdBytes);
  HugeArray reply(rows * kRowBytes);
  while (true) {
    const int client = accept(listener, nullptr, nullptr);
    if (client < 0) _exit(1);
    SetNoDelay(client);
    while (ReadAll(client, request.data(), rows * kIdBytes) &&
           WriteAll(client, reply.data(), rows * kRowBytes)) {
    }
    close(client);
  }
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

class TransportRequester : public Requester {
 public:
  TransportRequester(int port, size_t rows)
      : rows_(rows),
        request_(rows * kIdBytes),
        reply_(rows * kRowBytes),
        socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in address = Loopback(port);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
      Fail("cannot connect to a server of the transport's limit");
    }
    SetNoDelay(socket_);
  }

  ~TransportRequester() override { close(socket_); }

  size_t Next() override {
    const double begin = Now();
    if (!WriteAll(socket_, request_.data(), rows_ * kIdBytes) ||
        !ReadAll(socket_, reply_.data(), rows_ * kRowBytes)) {
      Fail("a server of the transport's limit is gone");
    }
    seconds.push_back(Now() - begin);
    return rows_;
  }

 private:
  const size_t rows_;
  HugeArray request_;
  HugeArray reply_;
  const int socket_;
};

}  // namespace

std::unique_ptr<Requester> MakeGatherRequester(const Workload* workload,
                                               HugeArray* flat, size_t first) {
  return std::make_unique<GatherRequester>(workload, flat, first);
}

TransportServers::TransportServers(size_t rows) : rows_(rows / kConnections) {
  for (size_t i = 0; i < kConnections; ++i) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener, 16) != 0 ||
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size)) {
      Fail("cannot listen on loopback");
    }
    const int pid = fork();
    if (pid < 0) Fail("cannot fork");
    if (pid == 0) Serve(listener, rows_);
    close(listener);
    processes_.push_back({pid, ntohs(address.sin_port)});
  }
}

TransportServers::~TransportServers() {
  for (const Process& process : processes_) {
    kill(process.pid, SIGTERM);
    waitpid(process.pid, nullptr, 0);
  }
}

std::unique_ptr<Requester> TransportServers::MakeRequester(
    size_t server) const {
  return std::make_unique<TransportRequester>(
      processes_[server % processes_.size()].port, rows_);
}

}  // namespace persia::bench
