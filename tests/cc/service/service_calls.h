// Calls of a service whose tables have kDim columns.

#ifndef PERSIA_TESTS_CC_SERVICE_SERVICE_CALLS_H_
#define PERSIA_TESTS_CC_SERVICE_SERVICE_CALLS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "cc/base/hash.h"
#include "cc/service/embedding_service.h"
#include "tests/cc/store/table_calls.h"
#include "tests/cc/support/call_result.h"

namespace persia {

inline constexpr uint32_t kDim = 3;

using Rows = std::map<int64_t, TableRow>;

template <typename Request>
Status Call(EmbeddingService* service,
            void (EmbeddingService::*method)(Request*, DoneCallback),
            Request* request) {
  CallResult result;
  (service->*method)(request, result.done());
  return result.Wait();
}

inline TableIds IdsOf(const std::string& table, const Ids& ids) {
  TableIds of;
  of.table = HashName(table);
  of.dim = kDim;
  of.ids = ids;
  return of;
}

inline Status Create(EmbeddingService* service, const TableConfig& config,
                     uint64_t* generation = nullptr) {
  CreateTableRequest request;
  request.config = config;
  const Status status = Call(service, &EmbeddingService::CreateTable, &request);
  if (generation != nullptr) *generation = request.generation;
  return status;
}

inline Floats Train(EmbeddingService* service, const std::string& table,
                    const Ids& ids) {
  Floats rows(ids.size() * kDim);
  LookupRequest request;
  request.tables = {{IdsOf(table, ids), rows}};
  const Status status = Call(service, &EmbeddingService::Lookup, &request);
  EXPECT_TRUE(status.ok()) << status.message();
  return rows;
}

// `gradients` of plain ids.
inline Status Step(EmbeddingService* service, const std::string& table,
                   const Ids& ids, const Floats& gradients, uint64_t client,
                   uint64_t sequence, UpdateCounts* counts = nullptr) {
  UpdateRequest request;
  request.client = client;
  request.sequence = sequence;
  request.tables = {{IdsOf(table, ids), gradients, 0.1f}};
  const Status status = Call(service, &EmbeddingService::Update, &request);
  if (counts != nullptr) *counts = request.counts;
  return status;
}

inline Rows RowsOf(EmbeddingService* service, const std::string& table) {
  Rows rows;
  ExportRequest request;
  request.table = HashName(table);
  request.max_rows = 1000;
  while (!request.cursor.at_end()) {
    const Status status = Call(service, &EmbeddingService::Export, &request);
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) break;
    for (size_t i = 0; i < request.page.ids.size(); ++i) {
      const float* weights = request.page.weights.data() + i * kDim;
      const float* state = request.page.state.data() + i * request.state_size;
      rows[request.page.ids[i]] = {{weights, weights + kDim},
                                   {state, state + request.state_size}};
    }
  }
  return rows;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SERVICE_SERVICE_CALLS_H_
