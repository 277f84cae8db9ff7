// ForwardingService: base class of decorators of a service. It passes every
// call to the inner service.

#ifndef PERSIA_CC_SERVICE_FORWARDING_SERVICE_H_
#define PERSIA_CC_SERVICE_FORWARDING_SERVICE_H_

#include <memory>
#include <utility>

#include "cc/service/embedding_service.h"

namespace persia {

class ForwardingService : public EmbeddingService {
 public:
  explicit ForwardingService(std::unique_ptr<EmbeddingService> inner)
      : owned_(std::move(inner)), inner_(owned_.get()) {}

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    inner_->CreateTable(request, std::move(done));
  }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    inner_->Lookup(request, std::move(done));
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    inner_->Update(request, std::move(done));
  }

  void Stats(StatsRequest* request, DoneCallback done) override {
    inner_->Stats(request, std::move(done));
  }

  void Export(ExportRequest* request, DoneCallback done) override {
    inner_->Export(request, std::move(done));
  }

  void Assign(AssignRequest* request, DoneCallback done) override {
    inner_->Assign(request, std::move(done));
  }

  void Remove(RemoveRequest* request, DoneCallback done) override {
    inner_->Remove(request, std::move(done));
  }

  void DropTable(DropTableRequest* request, DoneCallback done) override {
    inner_->DropTable(request, std::move(done));
  }

  void Changes(ChangesRequest* request, DoneCallback done) override {
    inner_->Changes(request, std::move(done));
  }

  void Checkpoint(CheckpointRequest* request, DoneCallback done) override {
    inner_->Checkpoint(request, std::move(done));
  }

 protected:
  EmbeddingService* inner() const { return inner_; }

  // Destroys the inner service, which completes its outstanding calls. A
  // decorator whose own members those completions use must call it first in its
  // destructor.
  void EndInner() { owned_.reset(); }

 private:
  std::unique_ptr<EmbeddingService> owned_;
  // Valid while owned_ is being destroyed, too.
  EmbeddingService* const inner_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FORWARDING_SERVICE_H_
