// NamingService: adds the table's name to errors about a missing table. It
// knows the tables that were created through it.
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

  void Lookup(LookupRequest* request, DoneCallback done) override {
    inner()->Lookup(request, Naming(std::move(done)));
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    inner()->Update(request, Naming(std::move(done)));
  }

  void Export(ExportRequest* request, DoneCallback done) override {
    inner()->Export(request, Naming(std::move(done)));
  }

  void Assign(AssignRequest* request, DoneCallback done) override {
    inner()->Assign(request, Naming(std::move(done)));
  }

  void Remove(RemoveRequest* request, DoneCallback done) override {
    inner()->Remove(request, Naming(std::move(done)));
  }

 private:
  DoneCallback Naming(DoneCallback done) {
    return [this, done = std::move(done)](const Status& status) {
      done(status.ok() ? status : Named(status));
    };
  }

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
