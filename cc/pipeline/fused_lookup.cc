#include "cc/pipeline/fused_lookup.h"

#include <utility>

namespace persia {

void FusedLookup::Add(std::shared_ptr<LayerLookup> lookup) {
  lookups_.push_back(std::move(lookup));
}

std::vector<TableKey> FusedLookup::Tables() const {
  std::vector<TableKey> tables;
  tables.reserve(lookups_.size());
  for (const auto& lookup : lookups_) tables.push_back(lookup->record()->table);
  return tables;
}

void FusedLookup::Send(EmbeddingService* service, const SendOptions& options) {
  PlaceRows();
  // Nothing to ask.
  if (request_.tables.empty()) return Finish(Status());
  request_.deadline = options.deadline;
  request_.client = options.client;
  request_.visible_sequence = options.visible_sequence;
  service->Lookup(&request_, [self = shared_from_this()](const Status& status) {
    self->Finish(status);
  });
}

void FusedLookup::Fail(const Status& status) {
  for (const auto& lookup : lookups_) lookup->Complete(status, {}, nullptr);
}

void FusedLookup::PlaceRows() {
  size_t floats = 0;
  for (const auto& lookup : lookups_) {
    floats += lookup->record()->unique.ids.size() * lookup->record()->dim;
  }
  rows_ = std::shared_ptr<float[]>(new float[floats]);
  Span<float> rest(rows_.get(), floats);
  for (const auto& lookup : lookups_) {
    const LookupRecord& record = *lookup->record();
    if (record.unique.ids.empty()) continue;
    TableLookup table;
    table.ids.table = record.table;
    table.ids.dim = record.dim;
    table.ids.ids = record.unique.ids;
    table.rows = rest.first(record.unique.ids.size() * record.dim);
    rest = rest.subspan(table.rows.size());
    request_.tables.push_back(table);
  }
}

void FusedLookup::Finish(const Status& status) {
  if (!status.ok()) return Fail(status);
  size_t next = 0;
  for (const auto& lookup : lookups_) {
    LookupRecord& record = *lookup->record();
    Span<const float> rows;
    if (!record.unique.ids.empty()) rows = request_.tables[next++].rows;
    record.generation = request_.generation;
    lookup->Complete(status, rows, rows_);
  }
}

}  // namespace persia
