// NamingService: adds the table's name to errors about a missing table, if the
// table was created through this service.
//
// Thread-safe; takes a short lock only when a call fails or creates a table.

#ifndef PERSIA_CC_SERVICE_NAMING_SERVICE_H_
#define PERSIA_CC_SERVICE_NAMING_SERVICE_H_

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "cc/base/hash.h"
#include "cc/service/forwarding_service.h"
#include "cc/store/missing_table.h"

namespace persia {

class NamingService : public ForwardingService {
 public:
  explicit NamingService(std::unique_ptr<EmbeddingService> inner)
      : ForwardingService(std::move(inner)) {}
  ~NamingService() override { EndInner(); }

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      names_[HashName(request->config.name)] = request->config.name;
    }
    inner()->CreateTable(request, std::move(done));
  }

 protected:
  void OtherCall(const AnyRequest& request, DoneCallback done) override {
    inner()->Call(request,
                  [this, done = std::move(done)](const Status& status) {
                    done(status.ok() ? status : Named(status));
                  });
  }

 private:
  Status Named(const Status& status) {
    const auto key = MissingTableKey(status);
    if (!key.has_value()) return status;
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = names_.find(*key);
    return found == names_.end() ? status
                                 : NamedMissingTable(status, found->second);
  }

  std::mutex mutex_;
  std::unordered_map<TableKey, std::string> names_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_NAMING_SERVICE_H_
