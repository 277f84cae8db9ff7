// Frames of any bodies at a server that holds a few small tables, from their
// header to the reply's, without sockets. Earlier messages that a crash needs
// are in server_fuzz.history, which is itself an input.
//
// Leaks are checked between two servers. While one server goes on, its tables
// grow, which libFuzzer would take for a leak: it would search all memory after
// most inputs.
//
// libFuzzer: -max_len=512 -detect_leaks=0

#include <sanitizer/lsan_interface.h>

#include <cstring>
#include <memory>

#include "cc/server/call.h"
#include "cc/shard/local_service.h"
#include "cc/wire/messages.h"
#include "tests/fuzz/support/frames_input.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/history.h"
#include "tests/fuzz/support/reply_check.h"

namespace persia {
namespace {

// Small, so that a request may take only little memory.
constexpr uint64_t kMaxFuzzedBodyBytes = 1 << 16;

// A new server is made after so many inputs, or after so many bytes of inputs.
constexpr int kInputsAServer = 500;
constexpr size_t kHistoryBytes = 1 << 20;
constexpr int kServersALeakCheck = 20;

// Whether the server works on the request on another thread, for which waiting
// takes longer than the rest of an input.
bool HasItsOwnThread(const SampleMessage& request) {
  if (request.type == kRequestType<DropTableRequest>) return true;
  if (request.type == kRequestType<FilesRequest>) return true;
  if (request.type == kRequestType<HandOverRequest>) return true;
  if (request.type == kRequestType<MoveRequest>) return true;
  if (request.type == kRequestType<StandbyRequest>) return true;
  if (request.type != kRequestType<CheckpointRequest>) return false;
  CheckpointRequest checkpoint;
  return DecodeRequest(request.body, &checkpoint).ok() &&
         checkpoint.action != CheckpointAction::kProgress;
}

class FuzzedServer {
 public:
  FuzzedServer() : service_(MakeLocalService()) {
    state_.service = service_.get();
    state_.options.max_body_bytes = kMaxFuzzedBodyBytes;
    state_.address = "127.0.0.1:7000";
    for (const TableConfig& table : SampleTables()) {
      CreateTableRequest request;
      request.config = table;
      service_->CreateTable(&request, [](const Status& status) {
        FuzzCheck(status.ok(), "the samples' tables can be made");
      });
    }
  }

  // Does what a connection does with a request.
  void Serve(const SampleMessage& request) {
    OutFrame frame{std::vector<uint8_t>(kFrameHeaderBytes), {request.body}};
    SealFrame(request.type, 1, &frame);
    FrameHeader header;
    const Status status =
        ParseFrameHeader(ConstBytes(frame.head).first<kFrameHeaderBytes>(),
                         kMaxFuzzedBodyBytes, &header);
    FuzzCheck(status.ok(), "a request's header can be read");
    Call call;
    if (!call.body()->Resize(request.body.size())) return;
    if (!request.body.empty()) {
      std::memcpy(call.body()->data(), request.body.data(),
                  request.body.size());
    }
    Answer(header, &call);
    CheckReply(request, call.reply());
  }

 private:
  void Answer(const FrameHeader& header, Call* call) {
    const Status prepared = call->Prepare(header, state_.options);
    if (!prepared.ok()) return call->Finish(prepared, state_);
    bool is_done = false;
    call->Start(state_.service, [&](const Status& status) {
      is_done = true;
      call->Finish(status, state_);
    });
    FuzzCheck(is_done, "a local service answers before it returns");
  }

  const std::unique_ptr<EmbeddingService> service_;
  ServerState state_;
};

// Only once per kServersALeakCheck servers, since a check takes as long as some
// hundred inputs.
void CheckLeaks() {
  static int servers = 0;
  if (++servers % kServersALeakCheck != 0) return;
  FuzzCheck(__lsan_do_recoverable_leak_check() == 0, "no memory leaks");
}

}  // namespace

void FuzzOne(Span<const uint8_t> bytes) {
  static History history("server_fuzz.history", kHistoryBytes);
  static std::unique_ptr<FuzzedServer> server;
  static int inputs = 0;
  while (!bytes.empty()) {
    const SampleMessage request = TakeFrame(&bytes);
    if (!IsRequest(request.type) || HasItsOwnThread(request)) continue;
    const bool is_full = !history.Add(request);
    if (is_full || inputs >= kInputsAServer || server == nullptr) {
      server.reset();
      CheckLeaks();
      server = std::make_unique<FuzzedServer>();
      inputs = 0;
      history.Clear();
      history.Add(request);
    }
    server->Serve(request);
  }
  ++inputs;
}

// Each request alone, and several short requests in a row.
std::vector<FuzzInput> Seeds() {
  std::vector<FuzzInput> seeds;
  FuzzInput all;
  for (const SampleMessage& request : SampleRequests()) {
    seeds.emplace_back();
    AppendFrame(request, &seeds.back());
    if (all.size() + request.body.size() < 512) AppendFrame(request, &all);
  }
  seeds.push_back(all);
  return seeds;
}

}  // namespace persia

// An allocation beyond what a request may take fails, as when memory runs out:
// a table with a large filter must be an error.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=64";
}
