// Memory that a connection gives back once it is not needed.

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/cc/server/server_fixture.h"

namespace persia {
namespace {

// A reply of 64 MiB.
constexpr size_t kLargeCount = size_t{4} << 20;
constexpr uint64_t kLargeBytes = kLargeCount * kRowDim * sizeof(float);

// The process's memory without what malloc keeps to itself. That is up to 64
// MiB per thread after large blocks of growing sizes were freed, and depends on
// their order.
uint64_t ResidentBytes() {
  malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Less than the memory of one large reply, and much more than noise.
constexpr uint64_t kLittle = kLargeBytes / 2;

// The lookups are read-only, so that the table takes none of the memory.
class ConnectionMemoryTest : public ServerFixture {
 protected:
  ConnectionMemoryTest() {
    ServerOptions options;
    options.memory_seconds = 0.05;
    options.max_unwritten_bytes = 2 * kLargeBytes;
    options.io_threads = 1;
    StartServerWith(options);
  }

  void AskForMuch(RawSocket* client) {
    const std::vector<int64_t> ids(kLargeCount, 1);
    LookupRequest request;
    request.read_only = true;
    request.tables.resize(1);
    request.tables[0].ids.table = HashName(kTable);
    request.tables[0].ids.dim = kRowDim;
    request.tables[0].ids.ids = ids;
    client->Send(EncodeLookup(1, request, WireDtype::kFloat32));
  }

  void LookUpMuch(RawSocket* client) {
    AskForMuch(client);
    EXPECT_EQ(client->ReceiveFrame().header.type, kReplyType<LookupRequest>);
  }

  // Several times.
  void LetTimerRun() {
    const Deadline later = DeadlineAfter(0.3);
    while (Clock::now() < later) AskForStats();
  }

  // The memory of the process after such lookups, for which the server's thread
  // keeps memory of its own, once no connection is left.
  uint64_t WithoutConnections() {
    RawSocket client = Connect();
    LookUpMuch(&client);
    LookUpMuch(&client);
    const uint64_t with = ResidentBytes();
    { const RawSocket ended = std::move(client); }
    const Deadline deadline = DeadlineAfter(20);
    while (ResidentBytes() > with - kLargeBytes && Clock::now() < deadline) {
      usleep(1000);
    }
    return ResidentBytes();
  }
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

TEST_F(ConnectionMemoryTest, AnIdleConnectionKeepsLittle) {
  const uint64_t before = WithoutConnections();
  RawSocket client = Connect();
  LookUpMuch(&client);
  // A connection has two calls that take turns: now one of them is idle, and
  // the other waits for the next request.
  LookUpMuch(&client);
  const Deadline deadline = DeadlineAfter(20);
  while (ResidentBytes() > before + kLittle && Clock::now() < deadline) {
    usleep(1000);
  }
  EXPECT_LE(ResidentBytes(), before + kLittle);
  ExpectServed(&client, 3);
}

TEST_F(ConnectionMemoryTest, SmallRequestsKeepLittle) {
  const uint64_t before = WithoutConnections();
  RawSocket client = Connect();
  LookUpMuch(&client);
  LookUpMuch(&client);
  const Deadline deadline = DeadlineAfter(20);
  while (ResidentBytes() > before + kLittle && Clock::now() < deadline) {
    ExpectServed(&client, 3);
  }
  EXPECT_LE(ResidentBytes(), before + kLittle);
}

// The same with many connections, none of which is idle for long.
TEST_F(ConnectionMemoryTest, ManyConnectionsKeepLittleTogether) {
  ServerOptions options;
  options.memory_seconds = 3600;
  options.max_kept_total_bytes = kLargeBytes / 4;
  options.io_threads = 1;
  StartServerWith(options);
  const uint64_t before = WithoutConnections();
  std::vector<RawSocket> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(Connect());
    LookUpMuch(&clients.back());
    LookUpMuch(&clients.back());
  }
  EXPECT_LE(ResidentBytes(), before + kLittle);
  for (RawSocket& client : clients) ExpectServed(&client, 3);
}

#endif

TEST_F(ConnectionMemoryTest, AFrameThatComesSlowlyLosesNothing) {
  RawSocket client = Connect();
  LookUpMuch(&client);
  const OutFrame frame = LookupFrame(7, kTable, 50000);
  std::vector<uint8_t> bytes = frame.head;
  for (const ConstBytes part : frame.payload) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  const auto half = bytes.begin() + static_cast<ptrdiff_t>(bytes.size() / 2);
  client.Send(std::vector<uint8_t>(bytes.begin(), half));
  LetTimerRun();  // Half of the frame has come.
  client.Send(std::vector<uint8_t>(half, bytes.end()));
  EXPECT_EQ(DecodeRows(client.ReceiveFrame(), 50000),
            LookUpRows(&service_, kTable, FirstIds(50000)));
}

TEST_F(ConnectionMemoryTest, ALastReplyThatWaitsForItsReaderLosesNothing) {
  RawSocket client = Connect();
  LookUpMuch(&client);
  AskForMuch(&client);
  client.Send(
      OfVersion(kProtocolVersion + 1, EncodeRequest(7, StatsRequest())));
  while (AskForStats().bad_frames == 0) usleep(1000);
  LetTimerRun();
  EXPECT_EQ(client.ReceiveFrame().header.type, kReplyType<LookupRequest>);
  EXPECT_EQ(ExpectError(&client, 7).code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace persia
