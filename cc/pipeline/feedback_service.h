// FeedbackService: error feedback for the gradients that a service of int4
// sends.
//
// Each vector of an update is sent with its id's residual added to it (see
// Residuals). Gradients of bags, which have no id, are passed on as they are.
//
// Updates are applied exactly once, and so are residuals:
// - The residual of an id changes once per update, when the update is given to
//   the inner service. That service sends the same bytes again when it retries.
// - If an update fails, the residuals of all vectors that no server has
//   acknowledged become what they were without the update, also if later
//   updates of the ids are under way or have ended. The failed update's own
//   gradients are lost, as those of every failed update; the error says so.
//   (A server that applied its part, but could not say so in time, then gets
//   the residual a second time: at most half a step.) So a caller must not send
//   a failed update again, as it may send one to other services.
// - A vector that is not finite, which servers skip and count, leaves its
//   residual as it is.
// - Residuals belong to the rows of one generation of the store. The first
//   update of a later generation drops them, unless RestoreResiduals was called
//   for that generation. An update of an earlier one, which servers refuse, is
//   passed on as it is. If they accept it, they have lost the later one, and
//   all residuals are dropped.
// - Assign, Remove and DropTable drop the residuals of the rows that they
//   replace.
//
// Thread-safe and asynchronous, as EmbeddingService requires; blocks only while
// another call computes residuals.

#ifndef PERSIA_CC_PIPELINE_FEEDBACK_SERVICE_H_
#define PERSIA_CC_PIPELINE_FEEDBACK_SERVICE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cc/client/object_pool.h"
#include "cc/pipeline/residuals.h"
#include "cc/service/forwarding_service.h"

namespace persia {

class FeedbackService : public ForwardingService {
 public:
  // `rows_per_table`, at least 1, limits the residuals of each table.
  FeedbackService(std::unique_ptr<EmbeddingService> inner,
                  uint64_t rows_per_table);
  ~FeedbackService() override;

  void Update(UpdateRequest* request, DoneCallback done) override;
  void Assign(AssignRequest* request, DoneCallback done) override;
  void Remove(RemoveRequest* request, DoneCallback done) override;
  void DropTable(DropTableRequest* request, DoneCallback done) override;

  // The residuals, while no update is under way.
  std::vector<TableResiduals> SaveResiduals() const {
    return residuals_.Save();
  }
  // Replaces the residuals by those of a checkpoint, whose rows are the store's
  // since `generation`.
  void RestoreResiduals(const std::vector<TableResiduals>& saved,
                        uint64_t generation);

  const Residuals& residuals() const { return residuals_; }

 private:
  // An update as it is sent. An object is used again for a later update.
  struct Sent;
  using SentPool = ObjectPool<Sent>;

  // Returns whether `generation` is the newest one. Drops all residuals if it
  // is newer than those before.
  bool EnterGeneration(uint64_t generation);
  void PassOnEarlier(UpdateRequest* request, DoneCallback done);
  Status Prepare(const UpdateRequest& request, Sent* sent);
  void TakeBack(const Sent& sent, UpdateRequest* request);

  Residuals residuals_;
  SentPool sent_;
  std::mutex mutex_;
  std::optional<uint64_t> generation_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_FEEDBACK_SERVICE_H_
