// FusedLookup: the lookups of several layers as one request.
//
// One thread builds a FusedLookup and then sends it. The object keeps itself
// alive until the service has answered.

#ifndef PERSIA_CC_PIPELINE_FUSED_LOOKUP_H_
#define PERSIA_CC_PIPELINE_FUSED_LOOKUP_H_

#include <functional>
#include <memory>
#include <vector>

#include "cc/pipeline/lookup.h"
#include "cc/service/embedding_service.h"

namespace persia {

class FusedLookup : public std::enable_shared_from_this<FusedLookup> {
 public:
  explicit FusedLookup(bool read_only) { request_.read_only = read_only; }

  void Add(std::shared_ptr<Lookup> lookup);

  bool empty() const { return lookups_.empty(); }
  size_t size() const { return lookups_.size(); }
  bool read_only() const { return request_.read_only; }
  const std::vector<std::shared_ptr<Lookup>>& lookups() const {
    return lookups_;
  }
  // Returns the table of each lookup; a table may occur more than once.
  std::vector<TableKey> Tables() const;

  // A function that runs the given work on a thread that may block or run
  // TensorFlow work.
  using RunLater = std::function<void(std::function<void()>)>;

  struct SendOptions {
    Deadline deadline;
    uint64_t client = 0;  // See LookupRequest.
    uint64_t visible_sequence = 0;
    RunLater run_later;  // Runs the callbacks that wait for rows.
  };

  // Sends the request, whose outcome completes every lookup. Must be called
  // only once.
  void Send(EmbeddingService* service, const SendOptions& options);

  // Completes every lookup with an error, without sending the request.
  void Fail(const Status& status, const RunLater& run_later);

 private:
  void PlaceRows();
  void Finish(const Status& status, const RunLater& run_later);

  std::vector<std::shared_ptr<Lookup>> lookups_;
  std::shared_ptr<float[]> rows_;  // All lookups' rows, concatenated.
  LookupRequest request_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_FUSED_LOOKUP_H_
