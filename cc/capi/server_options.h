// The options of shards and of embedding workers, by name.
//
// VisitOptions is the only list of these options in C++: it calls visit(name,
// member) for each option. A member's initial value is the option's default. To
// add an option, add a member to the struct that uses the option, and a line to
// VisitOptions. The command-line flags of `persia ps` and `persia worker` are
// defined in persia_tf/commands.

#ifndef PERSIA_CC_CAPI_SERVER_OPTIONS_H_
#define PERSIA_CC_CAPI_SERVER_OPTIONS_H_

#include <cstdint>
#include <string>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/capi/option_text.h"
#include "cc/capi/persia.h"
#include "cc/server/server.h"
#include "cc/shard/local_service.h"
#include "cc/tls/tls_context.h"

namespace persia {

// The options that shards and embedding workers have in common.
struct HostingOptions {
  ServerOptions server;
  // PEM texts: all three are set, or none if the server does not use TLS.
  TlsCredentials tls;

  template <typename Visit>
  void VisitOptions(Visit&& visit) {
    visit("host", server.host);
    visit("port", server.port);
    visit("io_threads", server.io_threads);
    visit("auth_token", server.auth_token);
    visit("tls_certificate", tls.certificate);
    visit("tls_key", tls.key);
    visit("tls_ca", tls.ca);
    visit("insecure", server.insecure);
    visit("max_connections", server.max_connections);
    visit("max_message_bytes", server.max_body_bytes);
    visit("max_request_tables", server.request.tables);
    visit("max_request_ids", server.request.ids);
  }
};

struct ShardOptions : HostingOptions {
  LocalServiceOptions local;
  // If this server is a replica, "host:port" of the shard that it follows,
  // which must have the same token and TLS settings; otherwise empty. See
  // replica_service.h.
  std::string replica_of;
  // If this server is a standby, "host:port" of the shard whose place it may
  // take, which must have the same token and TLS settings; otherwise empty. See
  // standby_service.h.
  std::string standby_of;
  // Where clients reach a standby; empty: at the host and port it listens on.
  std::string standby_address;

  template <typename Visit>
  void VisitOptions(Visit&& visit) {
    HostingOptions::VisitOptions(visit);
    visit("checkpoint_root", local.checkpoints.root);
    visit("recovery_folder", local.recovery.journal.folder);
    visit("recovery", local.recovery.level);
    visit("log_sync", local.recovery.journal.sync);
    visit("log_size", local.recovery.journal.least_base_bytes);
    visit("lose_log_from", local.recovery.journal.lose_from);
    visit("memory_limit", local.limits.memory_bytes);
    visit("max_tables", local.limits.tables);
    visit("replica_of", replica_of);
    visit("standby_of", standby_of);
    visit("standby_address", standby_address);
    visit("acknowledge", local.acknowledge);
  }
};

struct WorkerOptions : HostingOptions {
  std::string ps;  // The addresses of the shards, "host:port,host:port,...".
  // A request of the worker to a shard fails after this many seconds. The limit
  // should be shorter than the trainers' own timeout, so that a trainer
  // receives an error that names the failed shard.
  double timeout = 20;
  // The number of hot rows per table of which the worker keeps copies.
  uint64_t cache_rows = 0;

  template <typename Visit>
  void VisitOptions(Visit&& visit) {
    HostingOptions::VisitOptions(visit);
    visit("ps", ps);
    visit("timeout", timeout);
    visit("cache_rows", cache_rows);
  }
};

// Sets the members of `options` that the list `given` names. Returns
// kInvalidArgument, with the option's name, if no such option exists or if it
// cannot have the given value.
template <typename Options>
Status ReadOptions(Span<const persia_option> given, Options* options) {
  for (const persia_option& each : given) {
    const std::string name = each.name;
    Status status = InvalidArgument("there is no option ", name);
    options->VisitOptions([&](const char* known, auto& member) {
      if (name == known) status = ReadOption(name, each.value, &member);
    });
    PERSIA_RETURN_IF_ERROR(status);
  }
  return Status();
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_SERVER_OPTIONS_H_
