#include "cc/service/joined_lookup.h"

#include <algorithm>
#include <iterator>

namespace persia {
namespace {

// Sets the client of the joined lookup to the members' client, or to 0 if they
// have different clients.
void SetClient(const std::vector<LookupRequest*>& members,
               LookupRequest* joined) {
  joined->client = members.front()->client;
  for (const LookupRequest* member : members) {
    if (member->client != joined->client) joined->client = 0;
    joined->visible_sequence =
        std::max(joined->visible_sequence, member->visible_sequence);
  }
}

}  // namespace

Status JoinedLookup::Build(const std::vector<LookupRequest*>& members) {
  members_ = members;
  request_.read_only = members.front()->read_only;
  request_.deadline = members.front()->deadline;
  SetClient(members, &request_);
  for (const LookupRequest* member : members) {
    request_.deadline = std::min(request_.deadline, member->deadline);
    for (const TableLookup& lookup : member->tables) Add(lookup);
  }
  for (Table& table : tables_) PERSIA_RETURN_IF_ERROR(Finish(&table));
  return Status();
}

void JoinedLookup::Add(const TableLookup& lookup) {
  // Lookups of one table with different widths are not joined, so that a lookup
  // with a wrong width fails only for the members that sent it. A linear search
  // suffices: requests have few tables.
  auto table =
      std::find_if(tables_.begin(), tables_.end(), [&](const Table& each) {
        return each.key == lookup.ids.table && each.dim == lookup.ids.dim &&
               each.absent == lookup.absent;
      });
  if (table == tables_.end()) {
    tables_.emplace_back();
    table = std::prev(tables_.end());
    table->key = lookup.ids.table;
    table->dim = lookup.ids.dim;
    table->absent = lookup.absent;
  }
  table->shares.push_back({&lookup, table->ids.size()});
  table->ids.insert(table->ids.end(), lookup.ids.ids.begin(),
                    lookup.ids.ids.end());
}

Status JoinedLookup::Finish(Table* table) {
  table->unique = Dedupe(table->ids);
  const size_t floats = table->unique.ids.size() * table->dim;
  if (!table->rows.Resize(floats * sizeof(float))) {
    return Status(Code::kResourceExhausted,
                  Concat("no memory for ", floats, " numbers of lookups that ",
                         "are joined: give this process more memory"));
  }
  TableLookup lookup;
  lookup.ids.table = table->key;
  lookup.ids.dim = table->dim;
  lookup.ids.ids = table->unique.ids;
  lookup.rows = table->rows.As<float>(floats);
  lookup.absent = table->absent;
  request_.tables.push_back(lookup);
  return Status();
}

void JoinedLookup::Spread() const {
  for (LookupRequest* member : members_) {
    member->generation = request_.generation;
  }
  for (size_t t = 0; t < tables_.size(); ++t) {
    const Table& table = tables_[t];
    const Span<const uint32_t> inverse = table.unique.inverse;
    for (const Share& share : table.shares) {
      const TableLookup& lookup = *share.of_member;
      ExpandRows(inverse.subspan(share.begin, lookup.ids.ids.size()),
                 request_.tables[t].rows, table.dim, lookup.rows);
    }
  }
}

}  // namespace persia
