#include <map>
#include <mutex>
#include <utility>

#include "cc/client/remote_service.h"
#include "cc/serving/remote_tables.h"

namespace persia {
namespace {

struct Registry {
  std::mutex mutex;
  // `by_key` maps KeyOf(options) to the client with these options. `keys` maps
  // a client's number to its key.
  std::map<std::string, std::shared_ptr<RemoteTables>> by_key;
  std::map<uint64_t, std::string> keys;
};

// The registry is never destroyed, since other threads may still use it while
// the program exits.
Registry& GlobalRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

Result<std::shared_ptr<RemoteTables>> Open(const RemoteOptions& options) {
  PERSIA_RETURN_IF_ERROR(CheckRemoteOptions(options));
  auto access = AccessOf(options);
  if (!access.ok()) return access.status();
  RemoteServiceOptions client;
  client.wire_dtype = options.wire_dtype;
  client.auth_token = access->auth_token;
  if (!access->tls.empty()) {
    auto tls = MakeTlsContext(access->tls);
    if (!tls.ok()) return tls.status();
    client.tls = std::move(*tls);
  }
  auto service = MakeRemoteService(access->addresses, client);
  if (!service.ok()) return service.status();
  HotRowsOptions copies;
  copies.rows = options.hot_rows;
  copies.seconds = options.hot_seconds;
  return MakeRemoteTables(std::move(*service), options, *access, copies);
}

}  // namespace

Result<std::shared_ptr<RemoteTables>> FindRemoteTables(
    const RemoteOptions& options) {
  const std::string key = KeyOf(options);
  Registry& registry = GlobalRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.by_key.find(key);
  if (found != registry.by_key.end()) return found->second;
  auto opened = Open(options);
  if (!opened.ok()) return opened.status();
  registry.keys.emplace((*opened)->number(), key);
  registry.by_key.emplace(key, *opened);
  return opened;
}

std::shared_ptr<RemoteTables> NextRemoteTables(uint64_t after) {
  Registry& registry = GlobalRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto next = registry.keys.upper_bound(after);
  if (next == registry.keys.end()) return nullptr;
  return registry.by_key.at(next->second);
}

Status CloseRemoteTables(uint64_t number) {
  // Declared before `lock`, so that the client is destroyed after the registry
  // is unlocked.
  std::shared_ptr<RemoteTables> closed;
  Registry& registry = GlobalRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.keys.find(number);
  if (found == registry.keys.end()) {
    return Status(Code::kNotFound,
                  Concat("this process has no client ", number,
                         " of an exported model: it was already closed"));
  }
  closed = std::move(registry.by_key.at(found->second));
  registry.by_key.erase(found->second);
  registry.keys.erase(found);
  return Status();
}

}  // namespace persia
