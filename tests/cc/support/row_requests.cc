#include "tests/cc/support/row_requests.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "cc/base/hash.h"

namespace persia {
namespace {

TableIds PlainIds(const std::string& table, const std::vector<int64_t>& ids) {
  TableIds plain;
  plain.table = HashName(table);
  plain.dim = kRowDim;
  plain.ids = ids;
  return plain;
}

}  // namespace

TableConfig RowTable(const std::string& name) {
  TableConfig config;
  config.name = name;
  config.dim = kRowDim;
  config.initializer = Spec::Parse("uniform").value();
  config.optimizer = Spec::Parse("sgd").value();
  return config;
}

std::vector<int64_t> FirstIds(size_t count) {
  std::vector<int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

void CreateRowTable(EmbeddingService* service, const std::string& name) {
  CreateTableRequest request;
  request.deadline = DeadlineAfter(30);
  request.config = RowTable(name);
  CallResult result;
  service->CreateTable(&request, result.done());
  const Status status = result.Wait();
  EXPECT_TRUE(status.ok()) << status.message();
}

PendingLookup::PendingLookup(EmbeddingService* service,
                             const std::string& table, std::vector<int64_t> ids,
                             double seconds)
    : ids_(std::move(ids)), rows_(ids_.size() * kRowDim) {
  request_.deadline = DeadlineAfter(seconds);
  request_.tables = {TableLookup{PlainIds(table, ids_), rows_}};
  service->Lookup(&request_, result_.done());
}

PendingUpdate::PendingUpdate(EmbeddingService* service,
                             const std::string& table, std::vector<int64_t> ids,
                             uint64_t client, uint64_t sequence, double seconds)
    : ids_(std::move(ids)), gradients_(ids_.size() * kRowDim) {
  for (size_t i = 0; i < gradients_.size(); ++i) {
    gradients_[i] = static_cast<float>(i / kRowDim + 1);
  }
  request_.deadline = DeadlineAfter(seconds);
  request_.client = client;
  request_.sequence = sequence;
  request_.tables = {TableUpdate{PlainIds(table, ids_), gradients_, 1.0f}};
  service->Update(&request_, result_.done());
}

std::vector<float> LookUpRows(EmbeddingService* service,
                              const std::string& table,
                              const std::vector<int64_t>& ids) {
  const PendingLookup lookup(service, table, ids);
  const Status status = lookup.Wait();
  EXPECT_TRUE(status.ok()) << status.message();
  return lookup.rows();
}

void AssignRows(EmbeddingService* service, const std::string& table,
                const std::vector<int64_t>& ids, float first) {
  std::vector<float> weights(ids.size() * kRowDim);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = first + static_cast<float>(i / kRowDim);
  }
  AssignRequest request;
  request.deadline = DeadlineAfter(30);
  request.table = HashName(table);
  request.dim = kRowDim;
  request.ids = ids;
  request.weights = weights;
  CallResult result;
  service->Assign(&request, result.done());
  const Status status = result.Wait();
  EXPECT_TRUE(status.ok()) << status.message();
}

uint64_t RemoveRows(EmbeddingService* service, const std::string& table,
                    const std::vector<int64_t>& ids) {
  RemoveRequest request;
  request.deadline = DeadlineAfter(30);
  request.table = HashName(table);
  request.ids = ids;
  CallResult result;
  service->Remove(&request, result.done());
  const Status status = result.Wait();
  EXPECT_TRUE(status.ok()) << status.message();
  return request.removed;
}

std::map<int64_t, std::vector<float>> ExportRows(EmbeddingService* service,
                                                 const std::string& table,
                                                 uint64_t max_rows) {
  std::map<int64_t, std::vector<float>> rows;
  ExportRequest request;
  request.table = HashName(table);
  request.max_rows = max_rows;
  while (!request.cursor.at_end()) {
    request.deadline = DeadlineAfter(30);
    CallResult result;
    service->Export(&request, result.done());
    const Status status = result.Wait();
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) break;
    const RowPage& page = request.page;
    EXPECT_EQ(page.weights.size(), page.ids.size() * request.dim);
    EXPECT_EQ(page.state.size(), page.ids.size() * request.state_size);
    for (size_t i = 0; i < page.ids.size(); ++i) {
      const auto weights = page.weights.begin() + i * request.dim;
      const auto state = page.state.begin() + i * request.state_size;
      std::vector<float> row(weights, weights + request.dim);
      row.insert(row.end(), state, state + request.state_size);
      EXPECT_TRUE(rows.emplace(page.ids[i], std::move(row)).second)
          << page.ids[i];
    }
  }
  return rows;
}

std::vector<ServiceStats> StatsOf(EmbeddingService* service) {
  StatsRequest request;
  request.deadline = DeadlineAfter(30);
  CallResult result;
  service->Stats(&request, result.done());
  const Status status = result.Wait();
  EXPECT_TRUE(status.ok()) << status.message();
  return request.processes;
}

}  // namespace persia
