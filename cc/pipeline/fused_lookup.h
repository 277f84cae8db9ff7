// FusedLookup: the lookups of several layers as one request.
//
// It is built by one thread and then sent; it lives until the service has
// answered, whoever lets go of it before.

#ifndef PERSIA_CC_PIPELINE_FUSED_LOOKUP_H_
#define PERSIA_CC_PIPELINE_FUSED_LOOKUP_H_

#include <functional>
#include <memory>
#include <vector>

#include "cc/pipeline/layer_lookup.h"
#include "cc/service/embedding_service.h"

namespace persia {

class FusedLookup : public std::enable_shared_from_this<FusedLookup> {
 public:
  explicit FusedLookup(bool read_only) { request_.read_only = read_only; }

  void Add(std::shared_ptr<LayerLookup> lookup);

  bool empty() const { return lookups_.empty(); }
  size_t size() const { return lookups_.size(); }
  bool read_only() const { return request_.read_only; }
  const std::vector<std::shared_ptr<LayerLookup>>& lookups() const {
    return lookups_;
  }
  // Of every lookup; a table may be named more than once.
  std::vector<TableKey> Tables() const;

  // Runs work on a thread that may do anything.
  using RunLater = std::function<void(std::function<void()>)>;

  struct SendOptions {
    Deadline deadline;
    uint64_t client = 0;  // As LookupRequest has them.
    uint64_t visible_sequence = 0;
    RunLater run_later;  // Calls those who wait for rows.
  };

  // Sends the request; its outcome completes every lookup. Once.
  void Send(EmbeddingService* service, const SendOptions& options);

  // Completes every lookup with an error, instead of sending.
  void Fail(const Status& status, const RunLater& run_later);

 private:
  void PlaceRows();
  void Finish(const Status& status, const RunLater& run_later);

  std::vector<std::shared_ptr<LayerLookup>> lookups_;
  std::shared_ptr<float[]> rows_;  // Of all lookups, one after the other.
  LookupRequest request_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_FUSED_LOOKUP_H_
