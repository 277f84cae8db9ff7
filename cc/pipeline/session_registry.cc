#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "cc/pipeline/session.h"

namespace persia {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Session>> sessions;  // By mutex.
};

// Never destroyed: threads of a program that is ending may still look here.
Registry& GlobalRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

// The last user may let go in one of the session's own callbacks, which must
// not destroy it.
void DestroyElsewhere(Session* session) {
  std::thread([session] { delete session; }).detach();
}

}  // namespace

Status OpenSession(const std::string& name,
                   std::unique_ptr<EmbeddingService> service,
                   const SessionOptions& options) {
  std::shared_ptr<Session> session(
      MakeSession(std::move(service), options).release(), DestroyElsewhere);
  Registry& registry = GlobalRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  if (!registry.sessions.emplace(name, std::move(session)).second) {
    return Status(Code::kAlreadyExists,
                  Concat("session '", name, "' is open already"));
  }
  return Status();
}

Result<std::shared_ptr<Session>> FindSession(const std::string& name) {
  Registry& registry = GlobalRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.sessions.find(name);
  if (found == registry.sessions.end()) {
    return Status(
        Code::kNotFound,
        Concat("this process has no session '", name,
               "' with an embedding cluster. Build the model here, with its "
               "PersiaEmbedding layers, before this graph runs"));
  }
  return found->second;
}

Status CloseSession(const std::string& name) {
  Result<std::shared_ptr<Session>> session = FindSession(name);
  if (!session.ok()) return session.status();
  const Status flushed = (*session)->Flush();
  Registry& registry = GlobalRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  // Unless another thread closed it meanwhile, and maybe opened it anew.
  const auto found = registry.sessions.find(name);
  if (found != registry.sessions.end() && found->second == *session) {
    registry.sessions.erase(found);
  }
  return flushed;
}

}  // namespace persia
