// The parts of a shard that own, give and take slots, put together without the
// service around them.

#ifndef PERSIA_TESTS_CC_SHARD_SHARD_PARTS_H_
#define PERSIA_TESTS_CC_SHARD_SHARD_PARTS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/shard/held_slots.h"
#include "cc/shard/membership.h"
#include "cc/shard/recovery.h"
#include "cc/shard/row_placer.h"
#include "cc/shard/slot_giver.h"
#include "cc/writing/direct_writer.h"
#include "cc/writing/journaled_writer.h"
#include "tests/cc/store/make_config.h"
#include "tests/cc/store/slot_calls.h"
#include "tests/cc/store/table_calls.h"

namespace persia {

inline constexpr uint64_t kOwn = 5;
inline constexpr uint64_t kOther = 6;

// Of two shards, of which the first owns the lower half of the slots.
inline Topology TwoShards() {
  return *Topology::Found(
      1, {{kOwn, 0, 1, false, "a:1"}, {kOther, 1, 1, false, "b:1"}});
}

class ShardParts {
 public:
  // With the folder of a journal, the shard recovers what it finds there.
  explicit ShardParts(uint64_t member = kOwn,
                      const JournalOptions& options = {})
      : ownership(member) {
    if (!options.folder.empty()) Recover(options);
    membership = std::make_unique<Membership>(
        Membership::Subject{slots(), &gate, &generation, journal.get()});
    if (journal == nullptr) {
      writer = std::make_unique<DirectWriter>();
    } else {
      writer = std::make_unique<JournaledWriter>(journal.get());
    }
    maker = std::make_unique<TableMaker>(TableMaker::Subject{
        &store, &generation, journal.get(), nullptr, &ownership});
    giver = std::make_unique<SlotGiver>(SlotGiver::Subject{
        slots(), membership.get(), &held, &gate, &generation});
    placer = std::make_unique<RowPlacer>(
        RowPlacer::Subject{&store, &gate, maker.get(), writer.get()});
  }

  ShardSlots slots() { return {&ownership, &prepared, &windows, &store}; }

  // Tells the shard of a topology.
  Status Tell(const Topology& topology) {
    TopologyRequest request;
    request.told = topology.Encode();
    uint64_t log_end = 0;
    return membership->Exchange(&request, &log_end);
  }

  // Makes a table of this identity, as a program that trains does.
  Table* MakeTable(const TableConfig& config, uint64_t identity) {
    CreateTableRequest request;
    for (const OpeningStep step :
         {OpeningStep::kPrepare, OpeningStep::kComplete}) {
      request.config = config;
      request.step = step;
      request.identity = identity;
      uint64_t log_end = 0;
      const Status made = maker->Do(&request, &log_end);
      EXPECT_TRUE(made.ok()) << made.message();
    }
    return Find(config.name);
  }
  Table* MakeTable(const std::string& name, uint64_t identity = 1) {
    return MakeTable(MakeConfig(name, 2, "uniform", "adagrad"), identity);
  }

  Table* Find(const std::string& name) {
    const auto found = store.Find(HashName(name));
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? *found : nullptr;
  }

  // Looks up the rows of a table to train them.
  void Train(const std::string& name, const Ids& ids) {
    Floats rows(ids.size() * 2);
    LookupRequest request;
    request.tables = {{IdsOf(name, ids), rows}};
    uint64_t log_end = 0;
    const Status status = writer->Lookup({Find(name)}, &request, &log_end);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  // Applies an update with the gradient 1 to the slots to which it is new.
  // Returns whether there are any.
  bool Update(const std::string& name, const Ids& ids, uint64_t client,
              uint64_t sequence) {
    const auto begun = windows.Begin(client, sequence);
    if (begun.verdict == UpdateWindow::Verdict::kApplied) return false;
    EXPECT_EQ(begun.verdict, UpdateWindow::Verdict::kApply);
    const Ids own = begun.only == nullptr ? ids : InSlots(*begun.only, ids);
    const Floats gradients(own.size() * 2, 1.0f);
    UpdateRequest request;
    request.client = client;
    request.sequence = sequence;
    request.tables = {{IdsOf(name, own), gradients, 0.1f}};
    uint64_t log_end = 0;
    const Status status = writer->Update({Find(name)}, &request, &log_end);
    EXPECT_TRUE(status.ok()) << status.message();
    windows.Finish(client, sequence, begun, status.ok());
    return true;
  }

  std::map<int64_t, TableRow> RowsOf(const std::string& name) {
    return ExportAll(*Find(name));
  }

  // What other shards are told of the updates that were applied to these slots.
  std::vector<ClientWindow> AppliedTo(const SlotSet& slots) {
    const auto applied = windows.Export(slots);
    EXPECT_EQ(applied.size(), 1u);
    return applied.at(0).clients;
  }

  static TableIds IdsOf(const std::string& name, const Ids& ids) {
    TableIds of;
    of.table = HashName(name);
    of.dim = 2;
    of.ids = ids;
    return of;
  }

  std::atomic<uint64_t> generation{0};
  Gate gate;
  Store store;
  SlotWindows windows{nullptr};
  Ownership ownership;
  PreparedSlots prepared;
  HeldSlots held;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Membership> membership;
  std::unique_ptr<RowWriter> writer;
  std::unique_ptr<TableMaker> maker;
  std::unique_ptr<SlotGiver> giver;
  std::unique_ptr<RowPlacer> placer;

 private:
  void Recover(const JournalOptions& options) {
    Recovery recovery(RecoveryLevel::kLog, {}, {&generation, slots()});
    auto opened = Journal::Open(options, &recovery);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    journal = std::move(*opened);
    const Status finished = recovery.Finish();
    ASSERT_TRUE(finished.ok()) << finished.message();
  }
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SHARD_SHARD_PARTS_H_
