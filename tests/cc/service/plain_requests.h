// Requests for plain ids of one table, with the memory that they refer to.

#ifndef PERSIA_TESTS_CC_SERVICE_PLAIN_REQUESTS_H_
#define PERSIA_TESTS_CC_SERVICE_PLAIN_REQUESTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/service/embedding_service.h"
#include "tests/cc/service/outcome.h"

namespace persia {

// `ids` must outlive the result.
inline TableIds PlainIds(const std::string& table, uint32_t dim,
                         const std::vector<int64_t>& ids) {
  TableIds plain;
  plain.table = HashName(table);
  plain.dim = dim;
  plain.ids = ids;
  return plain;
}

// A lookup; its request may be changed until it is started.
class PlainLookup {
 public:
  PlainLookup(const std::string& table, uint32_t dim, std::vector<int64_t> ids)
      : ids_(std::move(ids)), rows_(ids_.size() * dim, -77.0f) {
    request.deadline = DeadlineAfter(600);
    request.tables = {{PlainIds(table, dim, ids_), rows_}};
  }

  PlainLookup& Start(EmbeddingService* service) {
    service->Lookup(&request, outcome_.done());
    return *this;
  }

  bool ended() const { return outcome_.status.has_value(); }
  // Precondition of both: it has ended.
  Code code() const { return outcome_.status->code(); }
  const std::vector<float>& rows() const {
    EXPECT_EQ(code(), Code::kOk) << outcome_.status->message();
    return rows_;
  }

  LookupRequest request;

 private:
  const std::vector<int64_t> ids_;
  std::vector<float> rows_;
  Outcome outcome_;
};

// An update by `gradient` in every column, at a learning rate of 1.
class PlainUpdate {
 public:
  PlainUpdate(const std::string& table, uint32_t dim, std::vector<int64_t> ids,
              float gradient)
      : ids_(std::move(ids)), gradients_(ids_.size() * dim, gradient) {
    request.deadline = DeadlineAfter(600);
    request.tables = {{PlainIds(table, dim, ids_), gradients_, 1.0f}};
  }

  PlainUpdate& Start(EmbeddingService* service, uint64_t client,
                     uint64_t sequence) {
    request.client = client;
    request.sequence = sequence;
    service->Update(&request, outcome_.done());
    return *this;
  }

  bool ended() const { return outcome_.status.has_value(); }
  // Precondition: it has ended.
  Code code() const { return outcome_.status->code(); }

  UpdateRequest request;

 private:
  const std::vector<int64_t> ids_;
  std::vector<float> gradients_;
  Outcome outcome_;
};

// Makes the table, and returns the outcome. The call must end before it
// returns.
inline Status CreateNow(EmbeddingService* service, const TableConfig& config) {
  CreateTableRequest request;
  request.deadline = DeadlineAfter(600);
  request.config = config;
  Outcome outcome;
  service->CreateTable(&request, outcome.done());
  return *outcome.status;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVICE_PLAIN_REQUESTS_H_
