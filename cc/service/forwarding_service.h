// ForwardingService: base class of decorators of a service. It passes every
// call that the decorator does not override to the inner service.

#ifndef PERSIA_CC_SERVICE_FORWARDING_SERVICE_H_
#define PERSIA_CC_SERVICE_FORWARDING_SERVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cc/service/embedding_service.h"

namespace persia {

class ForwardingService : public EmbeddingService {
 public:
  explicit ForwardingService(std::unique_ptr<EmbeddingService> inner)
      : owned_(std::move(inner)), inner_(owned_.get()) {}

  Status MoveShard(uint32_t shard, const std::string& address) override {
    return inner_->MoveShard(shard, address);
  }

  Status MoveAddress(const std::string& from, const std::string& to) override {
    return inner_->MoveAddress(from, to);
  }

  SharedTopology CurrentTopology() const override {
    return inner_->CurrentTopology();
  }

  std::shared_ptr<const SlotOwners> Owners() const override {
    return inner_->Owners();
  }

 protected:
  void OtherCall(const AnyRequest& request, DoneCallback done) override {
    inner_->Call(request, std::move(done));
  }

  EmbeddingService* inner() const { return inner_; }

  // Destroys the inner service, which completes its outstanding calls. If these
  // completions use members of the decorator, the decorator must call EndInner
  // first in its destructor.
  void EndInner() { owned_.reset(); }

 private:
  std::unique_ptr<EmbeddingService> owned_;
  // Remains valid while owned_ is being destroyed.
  EmbeddingService* const inner_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FORWARDING_SERVICE_H_
