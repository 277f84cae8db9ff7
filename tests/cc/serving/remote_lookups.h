// Lookups of a service, and of RemoteTables, with the memory that they refer
// to. A FakeService gives every id the row {id, id, ...}.

#ifndef PERSIA_TESTS_CC_SERVING_REMOTE_LOOKUPS_H_
#define PERSIA_TESTS_CC_SERVING_REMOTE_LOOKUPS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/serving/remote_tables.h"
#include "tests/cc/pipeline/outcome.h"

namespace persia {

inline constexpr uint32_t kRemoteDim = 2;

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

// The fake service's rows.
inline Floats FakeRows(const Ids& ids) {
  Floats rows;
  for (const int64_t id : ids) rows.insert(rows.end(), kRemoteDim, id);
  return rows;
}

// A read-only lookup of a service. Must outlive the call.
class ServiceLookup {
 public:
  explicit ServiceLookup(Ids ids)
      : ids_(std::move(ids)), rows_(ids_.size() * kRemoteDim, -77.0f) {
    request.deadline = DeadlineAfter(600);
    request.read_only = true;
    request.tables.resize(1);
    request.tables[0].ids.table = HashName("t");
    request.tables[0].ids.dim = kRemoteDim;
    request.tables[0].ids.ids = ids_;
    request.tables[0].rows = rows_;
  }

  ServiceLookup& Start(EmbeddingService* service) {
    service->Lookup(&request, outcome_.done());
    return *this;
  }

  void Wait() const { static_cast<void>(outcome_.status()); }
  Status status() const { return outcome_.status(); }
  const Floats& rows() const {
    ExpectOk(outcome_.status());
    return rows_;
  }

  LookupRequest request;

 private:
  const Ids ids_;
  Floats rows_;
  Outcome outcome_;
};

// A lookup as an op makes it.
class OpLookup {
 public:
  OpLookup(const std::string& op, Ids ids)
      : op_(op),
        ids_(std::move(ids)),
        rows_(ids_.size() * kRemoteDim, -77.0f) {}

  OpLookup& Start(RemoteTables* tables) {
    tables->Lookup({op_, HashName(op_), kRemoteDim, ids_}, rows_,
                   outcome_.done());
    return *this;
  }

  void Wait() const { static_cast<void>(outcome_.status()); }
  Status status() const { return outcome_.status(); }
  const Floats& rows() const {
    ExpectOk(outcome_.status());
    return rows_;
  }

 private:
  const std::string op_;
  const Ids ids_;
  Floats rows_;
  Outcome outcome_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVING_REMOTE_LOOKUPS_H_
