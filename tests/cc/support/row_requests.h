// Requests for one table of a service, with the memory that they refer to.

#ifndef PERSIA_TESTS_CC_SUPPORT_ROW_REQUESTS_H_
#define PERSIA_TESTS_CC_SUPPORT_ROW_REQUESTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cc/service/embedding_service.h"
#include "tests/cc/support/call_result.h"

namespace persia {

inline constexpr uint32_t kRowDim = 4;

// A table of kRowDim columns whose rows differ, and plain SGD.
TableConfig RowTable(const std::string& name);

// 0, 1, ..., count - 1.
std::vector<int64_t> FirstIds(size_t count);

// Makes RowTable(name), waits, and expects it to succeed.
void CreateRowTable(EmbeddingService* service, const std::string& name);

// A lookup under way.
class PendingLookup {
 public:
  PendingLookup(EmbeddingService* service, const std::string& table,
                std::vector<int64_t> ids, double seconds = 30);

  Status Wait() const { return result_.Wait(); }
  bool ready() const { return result_.ready(); }
  const std::vector<float>& rows() const { return rows_; }
  uint64_t generation() const { return request_.generation; }

 private:
  const std::vector<int64_t> ids_;
  std::vector<float> rows_;
  LookupRequest request_;
  CallResult result_;
};

// An update under way: each id's gradient is its position plus one.
class PendingUpdate {
 public:
  PendingUpdate(EmbeddingService* service, const std::string& table,
                std::vector<int64_t> ids, uint64_t client, uint64_t sequence,
                double seconds = 30);

  Status Wait() const { return result_.Wait(); }
  bool ready() const { return result_.ready(); }
  const UpdateCounts& counts() const { return request_.counts; }

 private:
  const std::vector<int64_t> ids_;
  std::vector<float> gradients_;
  UpdateRequest request_;
  CallResult result_;
};

// The rows of `ids`; expects the lookup to succeed.
std::vector<float> LookUpRows(EmbeddingService* service,
                              const std::string& table,
                              const std::vector<int64_t>& ids);

// Sets ids[i]'s weights to `first` + i, and expects that to succeed.
void AssignRows(EmbeddingService* service, const std::string& table,
                const std::vector<int64_t>& ids, float first);

// How many rows were removed.
uint64_t RemoveRows(EmbeddingService* service, const std::string& table,
                    const std::vector<int64_t>& ids);

// All rows by id, weights then state, in pages of `max_rows`. Expects no id
// twice.
std::map<int64_t, std::vector<float>> ExportRows(EmbeddingService* service,
                                                 const std::string& table,
                                                 uint64_t max_rows);

// The service's counters; expects the call to succeed.
std::vector<ServiceStats> StatsOf(EmbeddingService* service);

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SUPPORT_ROW_REQUESTS_H_
