// redis_bench: gets the distinct rows of each request from Redis, by MGET. Run
// by benchmarks/rows_over_redis.py, which requests rounds on standard input:
//
//   redis_bench WORKLOAD_FILE PORT KEYS
//
// KEYS is the number of keys per MGET: a request is a pipeline of MGETs. Keys
// are ids of 8 bytes, values are rows of 64 bytes.

#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "benchmarks/support/fail.h"
#include "benchmarks/support/measure.h"
#include "benchmarks/support/rounds.h"
#include "benchmarks/support/workload_file.h"

namespace persia::bench {
namespace {

constexpr size_t kRowBytes = 64;

class Redis {
 public:
  explicit Redis(int port) : context_(redisConnect("127.0.0.1", port)) {
    if (context_ == nullptr || context_->err != 0) Fail("cannot reach Redis");
  }
  ~Redis() { redisFree(context_); }
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  // Appends a command with these arguments.
  void Append(const std::vector<const char*>& arguments,
              const std::vector<size_t>& sizes) {
    if (redisAppendCommandArgv(context_, arguments.size(),
                               const_cast<const char**>(arguments.data()),
                               sizes.data()) != REDIS_OK) {
      Fail("Redis's client refuses a command");
    }
  }

  // Writes all commands that were appended.
  void Flush() {
    for (int done = 0; done == 0;) {
      if (redisBufferWrite(context_, &done) != REDIS_OK) Fail(context_->errstr);
    }
  }

  // Calls use(reply) with the next reply.
  template <typename Use>
  void Take(const Use& use) {
    redisReply* reply = nullptr;
    if (redisGetReply(context_, reinterpret_cast<void**>(&reply)) != REDIS_OK) {
      Fail(context_->errstr);
    }
    if (reply->type == REDIS_REPLY_ERROR) Fail(reply->str);
    use(*reply);
    freeReplyObject(reply);
  }

 private:
  redisContext* const context_;
};

// A command: a name and keys, each with or without a value.
class Command {
 public:
  explicit Command(const char* name) { Add(name, std::strlen(name)); }

  void Add(const void* bytes, size_t size) {
    arguments.push_back(static_cast<const char*>(bytes));
    sizes.push_back(size);
  }

  std::vector<const char*> arguments;
  std::vector<size_t> sizes;
};

void Fill(const Workload& workload, int port) {
  Redis redis(port);
  constexpr size_t kBatch = 1000;
  const std::string row(kRowBytes, 'x');
  for (size_t feature = 0; feature < workload.features(); ++feature) {
    const auto ids = workload.rows_of(feature);
    for (size_t begin = 0; begin < ids.size(); begin += kBatch) {
      Command mset("MSET");
      const size_t end = std::min(begin + kBatch, ids.size());
      for (size_t i = begin; i < end; ++i) {
        mset.Add(&ids[i], sizeof(ids[i]));
        mset.Add(row.data(), row.size());
      }
      redis.Append(mset.arguments, mset.sizes);
      redis.Take([](const redisReply&) {});
    }
  }
  const Command size("DBSIZE");
  redis.Append(size.arguments, size.sizes);
  redis.Take([&](const redisReply& reply) {
    if (static_cast<size_t>(reply.integer) != workload.rows()) {
      Fail("Redis holds " + std::to_string(reply.integer) + " rows");
    }
  });
}

class RedisRequester : public Requester {
 public:
  RedisRequester(const std::vector<std::vector<int64_t>>* requests, int port,
                 size_t keys, size_t first, int in_flight)
      : requests_(requests),
        keys_(keys),
        turn_(first),
        in_flight_(in_flight),
        redis_(port) {}

  size_t Next() override {
    size_t rows = 0;
    if (under_way_.size() == in_flight_) rows = TakeRequest();
    turn_ = (turn_ + 1) % requests_->size();
    const std::vector<int64_t>& ids = (*requests_)[turn_];
    under_way_.push_back({Now(), ids.size()});
    for (size_t begin = 0; begin < ids.size(); begin += keys_) {
      Command mget("MGET");
      const size_t end = std::min(begin + keys_, ids.size());
      for (size_t i = begin; i < end; ++i) mget.Add(&ids[i], sizeof(ids[i]));
      redis_.Append(mget.arguments, mget.sizes);
    }
    redis_.Flush();
    return rows;
  }

  void Drain() override {
    while (!under_way_.empty()) TakeRequest();
  }

 private:
  struct Request {
    double begin;
    size_t rows;
  };

  // Receives a request's replies, and copies the rows to one array, as a model
  // needs them.
  size_t TakeRequest() {
    const Request request = under_way_.front();
    under_way_.pop_front();
    rows_.resize(request.rows * kRowBytes);
    size_t taken = 0;
    while (taken < request.rows) {
      redis_.Take([&](const redisReply& reply) {
        for (size_t i = 0; i < reply.elements; ++i) {
          const redisReply& row = *reply.element[i];
          if (row.len != kRowBytes) Fail("Redis lacks a row");
          std::memcpy(rows_.data() + taken++ * kRowBytes, row.str, kRowBytes);
        }
      });
    }
    seconds.push_back(Now() - request.begin);
    return request.rows;
  }

  const std::vector<std::vector<int64_t>>* const requests_;
  const size_t keys_;
  size_t turn_;
  const size_t in_flight_;
  Redis redis_;
  std::deque<Request> under_way_;
  std::vector<char> rows_;
};

std::vector<std::vector<int64_t>> DistinctIds(const Workload& workload) {
  std::vector<std::vector<int64_t>> requests;
  for (size_t r = 0; r < workload.requests(); ++r) {
    std::unordered_set<int64_t> seen;
    requests.emplace_back();
    for (const int64_t id : workload.ids(r)) {
      if (seen.insert(id).second) requests.back().push_back(id);
    }
  }
  return requests;
}

int Main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s WORKLOAD_FILE PORT KEYS\n", argv[0]);
    return 2;
  }
  const Workload workload(argv[1]);
  const int port = std::atoi(argv[2]);
  const size_t keys = std::strtoul(argv[3], nullptr, 10);
  const auto requests = DistinctIds(workload);
  Fill(workload, port);
  ServeRounds([&](const std::string&, int thread, int in_flight) {
    const size_t first = thread * requests.size() / 2;
    return std::make_unique<RedisRequester>(&requests, port, keys, first,
                                            in_flight);
  });
  return 0;
}

}  // namespace
}  // namespace persia::bench

int main(int argc, char** argv) { return persia::bench::Main(argc, argv); }
