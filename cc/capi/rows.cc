#include <cstddef>
#include <memory>
#include <utility>

#include "cc/base/hash.h"
#include "cc/capi/error.h"
#include "cc/capi/persia.h"
#include "cc/pipeline/session.h"
#include "cc/service/await.h"

using persia::ReportStatus;

struct persia_page {
  persia::ExportRequest request;
};

namespace persia {
namespace {

static_assert(Table::kBegin == 0, "the header says that a cursor is zeros");
static_assert(sizeof(RowUsage) == sizeof(persia_row_usage) &&
                  offsetof(RowUsage, count) ==
                      offsetof(persia_row_usage, count),
              "a page's view is of its own memory");

// Adds the table's name to an error, because shards know a table only by its
// key.
Status Named(const char* table, const Status& status) {
  if (status.ok()) return status;
  return Status(status.code(),
                Concat("table '", table, "': ", status.message()));
}

// Finds the session called `name`, calls `use` with this session and reports
// the status that `use` returns.
template <typename Use>
int Report(const char* name, const char* table, const Use& use) {
  auto session = FindSession(name);
  if (!session.ok()) return ReportStatus(session.status());
  return ReportStatus(Named(table, use(session->get())));
}

int CallNamed(const char* name, const char* table, const AnyRequest& request) {
  return Report(name, table,
                [&](Session* session) { return session->Call(request); });
}

}  // namespace
}  // namespace persia

int persia_session_lookup(const char* name, const char* table, int dim,
                          const int64_t* ids, uint64_t count, float* rows) {
  persia::LayerCall call;
  call.layer = table;
  call.table = persia::HashName(table);
  call.dim = static_cast<uint32_t>(dim);
  call.ids = persia::Span<const int64_t>(ids, count);
  return persia::Report(name, table, [&](persia::Session* session) {
    auto issued = session->Issue(call);
    if (!issued.ok()) return issued.status();
    return persia::Await([&](persia::DoneCallback done) {
      session->Fetch(issued->lookup,
                     persia::Span<float>(rows, count * call.dim),
                     std::move(done));
    });
  });
}

int persia_session_assign(const char* name, const char* table, int dim,
                          int state_size, const int64_t* ids, uint64_t count,
                          const float* rows, const float* state) {
  persia::AssignRequest request;
  request.table = persia::HashName(table);
  request.dim = static_cast<uint32_t>(dim);
  request.ids = persia::Span<const int64_t>(ids, count);
  request.weights = persia::Span<const float>(rows, count * request.dim);
  request.state_size = static_cast<uint32_t>(state_size);
  request.state = persia::Span<const float>(state, count * request.state_size);
  return persia::CallNamed(name, table, &request);
}

int persia_session_remove(const char* name, const char* table,
                          const int64_t* ids, uint64_t count,
                          uint64_t* removed) {
  persia::RemoveRequest request;
  request.table = persia::HashName(table);
  request.ids = persia::Span<const int64_t>(ids, count);
  const int code = persia::CallNamed(name, table, &request);
  if (code == 0) *removed = request.removed;
  return code;
}

int persia_session_drop_table(const char* name, const char* table, int stays) {
  persia::DropTableRequest request;
  request.table = persia::HashName(table);
  request.stays = stays != 0;
  return persia::CallNamed(name, table, &request);
}

int persia_session_retire_layer(const char* name, const char* layer,
                                const char* why) {
  auto session = persia::FindSession(name);
  if (!session.ok()) return ReportStatus(session.status());
  (*session)->Retire(layer, persia::Status(persia::Code::kNotFound, why));
  return 0;
}

int persia_session_export(const char* name, const char* table,
                          uint64_t max_rows, persia_export_cursor* cursor,
                          persia_page** page) {
  auto made = std::make_unique<persia_page>();
  persia::ExportRequest& request = made->request;
  request.table = persia::HashName(table);
  request.cursor.shard = cursor->shard;
  request.cursor.position = cursor->position;
  request.cursor.owners = cursor->owners;
  request.max_rows = max_rows;
  const int code = persia::CallNamed(name, table, &request);
  if (code != 0) return code;
  cursor->shard = request.cursor.shard;
  cursor->position = request.cursor.position;
  cursor->owners = request.cursor.owners;
  cursor->at_end = request.cursor.at_end() ? 1 : 0;
  *page = made.release();
  return 0;
}

void persia_page_get(const persia_page* page, persia_page_view* view) {
  const persia::ExportRequest& from = page->request;
  view->ids = from.page.ids.data();
  view->rows = from.page.weights.data();
  view->state = from.page.state.data();
  view->count = from.page.ids.size();
  view->dim = from.dim;
  view->state_size = from.state_size;
  view->uses = reinterpret_cast<const persia_row_usage*>(from.page.uses.data());
  view->use_time = static_cast<uint32_t>(from.page.use_time);
}

void persia_page_free(persia_page* page) { delete page; }
