#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "cc/pipeline/session.h"

namespace persia {
namespace {

struct Registry {
  std::mutex mutex;
  // All fields below are guarded by mutex.
  std::map<std::string, std::shared_ptr<Session>> sessions;
  std::set<std::string> closed;  // Names of closed sessions, for messages.
};

// The registry is never destroyed, since threads may still use it while the
// program exits.
Registry& GlobalRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

// Destroys the session on a thread of its own, since the last reference may be
// released in one of the session's callbacks, which must not destroy the
// session.
void DestroyElsewhere(Session* session) {
  std::thread([session] { delete session; }).detach();
}

Status NoSession(const std::string& name, bool was_closed) {
  if (was_closed) {
    return Status(
        Code::kNotFound,
        Concat(
            "session '", name,
            "' with an embedding cluster was closed by this program, as when "
            "a ptf.local_cluster is stopped. Use the model while its cluster "
            "runs; or save the model, and load it with another cluster"));
  }
  return Status(
      Code::kNotFound,
      Concat("this process has no session '", name,
             "' with an embedding cluster. Build the model here, with its "
             "PersiaEmbedding layers, before this graph runs"));
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
  registry.closed.erase(name);
  return Status();
}

Result<std::shared_ptr<Session>> FindSession(const std::string& name) {
  Registry& registry = GlobalRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.sessions.find(name);
  if (found == registry.sessions.end()) {
    return NoSession(name, registry.closed.count(name) > 0);
  }
  return found->second;
}

Status CloseSession(const std::string& name) {
  Result<std::shared_ptr<Session>> session = FindSession(name);
  if (!session.ok()) return session.status();
  const Status flushed = (*session)->Flush();
  Registry& registry = GlobalRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  // Another thread may have closed the session during the flush, and may have
  // opened a new session of that name, which must stay open.
  const auto found = registry.sessions.find(name);
  if (found != registry.sessions.end() && found->second == *session) {
    registry.sessions.erase(found);
    registry.closed.insert(name);
  }
  return flushed;
}

}  // namespace persia
