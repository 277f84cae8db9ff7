#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/capi/error.h"
#include "cc/capi/persia_requests.h"
#include "cc/json/predict_request.h"
#include "cc/json/request_body.h"

using persia::ReportStatus;

struct persia_body {
  persia::RequestBody body;
};

int persia_body_scan(const void* text, uint64_t size, persia_body** body) {
  auto scanned = persia::RequestBody::Scan(
      std::string_view(static_cast<const char*>(text), size));
  if (!scanned.ok()) return ReportStatus(scanned.status());
  *body = new persia_body{std::move(*scanned)};
  return 0;
}

void persia_body_get(const persia_body* body, persia_body_view* view) {
  const persia::RequestBody& from = body->body;
  view->signature = from.signature().c_str();
  view->in_rows = from.in_rows() ? 1 : 0;
  view->is_named = from.is_named() ? 1 : 0;
  view->columns = static_cast<int>(from.columns().size());
}

int persia_body_get_column(const persia_body* body, int column,
                           persia_body_column* view) {
  const auto& columns = body->body.columns();
  if (column < 0 || static_cast<size_t>(column) >= columns.size()) {
    return ReportStatus(
        persia::InvalidArgument("column must be at least 0 and below ",
                                columns.size(), ", received ", column));
  }
  const persia::Column& from = columns[static_cast<size_t>(column)];
  view->name = from.name().c_str();
  view->kinds = from.kinds();
  view->is_ragged = from.is_ragged() ? 1 : 0;
  view->rank = static_cast<int>(from.shape().size());
  view->shape = from.shape().data();
  view->values = from.value_count();
  view->text_bytes = from.text_bytes();
  view->least = from.least();
  view->most = from.most();
  return 0;
}

int persia_body_read(const persia_body* body, const persia_body_output* outputs,
                     int count) {
  std::vector<persia::ColumnOutput> places;
  for (int i = 0; i < count; ++i) {
    const persia_body_output& from = outputs[i];
    places.push_back({static_cast<persia::ColumnOutput::Form>(from.form),
                      from.values, from.value_count, from.texts,
                      from.text_bytes, from.are_base64});
  }
  return ReportStatus(body->body.Read(places));
}

void persia_body_free(persia_body* body) { delete body; }

int persia_predict_request_check(const void* message, uint64_t size,
                                 uint64_t most_value_bytes) {
  return ReportStatus(persia::CheckPredictRequest(
      std::string_view(static_cast<const char*>(message), size),
      most_value_bytes));
}
