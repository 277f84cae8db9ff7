// A service in memory with two tables, and calls of it.

#ifndef PERSIA_TESTS_CC_SHARD_LOCAL_SERVICE_FIXTURE_H_
#define PERSIA_TESTS_CC_SHARD_LOCAL_SERVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/shard/local_service.h"
#include "tests/cc/store/make_config.h"

namespace persia {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

// A service with tables "a" (dim 2) and "b" (dim 1), rows starting at 1 and
// falling by a gradient times the learning rate.
class LocalServiceFixture : public ::testing::Test {
 protected:
  LocalServiceFixture() : service_(MakeLocalService()) {
    EXPECT_TRUE(Create(MakeConfig("a", 2, "ones", "sgd")).ok());
    EXPECT_TRUE(Create(MakeConfig("b", 1, "ones", "sgd")).ok());
  }

  // The status of a call that must complete before it returns.
  template <typename Request>
  Status Call(void (EmbeddingService::*method)(Request*, DoneCallback),
              Request* request) {
    int calls = 0;
    Status outcome;
    (service_.get()->*method)(request, [&](Status status) {
      ++calls;
      outcome = std::move(status);
    });
    EXPECT_EQ(calls, 1);
    return outcome;
  }

  Status Create(const TableConfig& config, uint64_t* rows = nullptr) {
    CreateTableRequest request;
    request.config = config;
    const Status status = Call(&EmbeddingService::CreateTable, &request);
    if (rows != nullptr) *rows = request.rows;
    return status;
  }

  Floats Look(const std::string& table, uint32_t dim, const Ids& ids,
              bool read_only = false) {
    Floats rows(ids.size() * dim, -77.0f);
    LookupRequest request;
    request.read_only = read_only;
    request.tables = {{IdsOf(table, dim, ids), rows}};
    EXPECT_TRUE(Call(&EmbeddingService::Lookup, &request).ok());
    return rows;
  }

  static TableIds IdsOf(const std::string& table, uint32_t dim,
                        const Ids& ids) {
    TableIds table_ids;
    table_ids.table = HashName(table);
    table_ids.dim = dim;
    table_ids.ids = ids;
    return table_ids;
  }

  std::unique_ptr<EmbeddingService> service_;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SHARD_LOCAL_SERVICE_FIXTURE_H_
