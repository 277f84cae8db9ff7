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
