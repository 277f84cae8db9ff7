// RowPlacer: applies another shard's changes of rows to this shard's tables.
//
// Thread-safe, as the tables are.

#ifndef PERSIA_CC_SHARD_ROW_PLACER_H_
#define PERSIA_CC_SHARD_ROW_PLACER_H_

#include <cstdint>

#include "cc/base/status.h"
#include "cc/saving/gate.h"
#include "cc/service/changes_request.h"
#include "cc/shard/table_maker.h"
#include "cc/store/store.h"
#include "cc/writing/row_writer.h"

namespace persia {

class RowPlacer {
 public:
  // All must outlive this object.
  struct Subject {
    Store* store;
    Gate* gate;
    TableMaker* maker;
    RowWriter* writer;
  };

  explicit RowPlacer(const Subject& subject) : subject_(subject) {}

  // Applies the rows of these slots in a reply with whole rows, and makes
  // tables that are missing. Returns false if the follower must begin again: a
  // table was cleared, or is another one than this shard's of the same name.
  // Takes the rows out of `changes`.
  Result<bool> Place(ChangesRequest* changes, const SlotSet& slots);

 private:
  Result<bool> PlaceIn(TableChanges* changes, const SlotSet& slots);
  Result<Table*> FindOrMake(const TableChanges& changes);

  const Subject subject_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_ROW_PLACER_H_
